"""Run the command line: `python -m transferbench`, or the installed script."""

import gc
import os
import signal
import sys
import threading
from types import FrameType
from typing import NoReturn


class Interrupted(KeyboardInterrupt):
    """A signal ends the program; its number is the argument.

    After a KeyboardInterrupt itself in `exec`, Python would exit by SIGINT although it was caught.
    Code in C, a weak reference and a broad `except` may drop the exception; the signal comes again
    unless the exception is marked as `caught`.
    """

    caught = False

    def __del__(self) -> None:
        """Send the signal again if nothing has caught it; a waiting main thread wakes."""
        if not self.caught:
            send = getattr(signal, "pthread_kill", lambda _, number: signal.raise_signal(number))
            arguments = (threading.main_thread().ident, *self.args)
            threading.Timer(0.01, send, arguments).start()


def entry() -> NoReturn:
    """Run the program and exit; with 130, 143 or 129 after Ctrl-C, SIGTERM or SIGHUP."""
    while os.open(os.devnull, os.O_RDWR) < 2:  # else a file would take a closed stream's place
        pass
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    sys.unraisablehook = _report_unraisable
    _handle(_interrupt)
    # Imports make many objects and little garbage. With the usual 700, and without `freeze` below,
    # searches for it take .15 to .2 s of a command's .5 to 1 s.
    gc.set_threshold(200_000, 30, 30)
    try:
        from transferbench.cli import invoke  # after the handlers, as it takes a while

        code = invoke()
    except Interrupted as error:  # during the import, or a second one
        error.caught = True
        sys.stderr.write("Interrupted.\n")
        code = 128 + error.args[0]
    _handle(signal.SIG_IGN)  # what runs at exit is quick
    gc.freeze()  # else Python searches all objects once more
    sys.exit(code)


def _handle(handler: "signal.Handlers | object") -> None:
    """Set the handler of each signal that ends a program, unless it is ignored, as with nohup."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, signal.SIGINT)
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)  # type: ignore[arg-type]


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)


def _report_unraisable(lost: "sys.UnraisableHookArgs") -> None:
    """Print an error that Python cannot raise, but no interrupt, which comes again."""
    if not isinstance(lost.exc_value, Interrupted):
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    entry()
