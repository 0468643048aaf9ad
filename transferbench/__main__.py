"""Run the command line: `python -m transferbench`, or the installed script."""

import signal
import sys
from types import FrameType
from typing import NoReturn


def entry() -> NoReturn:
    """Run the program and exit; with 130, 143 or 129 after Ctrl-C, SIGTERM or SIGHUP."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, signal.SIGTERM)  # Windows has no SIGHUP
        if signal.getsignal(number) is not signal.SIG_IGN:  # as with nohup
            signal.signal(number, _interrupt)
    try:
        from transferbench.cli import invoke  # after the handlers, as it takes a while

        code = invoke()
    except KeyboardInterrupt as error:  # during the import, or a second one
        sys.stderr.write("Interrupted.\n")
        code = 128 + (error.args or (signal.SIGINT,))[0]
    try:
        sys.stdout.flush()
    except (AttributeError, OSError):  # closed or full, which `invoke` has reported
        sys.stdout = None  # else Python tries once more
    # After an interrupt inside exec or eval, which dataclasses and others use, Python would end by
    # SIGINT whatever the code is; it forgets that when it next runs a text.
    exec("")
    sys.exit(code)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal that ends the program as Ctrl-C is handled."""
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    entry()
