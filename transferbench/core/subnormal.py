"""Numbers below the smallest normal one count as zero during a fit.

Multiplicative updates make entries ever smaller, and many processors compute with subnormal numbers
(below 1.2e-38 in float32) some hundred times more slowly. Processors can count them as zero: x86-64
by two bits of its control word MXCSR, ARM by one of FPCR. `fegetenv` and `fesetenv` of the C
library read and write that word, `_controlfp_s` on Windows. The state belongs to a thread.
"""

import ctypes
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import get_ident
from typing import TypeVar

import numpy as np

from transferbench.core.device import on_host
from transferbench.core.parallel import run_in_threads

T = TypeVar("T")

#: The control word in the C library's `fenv_t` by system and processor: bytes of the structure,
#: offset of the word, and the bits that count subnormal operands and results as zero.
WORDS = {
    ("linux", "x86_64"): (32, 28, 0x8040),
    ("darwin", "x86_64"): (16, 4, 0x8040),
    ("linux", "aarch64"): (8, 0, 1 << 24),
    ("darwin", "arm64"): (16, 8, 1 << 24),
}
#: Those of `_controlfp_s`: flush, and the mask of that setting.
DN_FLUSH, MCW_DN = 0x01000000, 0x03000000
#: Within `flush_to_zero` the bits of before, as a number.
_before: ContextVar[int | None] = ContextVar("flush to zero", default=None)


@contextmanager
def flush_to_zero() -> Iterator[None]:
    """Let the processor count subnormal numbers as zero in this thread, if it can; see `by_us`."""
    # `share_work` sets its threads likewise. Afterwards, also after an error, the state is that of
    # before.
    outer, token, before = _before.get(), None, None
    try:
        before = _switch(_bits()) if _can_switch() else None
        token = _before.set((before or 0) if outer is None else outer)
        yield
    finally:
        if before is not None:
            _switch(before)
        if token:
            _before.reset(token)


def share_work(work: Callable[[Iterator[T]], None], blocks: Sequence[T], least: int = 1) -> None:
    """Call `run_in_threads`, with threads that flush to zero if this one does."""
    # `least`: Blocks for which a thread is worth its start, which takes some 50 µs.
    before, caller = _before.get(), get_ident()

    def flushed(todo: Iterator[T]) -> None:
        if get_ident() == caller:
            work(todo)
            return
        try:
            with flush_to_zero():
                work(todo)
        finally:  # a thread that is started in a block inherits its state
            if before is not None and _can_switch():
                _switch(before)

    if len(blocks) < 2 * least:
        work(iter(blocks))
    else:
        run_in_threads(work if before is None else flushed, blocks)


def by_us() -> bool:
    """Return True if subnormal numbers must be set to zero by code, as the processor does not."""
    return _before.get() is None or not _can_switch()


def flush(factor: np.ndarray) -> np.ndarray:
    """Set subnormal entries of a factor ≥ 0 to zero, in place, and return the factor."""
    # Within `flush_to_zero` the processor has already done so.
    if by_us() or not on_host(factor):
        factor *= factor >= np.finfo(factor.dtype).tiny  # ten times faster than factor[…] = 0
    return factor


def _bits() -> int:
    """Return the bits of the control word that flush."""
    return DN_FLUSH if sys.platform == "win32" else WORDS[sys.platform, platform.machine()][2]


def _switch(bits: int) -> int:
    """Set these of the bits that flush, clear the others; return those that were set."""
    if sys.platform == "win32":
        control, word = ctypes.CDLL("ucrtbase")._controlfp_s, ctypes.c_uint()
        control(ctypes.byref(word), 0, 0)
        before = word.value & MCW_DN
        control(ctypes.byref(word), bits, MCW_DN)
        return before
    library = ctypes.CDLL(None)
    size, offset, flushing = WORDS[sys.platform, platform.machine()]
    state = ctypes.create_string_buffer(size)
    library.fegetenv(state)
    word = ctypes.c_uint.from_buffer(state, offset)
    before = word.value & flushing
    word.value = word.value & ~flushing | bits
    library.fesetenv(state)
    return before


@cache
def _can_switch() -> bool:
    """Return True if the processor can count subnormal numbers as zero."""
    if sys.platform != "win32" and (sys.platform, platform.machine()) not in WORDS:
        return False
    least = np.array([sys.float_info.min])
    try:
        before = _switch(_bits())
    except (OSError, AttributeError):  # no such library or function
        return False
    flushed = not (least / 2).any()
    _switch(before)
    return flushed
