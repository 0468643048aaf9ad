"""The progress of a batch of runs, on the terminal."""

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


class ProgressBar:
    """Shows how many runs have ended, which one is running, and how long the others may take."""

    # It is a bar on a terminal, else a line every PERIOD seconds.
    # `expected`: Seconds of runs, as far as they are known; 0 if reused.
    # `results`: Folder of results where `transferbench status` finds the progress; None for
    # nowhere.

    def __init__(
        self,
        runs: Iterable[Hashable],
        expected: Mapping[Any, float] | None = None,
        results: Path | None = None,
    ) -> None:
        from tqdm import tqdm

        self.open = dict.fromkeys(runs)
        self.total = len(self.open)
        self.expected = {run: seconds for run, seconds in (expected or {}).items() if seconds}
        self.usual = fmean(self.expected.values()) if self.expected else 1.0
        #: Expected seconds of the open runs.
        self.left = sum(self.expected.get(run, self.usual) for run in self.open)
        self.running: dict[Hashable, tuple[float, int, int]] = {}  # start, iteration, planned
        self.performed: list[tuple[float, float]] = []  # seconds, and expected seconds
        self.at_once = 1  # the most runs at a time so far
        self.preparing = ""
        self.printed = monotonic()
        self.pause = BLINK if sys.stderr.isatty() else PERIOD
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
        self._show()

    def update(self, run: Hashable = None, iteration: int = 0, planned: int = 1) -> None:
        """Show the iteration of a run, from its start on, or only the time that is left."""
        if run in self.open:
            if not self.performed and not self.running:
                self.printed = monotonic()
            start, *_ = self.running.get(run, (monotonic(),))
            self.running[run] = start, min(iteration, planned), planned
            self.at_once = max(self.at_once, len(self.running))
        self._show()

    def end(self, run: Hashable) -> None:
        """Count a run that ended."""
        start, *_ = self.running.pop(run, (monotonic(),))
        self.performed.append((monotonic() - start, self.expected.get(run, self.usual)))
        self._close(run)

    def skip(self, run: Hashable) -> None:
        """Leave out a run that need not be performed."""
        self.total -= run in self.open
        self.tqdm.total = self.total
        self._close(run)

    def _close(self, run: Hashable) -> None:
        """Take a run from the open ones, and its time from what is left."""
        if run in self.open:
            del self.open[run]
            self.left -= self.expected.get(run, self.usual)
        self._show()

    def remaining(self) -> float | None:
        """Return the seconds that the open runs may take, at least 1; None if nothing is known."""
        # The pace of this machine is the time of the runs that ended over their expected time.
        # Until one has ended, it is as expected, or without expected times that of the iterations.
        now, measured = monotonic(), self.performed
        if not measured:
            iterations = [(now - start, i / planned) for start, i, planned in self.running.values()]
            measured = [(1, 1)] if self.expected else [pair for pair in iterations if pair[1]]
        if not measured:
            return None
        seconds, expected = map(sum, zip(*measured, strict=True))
        pace = seconds / expected
        left = self.left * pace
        for run, (start, *_) in self.running.items():
            estimate, age = self.expected.get(run, self.usual) * pace, now - start
            left += max(-age, age / 10 - estimate)  # one that is late takes some time more
        return max(left / min(self.at_once, len(self.open) or 1), 1.0)

    def __str__(self) -> str:
        text = f"{self.total - len(self.open)}/{self.total} runs"
        if (seconds := self.remaining()) is not None:
            text += f", about {duration(seconds)} left"
        for run, (_, iteration, planned) in list(self.running.items())[:1]:
            text += f": {run}" + (f" ({iteration}/{planned})" if iteration else "")
        if not self.running and self.preparing:
            text += f": {self.preparing}"
        return printable(text)

    def _show(self) -> None:
        """Write the file, the bar or a line, if it is time."""
        ended = self.total - len(self.open)
        if self.file:
            self.file.write(ended, self.total, (*map(str, self.running),), self.remaining())
        self.tqdm.n = ended + sum(i / planned for _, i, planned in self.running.values())
        if monotonic() - self.printed < self.pause:
            return
        self.printed = monotonic()
        with suppress(OSError):  # a terminal or disk that cannot be written ends no run
            if self.pause == PERIOD:
                self.tqdm.write(message_text(str(self)), file=sys.stderr)
            else:
                self.tqdm.set_description_str(str(self))
