"""Ctrl-C at a moment when nothing that has ended is lost by it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class DeferInterrupt:
    """While entered, an interrupt waits until `check` raises it; a second one does not wait.

    Only what raises KeyboardInterrupt is held, and only in the main thread, where signals come.
    """

    def __enter__(self) -> DeferInterrupt:
        self.come = False
        self.urgent = False
        self.former: dict[signal.Signals, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is signal.default_int_handler:
                    self.former[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        for number, former in self.former.items():
            signal.signal(number, former)
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raises KeyboardInterrupt where an interrupt has come."""
        come, self.come = self.come, False
        if come:
            raise KeyboardInterrupt

    @contextmanager
    def released(self) -> Iterator[None]:
        """While entered, an interrupt is raised at once: what goes on can be done again."""
        self.check()
        self.urgent = True
        try:
            yield
        finally:
            self.urgent = False

    def _take(self, number: int, frame: object) -> None:
        if self.come or self.urgent:
            raise KeyboardInterrupt
        self.come = True
