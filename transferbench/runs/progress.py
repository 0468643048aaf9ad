"""The progress of a batch of runs, on the terminal."""

import math
import sys
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Any

from transferbench.messages import duration, message_text, printable
from transferbench.runs.status import StatusFile

#: Seconds between two lines about the progress where there is no terminal.
PERIOD = 10.0
#: Seconds between two changes of the bar.
BLINK = 0.1
#: Seconds of the expected speed that count beside the measured one.
FIRST = 10.0


class ProgressBar:
    """Shows how many runs have ended, which one is running, and how long the others may take.

    It is a bar on a terminal, else a line every PERIOD seconds.

    Parameters
    ----------
    runs
        All runs.
    expected
        Seconds of runs, as far as they are known; 0 if reused.
    results
        Folder of results where `transferbench status` finds the progress; None for nowhere.
    """

    def __init__(
        self,
        runs: Iterable[Hashable],
        expected: Mapping[Any, float] | None = None,
        results: Path | None = None,
    ) -> None:
        from tqdm import tqdm

        self.open = dict.fromkeys(runs)
        self.total = len(self.open)
        self.expected = dict(expected or {})
        self.performed: list[Hashable] = []
        self.running: dict[Hashable, tuple[int, int]] = {}  # iteration, planned
        self.preparing = ""
        self.begin = self.printed = monotonic()
        self.last_end = 0.0  # seconds after the begin
        self.lines = not sys.stderr.isatty()
        self.file = results and StatusFile(results)
        tqdm.monitor_interval = 0  # no thread
        bar = "|{bar:20}| {desc}"
        self.tqdm = tqdm(total=self.total, leave=False, disable=None, bar_format=bar)

    def close(self) -> None:
        """Remove the bar from the terminal, and the file of the progress."""
        with suppress(OSError):
            self.tqdm.close()
        if self.file:
            self.file.close()

    def prepare(self, text: str) -> None:
        """Show what is done before the runs start."""
        self.preparing = text
        self._write()
        self._refresh()

    def update(self, run: Hashable = None, iteration: int = 0, planned: int = 1) -> None:
        """Show the iteration of a run, from its start on, or only the time that is left."""
        if run in self.open:
            if not self.performed and not self.running:
                self.begin = self.printed = monotonic()
            self.running[run] = min(iteration, planned), planned
        self._write()
        self._refresh()

    def end(self, run: Hashable) -> None:
        """Count a run that ended."""
        self.running.pop(run, None)
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
        share = max(self._shares(), default=0.0)
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
        for run, (iteration, planned) in list(self.running.items())[:1]:
            text += f": {run}" + (f" ({iteration}/{planned})" if iteration else "")
        if not self.running and self.preparing:
            text += f": {self.preparing}"
        return printable(text)

    def _write(self) -> None:
        """Write the file of the progress, if it is time."""
        if self.file and self.file.is_due:
            left = self.remaining()
            runs = tuple(map(str, self.running))
            seconds_left = None if math.isnan(left) else left
            self.file.write(self.total - len(self.open), self.total, runs, seconds_left)

    def _shares(self) -> list[float]:
        return [iteration / planned for iteration, planned in self.running.values()]

    def _refresh(self) -> None:
        # A terminal or disk that cannot be written ends no run.
        with suppress(OSError):
            self._show()

    def _show(self) -> None:
        self.tqdm.n = self.total - len(self.open) + sum(self._shares())
        if monotonic() - self.printed < (PERIOD if self.lines else BLINK):
            return
        self.printed = monotonic()
        if self.lines:
            self.tqdm.write(message_text(str(self)), file=sys.stderr)
        elif not self.tqdm.disable:
            self.tqdm.set_description_str(str(self))
