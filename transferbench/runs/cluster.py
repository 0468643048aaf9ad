"""Perform jobs on other machines, through any executor; both ends of the connection.

    caller ── executor.submit(perform_here, order) ──▶ worker: supervises the process of the run
    caller ◀─ TCP: progress of the run, requests for the file of a task ── worker
    caller ── TCP: heartbeats, the file of a task ──▶ worker

The executor carries an order (a run by name, its limits, digests) to a worker and a record back.
The worker needs no folder of the caller: it sends for the file of a built task that it does not
have. Its code, versions and data must equal the caller's. If the connection ends, or is silent for
SILENCE seconds, the worker ends its run: so nothing runs on after the caller was killed.

The caller listens at the address by which it reaches the cluster. Who connects must know the token,
a random number of each batch, and gets nothing but files of tasks of the batch.
"""

from __future__ import annotations

import hmac
import json
import logging
import multiprocessing
import os
import runpy
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from transferbench import fingerprint, models, settings, tasks
from transferbench.artefacts import Folder
from transferbench.core import device
from transferbench.data.facts import same_values
from transferbench.errors import Unavailable, UserError
from transferbench.files import exclusive, writing
from transferbench.messages import reason
from transferbench.runs.machine import cores
from transferbench.runs.pool import Engine, Inbox, Submit, lost, supervise, with_memory_limit
from transferbench.runs.record import Job, Limits, Record, Run
from transferbench.settings import Settings
from transferbench.tasks import BuiltTask, Task

#: Seconds between two heartbeats of the caller, and of silence after which a worker ends its run.
HEARTBEAT, SILENCE = 5.0, 30.0
#: Seconds to wait for a scheduler, for its first worker, and for a connection.
PATIENCE = 30.0
BLOCK = 2**20  # bytes sent or received at a time
#: Fingerprints are computed by one thread at a time: `ast.parse` is not thread-safe in Python 3.11.
_FINGERPRINTS = threading.Lock()


@dataclass(frozen=True)
class Order:
    """A job without a path of the caller's machine.

    Parameters
    ----------
    number
        Of the job in the batch.
    task, model, params, seed, curve
        The run.
    limits
        Its limits.
    file, data, values
        Name of the built task (`BuiltTask`); digest and values of its facts.
    code, versions
        The caller's fingerprint of the code, and its versions.
    address, token
        Address at which the caller listens, and the token that it expects.
    """

    number: int
    task: str
    model: str
    params: dict[str, Any]
    seed: int | None
    curve: bool
    limits: Limits
    file: str
    data: str
    values: tuple[float, ...]
    code: str
    versions: str
    address: tuple[str, int]
    token: str


# The worker's end


def perform_here(order: Order) -> tuple[str, str]:
    """Perform the run of an order on this machine; called by the executor on a worker.

    Returns
    -------
    kind, text
        ("record", its line), ("gone", "") if the caller is gone, or ("refused", why this machine
        cannot perform the run).
    """
    # Workers may be daemons, which may have no children.
    with suppress(AssertionError):
        multiprocessing.current_process().daemon = False
    here = socket.gethostname()
    try:
        run = _run_of(order)
        with closing(_RemoteLink(order)) as link:
            device.check(order.limits.device)
            here_settings = settings.load()
            built = _built(order, run.task, here_settings, link)
            size = int(here_settings.max_artefacts * 2**30)
            folder = Folder(here_settings.data.absolute() / "artefacts", size) if size else None
            if folder:
                folder.path.mkdir(parents=True, exist_ok=True)
            job = with_memory_limit(Job(run, built, order.limits, folder), cores())
            record = supervise(job, link)
            return ("record", record.line) if record else ("gone", "")
    except _CallerLost:
        return "gone", ""
    except (UserError, OSError) as error:
        return "refused", f"worker {here}: {error}"


def _run_of(order: Order) -> Run:
    """Return the run of an order. Raise UserError if this machine would not perform the same."""
    from transferbench.runs.worker import versions

    ours = ", ".join(map(" ".join, versions().items()))
    if ours != order.versions:
        mine, theirs = (set(text.split(", ")) for text in (ours, order.versions))
        what = ", ".join(sorted(mine - theirs)) or "fewer libraries"
        wanted = ", ".join(sorted(theirs - mine)) or "none of these"
        raise UserError(f"it has {what}, the caller {wanted}; install the same versions on both.")
    run = Run(Task.parse(order.task), order.model, order.params, order.seed, order.curve)
    is_file = order.model.endswith(".py")
    with _FINGERPRINTS:
        if is_file:  # it may have changed since this worker read it
            for cached in (models.code, fingerprint.fingerprint, fingerprint._read):
                cached.cache_clear()
        code = run.code
    if code != order.code:
        remedy = "copy the file there" if is_file else "install the same transferbench on both"
        raise UserError(f"its code of {order.model} is not the caller's; {remedy}.")
    return run


def _built(order: Order, task: Task, here: Settings, link: _RemoteLink) -> BuiltTask:
    """Return the built task: of this machine's cache, or sent by the caller.

    Raise UserError if it cannot be written, or is not the caller's.
    """
    path = here.data.absolute() / "built" / order.file
    with exclusive(path.with_name(f".{path.name}.lock"), lambda: None):
        if path.is_file():
            try:
                return _checked(path, order)
            except UserError:
                raise
            except (OSError, ValueError):  # it is damaged
                pass
        with writing(path, follow=False) as temporary:
            link.fetch(temporary)
        try:
            return _checked(path, order)
        except UserError:
            raise
        except ValueError as error:
            raise UserError(f"{error}, as the caller sent it; run the command again.") from None


def _checked(path: Path, order: Order) -> BuiltTask:
    facts = tasks.read_facts(path, order.file)
    if facts.key != order.data or not same_values(facts.values, order.values):
        raise UserError(f"{path} is of other data than the caller's; remove it.")
    return BuiltTask(path, facts, order.file)


class _CallerLost(Exception):
    """The caller does not answer: the run is started again, if the caller lives."""


class _RemoteLink:
    """The connection of a worker with the caller."""

    def __init__(self, order: Order) -> None:
        host, port = order.address
        try:
            self._socket = socket.create_connection(order.address, timeout=PATIENCE)
        except OSError as error:
            why = error.strerror or error
            remedy = "let workers reach that address, or name another by HOST in the --cluster file"
            raise UserError(
                f"it cannot reach the caller at {host}:{port} ({why}); {remedy}."
            ) from None
        self._heard = time.monotonic()
        self._send({"token": order.token, "number": order.number})

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def alive(self) -> bool:
        """Return False if the caller has closed the connection, or is silent for too long."""
        self._socket.setblocking(False)
        try:
            if not self._socket.recv(BLOCK):
                return False
            self._heard = time.monotonic()
        except BlockingIOError:
            pass
        except OSError:
            return False
        return time.monotonic() - self._heard < SILENCE

    def report(self, iteration: int, planned: int) -> None:
        """Send the progress of the run."""
        with suppress(OSError):  # `alive` finds it out
            self._send({"progress": [iteration, planned]})

    def fetch(self, path: Path) -> None:
        """Write the file of the built task, as the caller sends it."""
        with self._socket.makefile("rb") as stream, path.open("wb") as file:
            with _losing_caller():
                self._send({"fetch": True})
                self._socket.settimeout(PATIENCE)
                while (line := stream.readline()) == b"\n":  # heartbeats
                    continue
                left = int(json.loads(line)["size"])
            while left:
                with _losing_caller():
                    part = stream.read(min(left, BLOCK))
                if not part:
                    raise _CallerLost
                file.write(part)
                left -= len(part)

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.settimeout(HEARTBEAT)
        self._socket.sendall(json.dumps(message).encode() + b"\n")


@contextmanager
def _losing_caller() -> Iterator[None]:
    """Turn an error of the connection into _CallerLost, so that it is no error of this disk."""
    try:
        yield
    except (OSError, ValueError):
        raise _CallerLost from None


# The caller's end


class _Caller(socketserver.ThreadingTCPServer):
    """Listens to workers: takes progress, sends heartbeats and files of tasks."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, inbox: Inbox) -> None:
        super().__init__((host, 0), _Connection)
        self.inbox, self.token = inbox, secrets.token_hex(16)
        self.address = host, int(self.server_address[1])
        self.jobs: list[Job] = []
        self.ended = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: a worker that is lost is started again elsewhere."""


class _Connection(socketserver.BaseRequestHandler):
    """The connection of one worker."""

    server: _Caller
    request: socket.socket

    def handle(self) -> None:
        messages = self._messages()
        first = next(messages, {})
        if not hmac.compare_digest(str(first.get("token")), self.server.token):
            return
        job = self.server.jobs[int(first["number"])]
        for message in messages:
            self._answer(job, message)

    def _messages(self) -> Iterator[dict[str, Any]]:
        """Yield what the worker sends, until it or the batch ends; send heartbeats meanwhile."""
        received, sent = b"", time.monotonic()
        while not self.server.ended.is_set():
            self.request.settimeout(1.0)
            with suppress(TimeoutError):
                part = self.request.recv(BLOCK)
                if not part or len(received) > BLOCK:
                    return
                *whole, received = (received + part).split(b"\n")
                yield from map(json.loads, whole)
            if time.monotonic() - sent >= HEARTBEAT:
                self.request.sendall(b"\n")
                sent = time.monotonic()

    def _answer(self, job: Job, message: dict[str, Any]) -> None:
        match message:
            case {"progress": [int(iteration), int(planned)]}:
                self.server.inbox.put((job.run, iteration, planned))
            case {"fetch": True}:
                with job.built.path.open("rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    self.request.settimeout(PATIENCE)
                    self.request.sendall(json.dumps({"size": size}).encode() + b"\n")
                    self.request.sendfile(file)


def engine(where: str) -> Engine:
    """Return the engine of a cluster.

    Parameters
    ----------
    where
        Address of a scheduler of dask, such as tcp://head:8786; or a Python file with a function
        `executor` that returns an Executor, and maybe the text HOST: the name or address at which
        workers reach this machine.

    Raises
    ------
    UserError
        If there is no such scheduler or file.
    """

    @contextmanager
    def opened(inbox: Inbox) -> Iterator[Submit]:
        with _executor(where) as (executor, host), _listening(host, inbox) as caller:
            submitted: list[Future[tuple[str, str]]] = []

            def submit(job: Job) -> Future[Record | None]:
                caller.jobs.append(job)
                order = _order(job, len(caller.jobs) - 1, caller)
                submitted.append(executor.submit(perform_here, order))
                return _translated(submitted[-1], order)

            try:
                yield submit
            finally:
                caller.ended.set()
                with suppress(Exception):  # a cluster that is lost cannot cancel anything
                    for future in submitted:
                        future.cancel()
                    executor.shutdown(wait=False)

    return opened


@contextmanager
def _listening(host: str, inbox: Inbox) -> Iterator[_Caller]:
    """Listen at an address of this machine in the block."""
    try:
        caller = _Caller(host, inbox)
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"cannot listen at {host} ({why}); name another HOST.") from None
    with caller:
        thread = threading.Thread(target=caller.serve_forever, daemon=True)
        thread.start()
        try:
            yield caller
        finally:
            caller.ended.set()
            caller.shutdown()
            thread.join()


def _order(job: Job, number: int, caller: _Caller) -> Order:
    from transferbench.runs.worker import versions

    run = job.run
    return Order(
        number, str(run.task), run.model, dict(run.params), run.seed, run.curve, job.limits,
        job.built.name, job.built.facts.key, job.built.facts.values, run.code,
        ", ".join(map(" ".join, versions().items())), caller.address, caller.token,
    )  # fmt: skip


def _translated(remote: Future[tuple[str, str]], order: Order) -> Future[Record | None]:
    """Return a future with the record in place of the answer of `perform_here`."""
    local: Future[Record | None] = Future()

    def translate(remote: Future[tuple[str, str]]) -> None:
        try:
            kind, text = remote.result()
            if kind == "refused":
                raise UserError(text)
            record = Record.from_line(text) if kind == "record" else None
            if record and (record.code, record.data) != (order.code, order.data):
                raise UserError(f"{order.model} on {order.task} changed on a worker while it ran.")
            local.set_result(record)
        except OSError as error:  # of the connection with a scheduler
            local.set_exception(lost(error))
        except (ImportError, AttributeError) as error:
            local.set_exception(_cannot_load(error))
        except BaseException as error:
            is_load = isinstance(error, RuntimeError) and "deserializ" in str(error)
            local.set_exception(_cannot_load(error) if is_load else error)

    remote.add_done_callback(translate)
    return local


def _cannot_load(error: BaseException) -> UserError:
    """Return the error that a worker has no, or another, transferbench."""
    why = reason(error.__cause__ or error)
    return UserError(f"a worker cannot load transferbench ({why}); install the same version there.")


@contextmanager
def _executor(where: str) -> Iterator[tuple[Executor, str]]:
    """Yield the executor, and the address at which workers reach this machine."""
    if "://" in where:
        with _dask(where) as executor:
            yield executor, _own_address(where)
        return
    if not where.endswith(".py"):
        expected = "the address of a scheduler (tcp://head:8786), or a FILE.py with `executor`"
        raise UserError(f"--cluster {where}: expected {expected}.")
    try:
        found = runpy.run_path(where)
        if not callable(function := found.get("executor")):
            raise TypeError("expected a function `executor`")
        executor = function()
        if not isinstance(executor, Executor):
            raise TypeError(f"`executor` returned {type(executor).__name__}, expected an Executor")
    except (Exception, SystemExit) as error:  # the user's own code
        raise UserError(f"--cluster {where} cannot be used: {reason(error)}.") from error
    _silence()
    with suppress(Exception):
        where = executor._client.scheduler.address  # type: ignore[attr-defined]
    yield executor, str(found.get("HOST") or _own_address(where))


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    """Yield the executor of a scheduler of dask, which has a worker."""
    try:
        from distributed import Client
    except ImportError:
        raise Unavailable(
            "the library distributed is not installed", "pip install 'transferbench[cluster]'"
        ) from None
    _silence()
    try:
        client: Any = Client(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        why = reason(error)
        remedy = "expected the address that `dask scheduler` prints"
        raise UserError(f"--cluster {address}: no scheduler answers ({why}); {remedy}.") from None
    try:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError):
            remedy = f"start one: dask worker {address}"
            raise UserError(
                f"--cluster {address}: no worker within {PATIENCE:g} s; {remedy}."
            ) from None
        yield client.get_executor(retries=2)
    finally:
        with suppress(Exception):  # of a scheduler that is lost
            client.close(timeout=1)


def _silence() -> None:
    """Let dask log nothing: what is lost is one line here."""
    for name in logging.root.manager.loggerDict:
        if name.startswith("distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _own_address(where: str) -> str:
    """Return this machine's address on the way to another one; no packet is sent."""
    host = urlsplit(where).hostname or "192.0.2.1"  # an address of no machine: the default route
    family = socket.AF_INET
    with suppress(OSError), closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
        probe.connect((host, 9))
        return str(probe.getsockname()[0])
    return "127.0.0.1"
