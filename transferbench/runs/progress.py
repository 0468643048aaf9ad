"""The terminal during a batch of runs: its progress bar, and Ctrl-C."""

import signal
import sys
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from transferbench.messages import message_text, printable

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def notify(message: str) -> None:
    """Print a line to stderr without disturbing the progress bar."""
    from tqdm import tqdm

    tqdm.write(message_text(message), file=sys.stderr)


class ProgressBar:
    """A progress bar that counts runs that ended and the finished share of each running one.

    total: number of runs; shown: if false, or if there is no terminal, nothing is printed.
    """

    def __init__(self, total: int, shown: bool) -> None:
        from tqdm import tqdm

        self.ended = 0
        self.running: dict[str, Hashable] = {}  # key → run
        self.shares: dict[str, float] = {}  # key → finished share
        self.tqdm = tqdm(
            total=total,
            unit="run",
            leave=False,
            disable=None if shown else True,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
        )

    def close(self) -> None:
        """Remove the bar from the terminal."""
        self.tqdm.close()

    def start(self, key: str, run: Hashable) -> None:
        """Begin to show the progress of a run."""
        self.running[key] = run

    def update(self, key: str | None, iteration: int, planned: int) -> None:
        """Show the iteration of a run; ignore the key of a run that is not running."""
        if key in self.running:
            self.shares[key] = iteration / planned
            text = printable(f"{self.running[key]} ({iteration}/{planned})")
            self.tqdm.set_description_str(text, refresh=False)
        self._refresh()

    def end(self, key: str) -> None:
        """Count a run that ended."""
        self.running.pop(key, None)
        self.shares.pop(key, None)
        self.ended += 1
        self._refresh()

    def skip(self) -> None:
        """Count a reused or unavailable run; the estimate of the remaining time leaves it out."""
        if not self.tqdm.disable:
            self.tqdm.initial += 1
        self.ended += 1
        self._refresh()

    def _refresh(self) -> None:
        self.tqdm.n = self.ended + sum(self.shares.values())
        self.tqdm.refresh()


class DeferInterrupt:
    """In this block an interrupt is stored until `raise_pending`; a second one is raised at once.

    On leaving the block a stored interrupt is raised. Only signals that raise KeyboardInterrupt are
    deferred, and only in the main thread, which receives them.
    """

    def __enter__(self) -> Self:
        self._pending = False
        self._suspended = False
        self._former: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is signal.default_int_handler:
                    self._former[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)
        if kind is None:
            self.raise_pending()

    def raise_pending(self) -> None:
        """Raise KeyboardInterrupt if an interrupt is stored."""
        pending, self._pending = self._pending, False
        if pending:
            raise KeyboardInterrupt

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Raise interrupts at once in this block, whose work can be repeated."""
        self.raise_pending()
        self._suspended = True
        try:
            yield
        finally:
            self._suspended = False

    def _on_signal(self, number: int, frame: object) -> None:
        if self._pending or self._suspended:
            raise KeyboardInterrupt
        self._pending = True
