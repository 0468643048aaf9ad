"""Ends of the program: by a signal, without a home, with closed streams or few descriptors."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import weakref
from contextlib import suppress

import pytest
from chaos import signals
from chaos.home import Home, without_progress

from transferbench import __main__ as program
from transferbench.settings import Settings, load

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
@pytest.mark.parametrize("number", signals.SIGNALS)
@pytest.mark.parametrize("which", range(4))
def test_a_signal_ends_a_command_with_its_code_in_one_line(tmp_path, number, which):
    """Each command and each signal early and late; at random moments in `make chaos`."""
    home = Home(tmp_path / "home")
    after = (0.6, 1.4)[(which + signals.SIGNALS.index(number)) % 2]
    assert not signals.interrupt(home, signals.commands(home)[which], number, after)


def test_an_ignored_signal_stays_ignored(monkeypatch):
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ctrl_c, term = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        program._handle(program._interrupt)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(KeyboardInterrupt) as raised:
            signal.raise_signal(signal.SIGTERM)
        assert raised.value.args == (15,)
        raised.value.caught = True
    finally:
        signal.signal(signal.SIGINT, ctrl_c)
        signal.signal(signal.SIGTERM, term)
        signal.signal(signal.SIGHUP, former)


def test_an_interrupt_that_python_cannot_raise_comes_again(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", program._report_unraisable)
    former = signal.signal(signal.SIGTERM, program._interrupt)

    class Thing:
        """Its weak reference is interrupted."""

    thing = Thing()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))
    try:
        del thing
        assert reference() is None
        with pytest.raises(program.Interrupted) as raised:
            threading.Event().wait(30)
        raised.value.caught = True
    finally:
        signal.signal(signal.SIGTERM, former)


def test_an_interrupt_that_is_dropped_comes_again():
    def interrupted() -> None:
        with suppress(BaseException):  # as code in C does
            signal.raise_signal(signal.SIGTERM)

    former = signal.signal(signal.SIGTERM, program._interrupt)
    try:
        interrupted()
        with pytest.raises(program.Interrupted) as raised:
            threading.Event().wait(30)
        raised.value.caught = True
        del raised
        threading.Event().wait(0.2)  # it does not come a third time
    finally:
        signal.signal(signal.SIGTERM, former)


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


@pytest.mark.slow
def test_a_user_without_a_home_works_in_the_current_folder(tmp_path):
    done = start(tmp_path, *SMALL, code=NOBODY)
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    assert [*(tmp_path / ".transferbench" / "cache" / "built").rglob("*.task")]


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["0<&-", "2>&-", "0<&- 2>&-"])
def test_closed_streams_change_nothing(tmp_path, closed):
    done = start(tmp_path, *SMALL, shell=f"exec {closed}")
    assert (done.returncode, without_progress(done.stderr)) == (0, "")
    assert "record: " in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("most", [8, 10, 12, 16, 20, 24])
def test_few_descriptors_end_in_lines_without_a_traceback(tmp_path, most):
    done = start(
        tmp_path, *SMALL, "--repeats", "5", "--jobs", "4", "--force", shell=f"ulimit -n {most}"
    )
    assert done.returncode in (0, 1, 2)
    for line in without_progress(done.stderr).splitlines():
        assert line.startswith(("Error: ", "crashed: ", "warning: ")), done.stderr
    if done.returncode:
        assert "Too many open files" in done.stderr


@pytest.mark.parametrize("name", ["MAX_SIZE", "MAX_ARTEFACTS"])
def test_a_size_has_a_limit(call, monkeypatch, name):
    monkeypatch.setenv(f"TRANSFERBENCH_{name}", "1e300")
    code, _, err = call("list")
    assert (code, err.count("\n")) == (2, 1)
    assert "< 1048576, got '1e300'" in err
    monkeypatch.setenv(f"TRANSFERBENCH_{name}", "1e6")
    assert isinstance(load(), Settings)
