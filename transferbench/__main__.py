"""Run the command line: `python -m transferbench`, or the installed script."""

import signal
import sys
from types import FrameType
from typing import NoReturn


def entry() -> NoReturn:
    """Run the program and exit: with code 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, signal.SIGTERM)  # Windows has no SIGHUP
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, _interrupt)
    try:
        from transferbench.cli import invoke  # slow, so the handlers are set before

        code = invoke()
    except KeyboardInterrupt as error:  # during the import, or a second one
        sys.stderr.write("Interrupted.\n")
        code = 128 + (error.args or (signal.SIGINT,))[0]
    try:
        sys.stdout.flush()
    except (AttributeError, OSError):  # closed or full, which `invoke` has reported
        sys.stdout = None  # else Python flushes it again at exit
    # If Ctrl-C interrupted an exec or eval, which dataclasses use, CPython exits by SIGINT and
    # ignores the exit code; exec("") clears that flag.
    exec("")
    sys.exit(code)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt for a signal that ends the program."""
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    entry()
