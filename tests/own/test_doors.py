"""Errors of readers name only options of the command, keys of the YAML file or Python arguments."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from user_documents import sentences, write_csv

import transferbench
from transferbench.cli import main
from transferbench.errors import UserError
from transferbench.own.documents import ReadOptions
from transferbench.own.tasks import Keys
from transferbench.parameters import schema

GOOD = "text,label\n" + "".join(f"{text},{label}\n" for text, label in sentences(1, 8, 0))
STRAY = "text,topic\n" + "".join(f'"{text},a\n{text}",b\n' for text, _ in sentences(1, 8, 0))
#: A file with a fault, and the settings that its messages name.
FAULTS = {
    "no column": (GOOD.replace("text,label", "body,label"), {"text"}),
    "no label column": (GOOD.replace("text,label", "text,topic"), {"label"}),
    "one column": (GOOD.replace(",", "^"), {"text", "delimiter"}),
    "no UTF-8": (b"text,label\ncaf\xe9,a\n", {"encoding"}),
    "no mark": (GOOD.encode("utf-16-le"), {"encoding", "quoting"}),
    "open": (f'{GOOD}"a,b\n', {"quoting"}),
    "after": (f'{GOOD}"a" b,b\n', {"quoting"}),
    "long": (f"{GOOD}a,b,c\n", {"quoting"}),
    "joined": (STRAY, {"quoting", "label"}),
    "several": (f"{GOOD}a,cat|sea\n", {"separator"}),
    "delimiter": (GOOD, set()),
}
FLAGS = {name: f"--{name}" for name in ("encoding", "delimiter", "quoting")}
FLAGS |= {"text": "--text-column", "label": "--label-column", "separator": "--label-separator"}


def options_of(command: str) -> set[str]:
    """Return the options of a command, and of the whole program."""
    commands = [main.get_command(click.Context(main), command), main]
    return {flag for each in commands for param in each.params for flag in param.opts}


def named_flags(said: str) -> set[str]:
    return set(re.findall(r"--[a-z][a-z-]+", said))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(Path("t.csv"), sentences(2, 8, 0))
    return tmp_path


def write(fault: str) -> set[str]:
    content, settings = FAULTS[fault]
    Path("s.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    return settings


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", ["compare", "predict", "topics"])
def test_a_command_names_its_own_options(call, folder, fault, command):
    settings = write(fault)
    more = {"predict": ["-m", "lr", "--out", "o.csv"], "compare": ["-m", "lr"], "topics": ["nmf"]}
    more[command] += ["--delimiter", "ab"] if fault == "delimiter" else []
    if (fault, command) == ("several", "topics"):
        settings = set()
    _, _, said = call(command, *more[command], "--source", "s.csv", "--target", "t.csv")
    assert named_flags(said) <= options_of(command)
    assert {FLAGS[name] for name in settings} <= named_flags(said), said


@pytest.mark.parametrize("fault", FAULTS)
def test_a_task_in_yaml_names_its_own_keys(call, folder, fault):
    settings = write(fault)
    more = "delimiter: ab\n" if fault == "delimiter" else ""
    Path("task.yaml").write_text(f"source: s.csv\ntargets: t.csv\n{more}")
    code, _, said = call("run", "./task.yaml", "--model", "lr")
    assert (code, named_flags(said)) == (2, set()), said
    named = set(re.findall(r"([a-z_]+): (?:NAME|'|[\w-]+[ ;,)])", said)) & {*schema(Keys.__init__)}
    assert settings <= named, said


@pytest.mark.parametrize("fault", FAULTS)
def test_python_names_its_own_arguments(folder, fault, recwarn):
    settings = write(fault)
    more = {"delimiter": "ab"} if fault == "delimiter" else {}
    with pytest.raises(UserError) as error:
        transferbench.compare(source="s.csv", target="t.csv", models="lr", **more)
    said = "; ".join(map(str, [*(each.message for each in recwarn), error.value]))
    assert not named_flags(said)
    named = set(re.findall(r"([a-z_]+)='", said))
    assert settings <= named <= {*schema(ReadOptions.__init__)}, said


@pytest.mark.parametrize(
    "content",
    [b"row,documents,A\ncaf\xe9,100,87.0\n", b"# table 2\nrow,documents,A\nx,100,87.0\n",
     b'row,documents,A\n"x" y,100,87.0\n', b"rows;documents;A\nx;100;87.0\n", b"row,A\nx,87,1,2\n"],
)  # fmt: skip
def test_audit_names_no_option_that_it_lacks(call, folder, content):
    Path("a.csv").write_bytes(content)
    code, _, said = call("audit", "a.csv")
    assert (code, named_flags(said) - options_of("audit")) == (2, set()), said
