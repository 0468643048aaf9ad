"""The terminal during a batch of runs: its progress, and Ctrl-C."""

import math
import signal
import sys
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from statistics import fmean
from time import monotonic
from typing import Any, Self

from transferbench.messages import duration, message_text, printable

#: Seconds between two lines about the progress where there is no terminal.
PERIOD = 10.0
#: Seconds between two changes of the bar.
BLINK = 0.1
#: Seconds of the expected speed that count beside the measured one.
FIRST = 10.0

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class ProgressBar:
    """Shows how many runs have ended, which one is running, and how long the others may take.

    It is a bar on a terminal, else a line every PERIOD seconds. runs: all runs. shown: if false,
    nothing is printed. expected: seconds of runs, as far as they are known; 0 if reused.
    """

    def __init__(
        self, runs: Iterable[Hashable], shown: bool, expected: Mapping[Any, float] | None = None
    ) -> None:
        from tqdm import tqdm

        self.open = dict.fromkeys(runs)
        self.total = len(self.open)
        self.expected = dict(expected or {})
        self.performed: list[Hashable] = []
        self.running: dict[str, Hashable] = {}  # key → run
        self.shares: dict[str, tuple[int, int]] = {}  # key → iteration, planned
        self.begin = self.printed = monotonic()
        self.last_end = 0.0  # seconds after the begin
        self.lines = shown and not sys.stderr.isatty()
        self.tqdm = tqdm(
            total=self.total, leave=False, disable=None if shown else True,
            bar_format="|{bar:20}| {desc}",
        )  # fmt: skip

    def close(self) -> None:
        """Remove the bar from the terminal."""
        self.tqdm.close()

    def start(self, key: str, run: Hashable) -> None:
        """Begin to show the progress of a run."""
        if not self.performed and not self.running:
            self.begin = self.printed = monotonic()
        self.running[key] = run

    def update(self, key: str | None, iteration: int, planned: int) -> None:
        """Show the iteration of a run; ignore the key of a run that is not running."""
        if key in self.running:
            self.shares[key] = iteration, planned
        self._refresh()

    def end(self, key: str) -> None:
        """Count a run that ended."""
        run = self.running.pop(key)
        self.shares.pop(key, None)
        self.performed.append(run)
        self.last_end = monotonic() - self.begin
        self.skip(run)

    def skip(self, run: Hashable) -> None:
        """Count a run that need not be performed."""
        self.open.pop(run, None)
        self._refresh()

    def remaining(self) -> float:
        """Return the seconds that the open runs may take, NaN if nothing is known.

        The speed is measured at the ends of runs, in expected seconds per second; FIRST seconds of
        speed 1 are added, as the first runs wait for processes to start.
        """
        now = monotonic() - self.begin
        share = max((i / planned for i, planned in self.shares.values()), default=0.0)
        usual = now / share if share else math.nan
        if known := [seconds for seconds in self.expected.values() if seconds]:
            usual = fmean(known)
        elif self.performed:
            usual = self.last_end / len(self.performed)
        left: float = sum(self.expected.get(run, usual) for run in self.open)
        done: float = sum(self.expected.get(run, usual) for run in self.performed)
        speed = (done + FIRST) / (self.last_end + FIRST)
        return max(left / speed - (now - self.last_end), 0.0)  # max(NaN, 0) is NaN

    def __str__(self) -> str:
        text = f"{self.total - len(self.open)}/{self.total} runs"
        if not math.isnan(seconds := self.remaining()):
            text += f", about {duration(seconds)} left"
        for key, run in list(self.running.items())[:1]:
            share = self.shares.get(key)
            text += f": {run}" + (f" ({share[0]}/{share[1]})" if share else "")
        return printable(text)

    def _refresh(self) -> None:
        shares = sum(iteration / planned for iteration, planned in self.shares.values())
        self.tqdm.n = self.total - len(self.open) + shares
        if monotonic() - self.printed < (PERIOD if self.lines else BLINK):
            return
        self.printed = monotonic()
        if self.lines:
            self.tqdm.write(message_text(str(self)), file=sys.stderr)
        elif not self.tqdm.disable:
            self.tqdm.set_description_str(str(self))


class DeferInterrupt:
    """In this block an interrupt is stored until `raise_pending`; a second one is raised at once.

    On leaving the block a stored interrupt is raised. To raise it is to call the handler that the
    signal had before; one without a handler in Python is not deferred. Only the main thread
    receives signals.
    """

    def __enter__(self) -> Self:
        self._pending = 0
        self._suspended = False
        self._former: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for name in SIGNALS:
                number = getattr(signal, name, signal.SIGINT)  # Windows has no SIGHUP
                former = signal.getsignal(number)
                if callable(former) and number not in self._former:
                    self._former[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            self.raise_pending()

    def raise_pending(self) -> None:
        """Raise KeyboardInterrupt if an interrupt is stored."""
        pending, self._pending = self._pending, 0
        if pending:
            self._former[pending](pending, None)

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
            self._former[number](number, frame)
        self._pending = number
