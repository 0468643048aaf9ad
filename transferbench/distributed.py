"""Fit one model over several machines: the rows of large matrices are held by Dask workers.

    with on_workers("tcp://host:8786") as usage:
        fit = transferbench.fit("gcmf", problem)
    print(usage.summary(len(fit.trace)))

It concerns the models of `core.nmtf`: X (documents × features) of each domain and the graphs of its
documents. A matrix is cut into blocks of rows, and each worker holds neighbouring blocks. The
factors U, H and V stay in the caller's process, which asks the workers for products:

    X A   : A (m, c) is sent to each worker, each returns its rows of the product.
    Xᵀ V  : each worker receives its rows of V (n, c) and returns sums over blocks b of X_bᵀ V_b.

The blocks and the order in which Xᵀ V = Σ_b X_bᵀ V_b is summed depend on the number of rows only:
see `add_up`. So results are the same, bit for bit, for any number of workers. They differ from a
fit without workers by rounding.

The caller keeps X. If a worker is lost, its rows are sent to another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from transferbench.core import products
from transferbench.core.init import stack
from transferbench.core.products import Held, Products, by_rows
from transferbench.core.scale import norm2
from transferbench.errors import EngineLost, UserError
from transferbench.messages import install_hint
from transferbench.problem import Matrix
from transferbench.runs import engines

if TYPE_CHECKING:
    from distributed import Client, Future

#: First block, number of blocks, and the sum of their arrays.
Node = tuple[int, int, np.ndarray]

#: A matrix of fewer rows stays in this process.
MIN_ROWS = 1 << 14
#: Rows → blocks of a matrix with at least so many rows. Numbers with many divisors, so that most
#: numbers of workers get equal shares. Small blocks are slow, because each adds Xᵀ V (m, c).
BLOCKS = {0: 24, 1 << 22: 240}
#: How often the rows of one part are sent to another worker before the fit fails.
MAX_MOVES = 3
#: Seconds between checks that a worker is still there, while waiting for it.
CHECK_SECONDS = 1.0
#: Columns that no row of a part uses are not sent, if that saves more than a quarter of them.
WORTH_SELECTING = 0.75


@dataclass
class Usage:
    """What the fits in a block of `on_workers` sent. All sizes are bytes of arrays.

    workers  : workers at the start.
    asked    : matrices that the engine asked to hold.
    cut      : those of them that were large enough to be held by workers.
    placed   : sent once, to hold the rows.
    sent     : sent to workers for products, in all iterations.
    received : received from workers, in all iterations.
    moved    : parts that were sent again because a worker was lost.
    """

    workers: int = 0
    asked: int = 0
    cut: int = 0
    placed: int = 0
    sent: int = 0
    received: int = 0
    moved: int = 0

    def summary(self, iterations: int) -> str:
        """Return a line for the user about a fit with this number of iterations."""
        if not self.asked:
            return "the workers were not used: this model does not use the factorisation engine"
        if not self.cut:
            rows = f"{MIN_ROWS:,}"
            return f"the workers were not used: every domain has fewer than {rows} documents"
        each = max(1, iterations) * self.workers * 1e6
        lost = f"; {self.moved} parts moved from lost workers" if self.moved else ""
        return (
            f"{self.workers} workers held {self.placed / 1e6:.1f} MB; each received "
            f"{self.sent / each:.2f} MB and returned {self.received / each:.2f} MB an "
            f"iteration{lost}"
        )


@contextmanager
def on_workers(scheduler: str) -> Iterator[Usage]:
    """Let the workers of a Dask scheduler hold large matrices in this block.

    Yield the counts of what was sent, which are complete at the end of the block. Raise UserError
    if the scheduler or its workers cannot be used, EngineLost if they are lost during a fit.
    """
    if not engines.installed("dask"):
        raise UserError(f"--scheduler needs distributed; {install_hint('dask')}.")
    from transferbench.runs.engines.dask import Dask

    engine = Dask(scheduler=scheduler)
    with ExitStack() as stack:
        client = engine.connect(stack, 1)
        engine.check(client, [], lambda *progress: None)
        client.direct_to_workers = True  # do not send arrays by way of the scheduler
        workers = _Workers(client, scheduler)
        workers.usage.workers = len(workers.addresses())
        token = products.hold.set(workers.hold)
        try:
            yield workers.usage
        finally:
            products.hold.reset(token)


class Shard:
    """Neighbouring blocks of rows, on a worker; `first` is the number of the first block."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._added: list[Matrix] = []
        self._rows: list[slice] = []  # of each block

    def add(self, X: Matrix) -> float:
        """Hold X (rows, m) as the next block; return ‖X‖²."""
        start = self._rows[-1].stop if self._rows else 0
        self._rows.append(slice(start, start + X.shape[0]))
        self._added.append(X)
        return norm2(X)

    @cached_property
    def _X(self) -> Matrix:
        """All blocks as one matrix, because one product is faster than many."""
        X = stack(self._added)
        self._added.clear()
        return X

    @cached_property
    def _held(self) -> Held:
        return Held(self._X, self._X.dtype)

    @cached_property
    def _transposed(self) -> list[Held]:
        """X_bᵀ of each block."""
        return [Held(self._X[rows].T, self._X.dtype) for rows in self._rows]

    def times(self, A: np.ndarray) -> np.ndarray:
        """Return X A (rows of all blocks, c)."""
        return self._held.times(A)

    def transposed_times(self, *Vs: np.ndarray) -> list[Node]:
        """Return sums of X_bᵀ V_b (m, c) over blocks b, for the rows V_b of each block."""
        pairs = enumerate(zip(self._transposed, Vs, strict=True), self._first)
        return add_up((b, 1, X.times(V)) for b, (X, V) in pairs)


def add_up(nodes: Iterable[Node]) -> list[Node]:
    """Sum neighbours in a binary tree over all blocks; return the sums that remain, in order.

    Two nodes are added if they are the halves of one node of the tree: their sizes are equal, and
    the first block of the left one is a multiple of twice the size. So a sum over all blocks is the
    same whether it is made of single blocks or of such sums of other callers.
    """
    sums: list[Node] = []
    for start, size, array in nodes:
        while sums and sums[-1][1] == size and sums[-1][0] % (2 * size) == 0:
            start, _, left = sums.pop()
            size, array = 2 * size, left + array
        sums.append((start, size, array))
    return sums


@dataclass
class _Part:
    """The blocks of one matrix that one worker holds.

    first   : number of the first block.
    columns : the columns of X that the worker holds, in order: those with an entry in these rows,
              or all.
    """

    first: int
    blocks: list[slice]
    columns: slice | np.ndarray
    address: str = ""  # of the worker
    future: Future[Any] | None = None  # of the worker's Shard
    shard: Any = None  # dask's handle of the Shard
    moves: int = 0

    @property
    def rows(self) -> slice:
        return slice(self.blocks[0].start, self.blocks[-1].stop)


class _Workers:
    """Places parts on the workers of a scheduler and asks for their products."""

    def __init__(self, client: Client, scheduler: str) -> None:
        self.client = client
        self.scheduler = scheduler
        self.usage = Usage()

    def hold(self, X: Matrix, dtype: np.dtype) -> Products:
        """Return X, held by the workers, or in this process if it is small."""
        self.usage.asked += 1
        if X.shape[0] < MIN_ROWS:
            return Held(X, dtype)
        self.usage.cut += 1
        return _Spread(X, dtype, self)

    def addresses(self) -> list[str]:
        """Return the addresses of the workers. Raise EngineLost if there are none."""
        try:
            addresses = sorted(self.client.nthreads()) if self.client.status == "running" else []
        except OSError:
            addresses = []
        if not addresses:
            raise self.lost("no worker is left")
        return addresses

    def lost(self, why: str) -> EngineLost:
        """Return the error for a fit that cannot go on."""
        return EngineLost(
            f"the workers of the scheduler at {self.scheduler} were lost during the fit ({why}); "
            "check that they run, have enough memory and can be reached from here, and rerun the "
            "command."
        )

    def create(self, part: _Part, address: str) -> None:
        """Create an empty Shard for the part. Raise ConnectionError if the worker is lost."""
        import distributed

        part.address = address
        part.future = self.client.submit(
            Shard, part.first, actor=True, workers=[address], pure=False
        )
        while part.future.status == "pending":  # the worker may be busy
            with suppress(TimeoutError):
                distributed.wait(part.future, timeout=CHECK_SECONDS)
            if address not in self.addresses():
                break
        if part.future.status != "finished":
            raise ConnectionError("its worker is lost")
        part.shard = part.future.result()

    def start(self, part: _Part, method: str, *arrays: Any) -> Any:
        """Return the future answer of a part's worker; None if the worker is lost."""
        try:
            return getattr(part.shard, method)(*arrays)
        except RuntimeError:  # so dask reports a lost actor
            return None

    def answer(self, part: _Part, future: Any) -> Any:
        """Wait for the answer of a part's worker. Raise OSError if the worker is lost."""
        while future is not None:
            try:
                return future.result(timeout=CHECK_SECONDS)
            except TimeoutError:
                if part.future is None or part.future.status != "finished":
                    break
        raise ConnectionError("its worker is lost")


class _Spread:
    """X (n, m), held by workers; see `Products`."""

    def __init__(self, X: Matrix, dtype: np.dtype, workers: _Workers) -> None:
        self._X: Any = sp.csr_array(X) if sp.issparse(X) else X
        self._dtype = dtype
        self._workers = workers
        n = X.shape[0]
        count = next(blocks for rows, blocks in reversed(BLOCKS.items()) if rows <= n)
        blocks = [slice(i, j) for i, j in _shares(n, count)]
        addresses = workers.addresses()
        shares = _shares(count, min(count, len(addresses)))
        self._parts = [self._part(i, blocks[i:j]) for i, j in shares]
        first = workers.usage.cut  # so that small matrices are on different workers
        squares: list[float] = []
        for i, part in enumerate(self._parts, first):
            squares += self._place(part, addresses[i % len(addresses)])
        self.norm2 = sum(squares)

    def times(self, A: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """See Products."""
        product = np.empty((self._X.shape[0], A.shape[1]), A.dtype) if out is None else out
        arguments = [(np.ascontiguousarray(A[part.columns]),) for part in self._parts]
        for part, rows in self._ask("times", arguments):
            product[part.rows] = rows
            self._workers.usage.received += rows.nbytes
        return product

    def transposed_times(self, V: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """See Products."""
        arguments = [tuple(V[rows] for rows in part.blocks) for part in self._parts]
        answers = self._ask("transposed_times", arguments)
        nodes = add_up(
            self._with_all_columns(part, node) for part, sums in answers for node in sums
        )
        return np.asarray(sum(array for _, _, array in nodes))

    def _with_all_columns(self, part: _Part, node: Node) -> Node:
        """Return a worker's sum with a row for each column of X, not only for the worker's."""
        start, size, array = node
        self._workers.usage.received += array.nbytes
        if not isinstance(part.columns, slice):
            whole = np.zeros((self._X.shape[1], array.shape[1]), array.dtype)
            whole[part.columns] = array
            array = whole
        return start, size, array

    def _ask(
        self, method: str, arguments: Sequence[tuple[np.ndarray, ...]]
    ) -> Iterator[tuple[_Part, Any]]:
        """Call a method of all parts at once; yield each part and its answer, in order."""
        workers, usage = self._workers, self._workers.usage
        futures = [
            workers.start(part, method, *arrays)
            for part, arrays in zip(self._parts, arguments, strict=True)
        ]
        for part, arrays, future in zip(self._parts, arguments, futures, strict=True):
            while True:
                usage.sent += sum(array.nbytes for array in arrays)
                try:
                    answer = workers.answer(part, future)
                    break
                except OSError:  # the worker is lost
                    self._move(part)
                    future = workers.start(part, method, *arrays)
            yield part, answer

    def _place(self, part: _Part, address: str) -> list[float]:
        """Send the rows of a part to a worker, block by block; return ‖X_b‖² of each block.

        Move on to another worker if this one is lost.
        """
        try:
            self._workers.create(part, address)
            squares = []
            for rows in part.blocks:
                X = by_rows(self._X[rows][:, part.columns], self._dtype)
                future = self._workers.start(part, "add", X)
                squares.append(self._workers.answer(part, future))
                self._workers.usage.placed += _nbytes(X)
        except OSError:
            squares = self._move(part)
        return squares

    def _move(self, part: _Part) -> list[float]:
        """Place a part whose worker was lost on another worker. Raise EngineLost after a while."""
        part.moves += 1
        self._workers.usage.moved += 1
        if part.moves > MAX_MOVES:
            raise self._workers.lost(f"the same rows were lost {part.moves} times")
        addresses = self._workers.addresses()
        others = [address for address in addresses if address != part.address] or addresses
        return self._place(part, others[self._workers.usage.moved % len(others)])

    def _part(self, first: int, blocks: list[slice]) -> _Part:
        """Return a part, not placed yet, with the columns that occur in its rows."""
        part = _Part(first, blocks, slice(None))
        if sp.issparse(self._X):
            occurring = np.zeros(self._X.shape[1], bool)
            occurring[self._X[part.rows].indices] = True
            if occurring.mean() < WORTH_SELECTING:
                part.columns = np.flatnonzero(occurring)
        return part


def _shares(n: int, number: int) -> list[tuple[int, int]]:
    """Return start and stop of `number` equal shares of range(n)."""
    return list(pairwise(n * i // number for i in range(number + 1)))


def _nbytes(X: Any) -> int:
    arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    return sum(array.nbytes for array in arrays)
