"""What reaches a terminal is text alone, without passwords; hints fit the installed copy."""

from __future__ import annotations

import json
import runpy
import sys
import warnings
from pathlib import Path

import pytest

import transferbench
from transferbench import messages
from transferbench.cli._terminal import echo, show_warnings
from transferbench.messages import (
    MAX_REASON,
    format_traceback,
    hide_passwords,
    install_hint,
    printable,
    reason,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x07", "\\u001b[2J\\u0007"),
        ("a\rb\x7f\x9b31m", "a\\u000db\\u007f\\u009b31m"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("lone \ud800", "lone \\ud800"),
        ("Käse, 日本語\tو ‌\n", "Käse, 日本語\tو ‌\n"),
    ],
)
def test_only_text_is_shown(text, shown):
    assert printable(text) == shown
    printable(text).encode()  # nothing that a terminal's encoding lacks


def test_escaped_json_has_the_same_content():
    record = {"label": "\x1b[1m\x9b\u202e\ud800", "address": "http://a@x"}
    for ascii_only in (True, False):
        assert json.loads(printable(json.dumps(record, ensure_ascii=ascii_only))) == record


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("https://host/a@b", "https://host/a@b"),
        ("git+https://t0ken@host/r.git@v1", "git+https://host/r.git@v1"),
        ("'http://u:p%40@h:80/' and ftp://u:p@q@h", "'http://h:80/' and ftp://h"),
    ],
)
def test_user_names_and_passwords_of_addresses_are_hidden(text, hidden):
    assert hide_passwords(text) == hidden


def test_messages_have_no_passwords_but_data_stay_as_they_are(capsys):
    echo("http://a@x")
    echo("at http://me:pw@host/x", err=True)
    assert "pw" not in messages.shorten("http://me:pw@host") + messages.excerpt(
        b"http://me:pw@host"
    )
    assert capsys.readouterr() == ("http://a@x\n", "at http://host/x\n")


def test_a_warning_is_printed_once_in_one_line_without_a_path(capsys):
    with warnings.catch_warnings():
        show_warnings()
        warnings.simplefilter("always")
        for _ in range(3):
            warnings.warn("take\n care \x1b[1m", stacklevel=1)
    assert capsys.readouterr().err == "warning: take care \\u001b[1m\n"


def test_the_hint_fits_a_checkout_and_an_installed_copy(monkeypatch, tmp_path):
    root = Path(transferbench.__file__).parents[1]
    assert install_hint("modern") == f"run `pip install -e '.[modern]'` in {root}"
    monkeypatch.setattr(messages, "__file__", str(tmp_path / "transferbench" / "messages.py"))
    assert "its extra [modern]" in install_hint("modern")


class Rude(Exception):
    """An error whose text cannot be obtained."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


HELPER = "import numpy as np\ndef fail(x): return {}[x]\ndef invert(): np.linalg.inv(np.ones(3))\n"
BROKEN = {
    "{}['oops']": "KeyError: 'oops' (mine.py:3)",
    "helper.fail(1)": "KeyError: 1 (helper.py:2)",
    "helper.invert()": "LinAlgError: 1-dimensional array given. Array must be at least "
    "two-dimensional (helper.py:3)",
    "raise ValueError": "ValueError (mine.py:3)",
    "raise ValueError('')": "ValueError (mine.py:3)",
    "raise ValueError('\\n\\n first\\nsecond')": "ValueError: first (mine.py:3)",
    "raise ValueError('\\udcff')": "ValueError: \\udcff (mine.py:3)",
    "raise Rude": "Rude, whose text cannot be shown (mine.py:3)",
    "raise ExceptionGroup('two', [KeyError(1), ValueError()])": "ExceptionGroup: two (2 "
    "sub-exceptions), first KeyError: 1 (mine.py:3)",
    "raise SyntaxError('own')": "SyntaxError: own (mine.py:3)",
    "exec('(', {})": "SyntaxError: '(' was never closed (<string>, line 1)",
    "raise SystemExit(3)": "SystemExit: 3 (mine.py:3)",
    "import no_such_library": "ModuleNotFoundError: No module named 'no_such_library' (mine.py:3)",
    "fit = lambda: fit(); fit()": "RecursionError: maximum recursion depth exceeded (mine.py:3)",
}


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Function that runs a file of a user with this line and returns its error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    Path("helper.py").write_text(HELPER)

    def run(line: str) -> BaseException:
        Path("mine.py").write_text(f"import helper\nfrom test_messages import Rude\n{line}\n")
        with pytest.raises(BaseException) as caught:  # noqa: PT011
            runpy.run_path("mine.py")
        monkeypatch.delitem(sys.modules, "helper", raising=False)
        # As in `models.load`: only frames below this one.
        return caught.value.with_traceback(caught.value.__traceback__.tb_next)

    return run


@pytest.mark.parametrize("line", BROKEN)
def test_a_reason_has_the_place_in_the_code_of_the_user(broken, line):
    assert reason(broken(line)) == BROKEN[line]


@pytest.mark.parametrize("text", ["'x' * 5_000_000", "'line\\n' * 10**6"])
def test_a_long_message_hides_neither_place_nor_frames(broken, text):
    error = broken(f"raise ValueError({text})")
    assert reason(error).endswith(" (mine.py:3)")
    assert len(reason(error)) <= MAX_REASON
    shown = format_traceback(error)
    assert 'File "mine.py", line 3' in shown
    assert len(shown) < 2**14


def test_an_error_of_this_package_or_of_a_library_has_no_place():
    def of(call) -> str:
        try:
            call()
        except Exception as error:
            inside = error.__traceback__.tb_next.tb_next  # without the frames of this test
            return reason(error.with_traceback(inside))

    assert of(lambda: json.loads("[")).startswith("JSONDecodeError: ")
    assert "(" not in of(lambda: json.loads("[")).replace("(char 1)", "")
    assert of(lambda: printable(1)).endswith(
        "TypeError: expected string or bytes-like object, got 'int'"
    )
