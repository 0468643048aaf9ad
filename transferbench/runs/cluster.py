"""Perform jobs on the workers of a scheduler of Dask, by Dask's own communication; both ends.

    caller ── Client.submit: a job; Client.scatter: the file of its task ──▶ worker
    caller ◀─ Worker.log_event: progress; the result: a record as a line of JSON ── worker

A worker supervises the process of a run, as a thread does in `pool`. Its code, versions and data
must equal the caller's. It ends the run if Dask cancels the task, as Dask does when the caller has
ended. A stopped process ends no connection: so the caller holds a lease of the scheduler, which
Dask renews, and a run ends without the lease, or if the scheduler is silent for SILENCE seconds.
"""

import asyncio
import ipaddress
import logging
import multiprocessing
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from transferbench import fingerprint, models, settings, tasks
from transferbench.artefacts import open_folder
from transferbench.core import device
from transferbench.data.facts import same_values
from transferbench.errors import Unavailable, UserError
from transferbench.files import exclusive, writing
from transferbench.measures import ALL, MEASURES
from transferbench.messages import counted, install_hint, reason, shorten
from transferbench.runs.machine import cores
from transferbench.runs.pool import Inbox, Submit, lost, supervise, with_memory_limit
from transferbench.runs.record import Job, Record, Run, now
from transferbench.runs.worker import stated_versions
from transferbench.tasks import BuiltTask

#: Seconds to wait for a scheduler and for its first worker.
PATIENCE = 30.0
#: Seconds between two questions to the scheduler, and of silence after which it counts as lost.
PERIOD, SILENCE = 5.0, 30.0
#: Seconds between two reports of the progress of a run.
REPORT_INTERVAL = 0.5
#: How often Dask starts a task again if a worker cannot load it.
RETRIES = 2


# The worker's end


def perform(job: Job, code: str, versions: str, lease: str, file: bytes) -> tuple[str, str]:
    """Return ("record", its line), ("gone", "") without the caller, or ("refused", why)."""
    from distributed import get_worker

    worker = get_worker()
    with suppress(AssertionError):  # workers may be daemons, which may have no children
        multiprocessing.current_process().daemon = False
    try:
        _check_same(job.run, code, versions)
        device.check(job.limits.device)
        here = settings.load()
        built = _built(job.built, here.data.absolute() / "built" / job.built.name, file)
        artefacts = open_folder(here.data, here.max_artefacts)
        job = with_memory_limit(replace(job, built=built, artefacts=artefacts), cores())
        with closing(_WorkerLink(worker, lease)) as link:
            record = supervise(job, link.alive, link.report)
        return ("record", record.line) if record else ("gone", "")
    except (UserError, OSError) as error:
        return "refused", f"worker {worker.address}: {error}"


def _check_same(run: Run, code: str, versions: str) -> None:
    """Raise UserError if this machine has other code or versions than the caller."""
    mine, theirs = set(stated_versions().split(", ")), set(versions.split(", "))
    if mine != theirs:
        what = ", ".join(sorted(mine - theirs)) or "fewer libraries"
        wanted = ", ".join(sorted(theirs - mine)) or "none of these"
        raise UserError(f"it has {what}, the caller {wanted}; install the same versions on both.")
    is_file = run.model.endswith(".py")
    if is_file:  # it may have changed since this worker read it
        for cached in (models.code, fingerprint.fingerprint, fingerprint._read):
            cached.cache_clear()
    if run.code != code:
        remedy = "copy the file there" if is_file else "install the same transferbench on both"
        raise UserError(f"its code of {run.model} is not the caller's; {remedy}.")


def _built(wanted: BuiltTask, path: Path, file: bytes) -> BuiltTask:
    """Return the built task of this machine's cache, into which the file is written if need be."""
    with exclusive(path.with_name(f".{path.name}.lock"), lambda: None):
        try:
            facts = tasks.read_facts(path, wanted.name)
        except (OSError, ValueError):  # there is none, or it is damaged
            with writing(path, follow=False) as temporary:
                temporary.write_bytes(file)
            facts = tasks.read_facts(path, wanted.name)
    if facts.key != wanted.facts.key or not same_values(facts.values, wanted.facts.values):
        raise UserError(f"{path} is of other data than the caller's; remove it.")
    return BuiltTask(path, facts, wanted.name)


class _WorkerLink:
    """The connection of a supervisor with the caller, by the worker of Dask that it runs on."""

    def __init__(self, worker: Any, lease: str) -> None:
        self._worker, self._key, self._topic = worker, worker.get_current_task(), lease
        self._watch = asyncio.run_coroutine_threadsafe(
            _watch(worker.scheduler, lease), worker.loop.asyncio_loop
        )
        self._next_report = 0.0

    def alive(self) -> bool:
        """Return False if Dask has cancelled the task, or the caller or the scheduler is lost."""
        task = self._worker.state.tasks.get(self._key)
        return task is not None and task.state == "executing" and not self._watch.done()

    def report(self, iteration: int, planned: int) -> None:
        """Send the progress of the run, unless it was sent just before."""
        if time.monotonic() >= self._next_report:
            self._next_report = time.monotonic() + REPORT_INTERVAL
            self._worker.log_event(self._topic, [self._key, iteration, planned])

    def close(self) -> None:
        """Ask the scheduler no more."""
        self._watch.cancel()


async def _watch(scheduler: Any, lease: str, *, is_own: bool = False) -> None:
    """Return when a lease has ended, unless it is the own one; raise if no scheduler answers."""
    value = 1
    while value or is_own:
        await asyncio.sleep(PERIOD)
        value = await asyncio.wait_for(scheduler.semaphore_value(name=lease), SILENCE)


# The caller's end


def check_address(address: str) -> None:
    """Raise UserError unless a text is an address of a scheduler, such as tcp://head:8786."""
    if "://" not in address:
        raise UserError(
            f"--cluster {address}: expected the address of a scheduler of Dask, such as "
            "tcp://head:8786, which dask-jobqueue, dask-mpi and dask-kubernetes can start; or "
            "start job arrays with --shard and join their results by `transferbench merge`."
        )


@contextmanager
def engine(address: str, inbox: Inbox) -> Iterator[Submit]:
    """Open the engine of the scheduler at an address."""
    with _connected(address) as client, closing(_Batch(client, inbox)) as batch:
        yield batch.submit


class _Batch:
    """The jobs of a batch on a cluster."""

    def __init__(self, client: Any, inbox: Inbox) -> None:
        from distributed import Semaphore

        self._client, self._scheduler, self._lease = client, client.scheduler, client.id
        self._inbox = inbox
        self._open: dict[str, tuple[Run, Any, Any]] = {}  # with its future and file, by key
        self._files = WeakValueDictionary[str, Any]()  # those of open runs, by name
        self._semaphore: Any = Semaphore(1, self._lease, self._scheduler, client.loop)  # type: ignore[no-untyped-call]
        self._semaphore.acquire()  # type: ignore[no-untyped-call]
        for topic in (self._lease, "all"):
            client.subscribe_topic(topic, self._on_event)
        self._watch = asyncio.run_coroutine_threadsafe(
            _watch(self._scheduler, self._lease, is_own=True), client.loop.asyncio_loop
        )
        self._watch.add_done_callback(self._on_silence)

    def close(self) -> None:
        """End the lease; what still runs is cancelled when the client is closed."""
        self._watch.cancel()
        with suppress(Exception):  # of a scheduler that is lost
            for topic in (self._lease, "all"):
                self._client.unsubscribe_topic(topic)
            self._client.sync(self._semaphore.__aexit__, *(None,) * 3, callback_timeout=1)
            end = self._scheduler.semaphore_close
            self._client.sync(end, name=self._lease, callback_timeout=1)

    def submit(self, job: Job) -> Future[Record | None]:
        """Submit a job, and the file of its task unless the cluster has that of an open run."""
        file = self._files.get(job.built.name)
        if file is None or file.status != "finished":
            file = self._client.scatter(job.built.path.read_bytes(), hash=False)
            self._files[job.built.name] = file
        ordered = job, job.run.code, stated_versions()
        arguments = *ordered, self._lease, file
        remote = self._client.submit(perform, *arguments, pure=False, retries=RETRIES)
        self._open[remote.key] = job.run, remote, file
        answer = asyncio.run_coroutine_threadsafe(
            _record(remote, *ordered, self._scheduler.address), self._client.loop.asyncio_loop
        )
        answer.add_done_callback(lambda _: self._open.pop(remote.key))
        return answer

    def _on_event(self, event: Any) -> None:
        match event[1]:
            case [str(key), int(iteration), int(planned)] if 0 <= iteration <= planned > 0:
                if key in self._open:
                    self._inbox.put((self._open[key][0], iteration, planned))
            case {"action": "remove-worker", "worker": worker, "processing-tasks": keys}:
                if count := sum(key in self._open for key in keys):
                    self._inbox.put(f"worker {worker} lost, {counted(count, 'run')} go to others")

    def _on_silence(self, watch: Any) -> None:
        if not watch.cancelled():
            self._inbox.put(lost("the scheduler does not answer"))
            self._client.loop.add_callback(self._client.rpc.close)  # nothing waits for it


async def _record(remote: Any, job: Job, code: str, versions: str, where: str) -> Record | None:
    """Return the record of a task that has ended, None if it is to be started again."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        answer = await remote
    except KilledWorker as error:
        return job.record("crashed", f"the workers that performed it were lost ({error})")
    except FutureCancelledError as error:
        if error.reason != "scheduler-connection-lost":
            return None  # the only worker that had the file was lost
        raise lost("no connection to the scheduler") from None
    except BaseException as error:
        if isinstance(error, ImportError | AttributeError) or "deserializ" in str(error):
            why = f"a worker cannot load transferbench ({reason(error.__cause__ or error)})"
            raise UserError(f"{why}; install the same version there.") from error
        raise lost(reason(error)) from error
    fault = "no record"
    match answer:
        case ("gone", ""):
            return None
        case ("refused", str(why)):
            raise UserError(shorten(why))
        case ("record", str(line)):
            with suppress(ValueError):
                record = Record.from_line(line)
                if not (fault := _difference(record, job, code, versions)):
                    return replace(record, finished=now())  # clocks of workers may differ
    remedy = "restart the workers with the same transferbench"
    raise UserError(f"{where}: the answer for {job.run} is {fault}; {remedy}.")


def _difference(record: Record, job: Job, code: str, versions: str) -> str:
    """Return what a record has that is not of the job, "" if it has nothing."""
    facts, done = job.built.facts, record.done
    measures = {measure.name for measure in MEASURES[facts.family]}
    found = {name for values in record.metrics.values() for name in values}
    checks = {
        "of another run": record.identity == job.run.identity,
        "of other code": record.code == code,
        "of other data": record.data == facts.key and same_values(record.values, facts.values),
        "of other versions": f"{record.versions}, ".startswith(f"{versions}, ")
        or not (done or record.versions),
        "of other domains": record.metrics.keys() <= {*facts.documents, ALL},
        "of other measures": found <= measures and (not done or all(record.metrics.values())),
        "without measures": not done or record.metrics,
        "without its curve": not done or record.has_curve(job.run),
        f"of a run that is {record.status}": record.status not in ("missing", "outdated"),
    }
    return next((fault for fault, holds in checks.items() if not holds), "")


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, which has a worker."""
    try:
        from distributed import Client, Security
    except ImportError:
        raise Unavailable(
            "the library distributed is not installed", install_hint("cluster")
        ) from None
    for name in logging.root.manager.loggerDict:  # what is lost is one line here
        if name.startswith(("distributed", "tornado", "asyncio")):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    is_encrypted = address.startswith(("tls://", "wss://"))
    if is_encrypted and not Security().get_connection_args("client")["ssl_context"]:  # type: ignore[no-untyped-call]
        remedy = "name them in Dask's configuration (distributed.comm.tls)"
        raise UserError(f"--cluster {address}: no certificates; {remedy}.")
    try:
        client: Any = Client(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        why, remedy = reason(error), "expected the address that `dask scheduler` prints"
        raise UserError(f"--cluster {address}: no scheduler answers ({why}); {remedy}.") from None
    try:
        if not _is_safe(address):
            remedy = "use tls:// unless the network is private"
            warnings.warn(f"--cluster {address}: anyone there can run code; {remedy}", stacklevel=1)
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError):
            why, remedy = f"no worker within {PATIENCE:g} s", f"start one: dask worker {address}"
            raise UserError(f"--cluster {address}: {why}; {remedy}.") from None
        yield client
    finally:
        with suppress(Exception):  # of a scheduler that is lost
            client.close(timeout=1)


def _is_safe(address: str) -> bool:
    """Return True if a scheduler is on this machine or uses TLS."""
    from distributed.comm import addressing

    if address.startswith(("tls://", "wss://")):
        return True
    address = addressing.resolve_address(address)
    host, own = addressing.get_address_host(address), addressing.get_local_address_for(address)
    return ipaddress.ip_address(host).is_loopback or own.endswith((f"/{host}", f"/[{host}]"))
