"""Run the command line: `python -m transferbench`, or the installed script."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn


def entry() -> NoReturn:
    """Run the program and exit: with code 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    open_streams()
    # Help and data have characters that the encoding of a terminal may lack, such as ≥.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, signal.SIGTERM)  # Windows has no SIGHUP
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, _interrupt)
    try:
        from transferbench.cli import invoke  # slow, so the handlers are set before

        code = invoke()
    except KeyboardInterrupt as error:  # during the import, or a second one
        with suppress(OSError):
            sys.stderr.write("Interrupted.\n")
        code = 128 + (error.args or (signal.SIGINT,))[0]
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except (AttributeError, OSError):  # closed or full, which `invoke` has reported
            setattr(sys, name, None)  # else Python flushes it again at exit, and exits with 120
    # If Ctrl-C interrupted an exec or eval, which dataclasses use, CPython exits by SIGINT and
    # ignores the exit code; exec("") clears that flag.
    exec("")
    sys.exit(code)


def open_streams() -> None:
    """Open the null device for each standard stream that is closed or cannot be written."""
    # Otherwise the next file that is opened would have its number, and messages would go into it.
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        usable = _is_usable(number)
        if not usable:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)  # also lets children inherit it
            if null != number:
                os.close(null)
        if not usable or getattr(sys, name) is None:
            stream = open(os.devnull, "w" if number else "r", encoding="utf-8")  # noqa: PTH123, SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def _is_usable(number: int) -> bool:
    """Return True if a standard stream is open, and if it is for output, can be written."""
    try:
        if number == 0 or sys.platform == "win32":
            os.fstat(number)
            return True
        import fcntl

        return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        return False


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt for a signal that ends the program."""
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    entry()
