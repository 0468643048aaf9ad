"""Work on several threads; no result depends on their number.

Work is divided into blocks of a fixed size, a value is written by one block, and sums of blocks are
added in the order of the blocks. NumPy and SciPy release the interpreter's lock in their loops. The
libraries' own threads are switched off, because their sums depend on the number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from threadpoolctl import threadpool_info, threadpool_limits

T = TypeVar("T")
_pool: ContextVar[tuple[int, ThreadPoolExecutor] | None] = ContextVar("threads", default=None)


@contextmanager
def use_threads(count: int | None = None) -> Iterator[None]:
    """Use threads in the block."""
    # `count`: None means those of an outer block; without one, the number that the numerical
    # libraries use: one for each core, or OMP_NUM_THREADS.
    if count is None and _pool.get():
        yield
        return
    import sklearn  # noqa: F401  # loads the libraries whose threads are to be switched off

    count = count or max((library["num_threads"] for library in threadpool_info()), default=1)
    with threadpool_limits(1), ThreadPoolExecutor(count) as executor:
        token = _pool.set((count, executor))
        try:
            yield
        finally:
            _pool.reset(token)


def threads() -> int:
    """Return the number of threads of this block."""
    pool = _pool.get()
    return pool[0] if pool else 1


def run_in_threads(work: Callable[[Iterator[T]], None], blocks: Sequence[T]) -> None:
    """Call `work` once in each thread."""
    # `work`: Called with an iterator over blocks. The iterators of all threads share one source, so
    # each block is processed once.
    pool, todo = _pool.get(), iter(blocks)
    others = min(threads(), len(blocks)) - 1
    futures = [pool[1].submit(work, todo) for _ in range(others)] if pool else []
    work(todo)
    for future in futures:
        future.result()
