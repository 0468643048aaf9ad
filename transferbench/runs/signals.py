"""Delay Ctrl-C until finished records are on disk."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class DeferInterrupt:
    """In this block an interrupt is stored until `raise_pending`; a second one is raised at once.

    On leaving the block a stored interrupt is raised. Only signals that raise KeyboardInterrupt are
    deferred, and only in the main thread, which receives them.
    """

    def __enter__(self) -> DeferInterrupt:
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
