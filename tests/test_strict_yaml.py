"""Strict YAML: the data of a safe loader, line numbers, and one-line errors with file and line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from transferbench import settings, strict_yaml
from transferbench.errors import UserError

PATH = Path("mine.yaml")
FILES = sorted(settings.experiments_dir().glob("*.yaml"))


@pytest.fixture(params=["C", "Python"], autouse=True)
def loader(request, monkeypatch):
    """The parser in C and the one in Python, which some builds of PyYAML have alone."""
    if request.param == "Python":
        monkeypatch.setattr(strict_yaml, "_LOADER", yaml.SafeLoader)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")


@pytest.mark.parametrize("path", FILES[::6], ids=lambda path: path.stem)
def test_the_data_are_those_of_the_safe_loader(path):
    assert strict_yaml.load(path)[0] == yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    ["", "# nothing", "a", "a: {b: [1, 2.5, .inf, null, yes, 0x1f, '1']}", "- - a\n  - b", "1: 2",
     "a: 2001-01-01", "--- a", "a: |\n  b\n  c\nd: >-\n  e\n  f\n", "&a a: 1", "\ufeffa: 1"],
)  # fmt: skip
def test_small_texts_are_read_as_by_the_safe_loader(text):
    assert strict_yaml.read(text, PATH)[0] == yaml.safe_load(text)


@pytest.mark.parametrize("number", ["010", "-010", "1:30"])
def test_numbers_that_yaml_takes_for_others_are_texts(number):
    assert strict_yaml.read(f"a: {number}", PATH)[0] == {"a": number} != yaml.safe_load("a: 8")


@pytest.mark.parametrize("text", ["a: 1_0", "a: [0x1_0]", "1_0: a", "a: 1_0.5"])
def test_underscores_make_no_number(text):
    with pytest.raises(UserError, match=r"mine\.yaml:1: '.*_.*': write a number without _"):
        strict_yaml.read(text, PATH)
    assert strict_yaml.read("a: '1_0'\nb: x_1", PATH)[0] == {"a": "1_0", "b": "x_1"}


def test_lines_are_those_of_the_keys():
    text = "a: 1\n\nb:\n  - x\n  - {c: 1,\n     d: 2}\n# end\n2: f\n"
    _, lines = strict_yaml.read(text, PATH)
    expected = {(): 1, ("a",): 1, ("b",): 3, ("b", 0): 4, ("b", 1): 5, ("b", 1, "d"): 6, (2,): 8}
    assert {keys: lines.line(keys) for keys in expected} == expected
    # Where a key is missing, the line of what would hold it, or holds it.
    assert lines.line(("b", 1, "no", "x")) == 5
    assert lines.line(("b", 1, "no", "d")) == 6
    assert str(lines.error(("b", 7), "wrong.")) == "mine.yaml:3: wrong."


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: &x 1\nb: *x", 2, "an alias (*…) or a tag (!…)"),
        ("a: &a [x, x]\nb: &b [*a, *a]", 2, "an alias (*…)"),
        ("a: 1\nb: !!timestamp x", 2, "a tag (!…)"),
        ("!!python/object:os.system {}", 1, "a tag (!…)"),
        ("a:\n  b: 1\n  b: 2", 3, "duplicate key 'b'; expected it once."),
        ("1: a\n'1': b", 2, "duplicate key '1'"),
        ("a: {yes: 1, 1: b}", 1, "duplicate key '1'"),
        ("a: 1\n? [b]\n: c", 2, "a list or mapping as a key"),
        ("a: 1\n---\nb: 2", 2, "found another document"),
        ("---\n---\na: 1", 2, "found another document"),
        ("a: 1\n<<: {b: 1}", 2, "expected valid YAML"),
        ("a:\n\tb: 1", 2, "expected valid YAML"),
        ("a: 1\nb: [x, !!str y]", 2, "a tag (!…)"),
        ("*a : 1", 1, "an alias (*…)"),
        ("a: 1\nb: 2001-99-99", 2, "month must be in 1..12"),
        ("a: 1\nb: 0x" + "f" * 5000, 2, "Exceeds the limit"),
        ("a: ß\nb: \x01\n", 1, "expected valid YAML"),
        ("a: 1\nb: \ud800\n", 1, "expected valid YAML"),
        ("a: 1\nb: [1,\n", 2, "expected valid YAML"),
        ("a:\n" + "- " * 51 + "b", 2, "more than 50 lists within lists"),
    ],
)
def test_a_refused_text_is_a_one_line_error_with_its_line(text, line, message):
    with pytest.raises(UserError) as error:
        strict_yaml.read(text, PATH)
    assert str(error.value).startswith(f"mine.yaml:{line}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["[" * 130_000, "- " * 60_000, "? " * 60_000, "#\n" * 70_000])
def test_a_deep_or_long_text_is_refused_at_once(text):
    start = time.process_time()
    with pytest.raises(UserError, match=r"mine\.yaml:"):  # by us, or by the parser in C
        strict_yaml.read(text, PATH)
    assert time.process_time() - start < 2  # to read all of it takes up to minutes


def test_an_unreadable_file_is_an_error(tmp_path):
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for name in ("binary.yaml", "no.yaml", "."):
        with pytest.raises(UserError, match=r"cannot be read .*; expected a YAML file"):
            strict_yaml.load(tmp_path / name)
