"""Ends of the program: by a signal, without a home, with a full disk or few descriptors."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from programs import SIGNALS, Home, commands, interrupt, without_progress

from transferbench import __main__ as program

SMALL = ("run", "generated/small:documents=60,features=40,words=9", "-m", "kmeans")
NOBODY = """
import pwd, runpy, sys
def unknown(uid):
    raise KeyError(uid)
pwd.getpwuid = unknown
from transferbench import settings
settings.checkout = lambda: None
runpy.run_module("transferbench", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("which", range(4))
def test_a_signal_ends_a_command_with_its_code_in_one_line(tmp_path, number, which):
    """Each command and each signal early and late."""
    home = Home(tmp_path / "home")
    after = (0.6, 1.4)[(which + SIGNALS.index(number)) % 2]
    assert not interrupt(home, commands(home)[which], number, after)


def test_signals_end_the_program_with_their_code_and_an_ignored_one_stays_ignored(
    monkeypatch, capsys
):
    former = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr("transferbench.cli.invoke", lambda: signal.raise_signal(signal.SIGTERM))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit) as ended:
            program.entry()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    assert ended.value.code == 143
    assert capsys.readouterr().err == "Interrupted.\n"


INSIDE_EXEC = """
import signal
from transferbench import __main__, cli
cli.invoke = lambda: exec("signal.raise_signal(signal.SIGTERM)")
__main__.entry()
"""


def test_a_signal_inside_exec_ends_the_program_with_its_code(tmp_path):
    """Python itself would end by SIGINT, if the program is started by -m."""
    (tmp_path / "inside.py").write_text(INSIDE_EXEC)
    env = Home(tmp_path / "home").environment()
    env.pop("PYTHONSAFEPATH", None)  # set where runs were performed in this process
    command = [sys.executable, "-m", "inside"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (143, "Interrupted.\n")


def start(
    tmp_path, *arguments: str, shell: str = "", code: str = ""
) -> subprocess.CompletedProcess:
    home = Home(tmp_path / "home")
    words = [sys.executable, *(("-c", code) if code else ("-m", "transferbench"))]
    env = home.environment() | {"PYTHONSAFEPATH": "1"}
    if code:
        env = {k: v for k, v in env.items() if k != "HOME" and not k.startswith("XDG")}
    return subprocess.run(
        ["bash", "-c", f'{shell or "true"}; exec "$@"', "-", *words, *arguments],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="writes to /dev/full")
@pytest.mark.parametrize(
    ("shell", "end"),
    [
        (
            "exec >/dev/full",
            (2, "Error: No space left on device; use another path, or make room there.\n"),
        ),
        ("set -o pipefail; exec > >(head -1 >/dev/null)", (0, "")),
    ],
)
def test_a_full_disk_is_one_line_and_a_closed_pipe_is_no_failure(tmp_path, shell, end):
    done = start(tmp_path, "list", shell=shell)
    assert (done.returncode, done.stderr) == end


WRITES_A_FILE = """
import os, sys
from transferbench.__main__ import open_streams
open_streams()
number = os.open("data", os.O_WRONLY | os.O_CREAT)
os.write(number, b"%d" % (number > 2))
print("to stdout", flush=True)
print("to stderr", file=sys.stderr, flush=True)
os.system("echo of a child; echo of a child >&2")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")
@pytest.mark.parametrize(
    "closed", ["2>&-", ">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-", "2</dev/null", "1</dev/null"]
)
def test_messages_never_go_into_a_file_that_took_the_number_of_a_closed_stream(tmp_path, closed):
    done = start(tmp_path, code=WRITES_A_FILE, shell=f"exec {closed}")
    assert (done.returncode, (tmp_path / "data").read_bytes()) == (0, b"1")
    assert ("to stdout" in done.stdout) == (">&-" not in closed.split() and "1<" not in closed)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="writes to /dev/full")
@pytest.mark.parametrize(
    "shell",
    ["exec 2>&-", "exec >&-", "exec <&- >&- 2>&-", "exec 2>/dev/full", "exec 2> >(head -1 >&2)"],
)
def test_a_command_goes_on_without_a_stream_for_its_messages(tmp_path, shell):
    done = start(tmp_path, *SMALL, shell=shell)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert (tmp_path / "results/runs.jsonl").stat().st_size
    assert bool(done.stdout) == (">&-" not in shell.split())


def test_characters_that_an_encoding_lacks_are_escaped(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    done = start(tmp_path, "run", "--help")
    assert (done.returncode, done.stderr, "\\u2265" in done.stdout) == (0, "", True)


@pytest.mark.slow
def test_a_user_without_a_home_works_in_the_current_folder(tmp_path):
    done = start(tmp_path, *SMALL, code=NOBODY)
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    assert [*(tmp_path / ".transferbench" / "cache" / "built").rglob("*.task")]


@pytest.mark.slow
@pytest.mark.parametrize("most", [8, 14, 18, 24])
def test_few_descriptors_end_in_lines_without_a_traceback(tmp_path, most):
    done = start(
        tmp_path,
        *SMALL,
        "--repeats",
        "5",
        "--jobs",
        "4",
        "--rerun",
        "all",
        shell=f"ulimit -n {most}",
    )
    assert done.returncode in (0, 1, 2)
    for line in without_progress(done.stderr).splitlines():
        assert line.startswith(("Error: ", "crashed: ", "warning: ")), done.stderr
    if done.returncode:
        assert "Too many open files" in done.stderr
