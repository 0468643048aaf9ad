"""Runs on the workers of a scheduler of Dask, which are killed, stopped, or lie."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import pytest

from transferbench import tasks
from transferbench.errors import Failure, UserError
from transferbench.runs import cluster, pool, runner, store
from transferbench.runs.record import Job, Record
from transferbench.runs.worker import stated_versions

EXPERIMENT = """\
title: Two methods on made-up documents
paper: {{title: none, authors: none, venue: none, place: none}}
metric: accuracy
repeats: {repeats}
rows:
  one: {{task: "generated/clusters:documents=60"}}
  two: {{task: "generated/clusters:documents=80"}}
columns: {{{column}}}
published: {{one: {{a: 50.0}}}}
tolerance: {{value: 1.0, reason: none}}
"""
QUICK = "a: {model: kmeans}"
SLOW = """\
import time
from pathlib import Path
from transferbench.problem import Fit

FAMILY = "clustering"


def fit(problem, *, seconds: float = 1.0, seed: int):
    started = Path(__file__).with_name("started")
    started.mkdir(exist_ok=True)
    (started / f"{len(problem.domains[0].Y)}-{seed}-{time.time_ns()}").touch()
    time.sleep(seconds)
    return Fit(tuple(d.Y + 0.5 for d in problem.domains), columns="clusters")
"""


def same(records: dict) -> dict:
    """Records by run without what differs from machine to machine, and from time to time."""
    costs = {"seconds": None, "reused_seconds": 0.0, "peak_mib": None, "finished": "", "output": ""}
    return {identity: replace(record, **costs).line for identity, record in records.items()}


@pytest.fixture
def quick(tmp_path) -> Path:
    path = tmp_path / "quick.yaml"
    path.write_text(EXPERIMENT.format(repeats=2, column=QUICK))
    return path


@pytest.fixture
def elsewhere(home, tmp_path, monkeypatch) -> Path:
    """The folder of data of a worker in this process."""
    path = tmp_path / "elsewhere"
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(path))
    return path


@pytest.fixture
def scheduler(elsewhere):
    """A scheduler and a worker in this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp",
        host="127.0.0.1", dashboard_address=":0",
    ) as here:  # fmt: skip
        yield here.scheduler_address


def test_a_cluster_gives_the_lines_of_this_machine(call, home, quick, scheduler, elsewhere):
    assert call("reproduce", str(quick))[0] == 0
    here = same(store.read(home.results / "quick" / store.NAME))
    code, out, err = call("reproduce", str(quick), "--rerun", "all", "--cluster", scheduler)
    assert code == 0, err
    assert "4 of 4 runs finished" in out
    assert "warning" not in err, err
    assert same(store.read(home.results / "quick" / store.NAME)) == here
    sent = list((elsewhere / "built" / "generated").glob("*.task"))
    assert len(sent) == 2, "each task is sent"
    assert (elsewhere / "artefacts").is_dir(), "runs of a worker share artefacts"


def test_progress_comes_from_the_worker(scheduler, job):
    seen = []
    ((run, record),) = pool.run_jobs(
        [job], partial(cluster.engine, scheduler), lambda *it: seen.append(it)
    )
    assert (run, record.status) == (job.run, "done")
    assert (run, 0, 1) in seen


def test_a_model_that_refuses_has_failed_runs(call, home, scheduler, tmp_path):
    (tmp_path / "bad.py").write_text(
        SLOW.replace("    time.sleep(", "    raise ValueError('no')  # ")
    )
    column = f"a: {{model: {tmp_path / 'bad.py'}, random: true}}"
    (tmp_path / "bad.yaml").write_text(EXPERIMENT.format(repeats=1, column=column))
    code, _, err = call("reproduce", str(tmp_path / "bad.yaml"), "--cluster", scheduler)
    assert code == 1
    assert "failed: " in err
    records = store.read(home.results / "bad" / store.NAME).values()
    assert {record.status for record in records} == {"failed"}
    assert all("ValueError: no" in record.traceback for record in records)


@pytest.fixture
def job(home, elsewhere) -> Job:
    (run,) = runner.plan_runs("generated/clusters:documents=60", "kmeans", {}, [0])
    return Job(run, tasks.ensure_built(run.task, home))


@pytest.fixture
def perform(scheduler, job):
    """Call `cluster.perform` on a worker, with the caller's arguments but those that are given."""
    from distributed import Client

    def perform(run=job.run, code=job.run.code, versions=stated_versions()):
        with Client(scheduler, set_as_default=False) as client:
            file = client.scatter(job.built.path.read_bytes())
            arguments = replace(job, run=run), code, versions, "", file
            return client.submit(cluster.perform, *arguments).result(timeout=60)

    return perform


def test_a_worker_that_would_make_something_else_refuses_in_one_line(perform, job, tmp_path):
    missing = replace(job.run, model=str(tmp_path / "missing.py"))
    for text, given in {
        "it has numpy": {"versions": "numpy 0.1"},
        "the caller numpy 0.1": {"versions": "numpy 0.1"},
        "code of kmeans is not the caller's": {"code": "other"},
        "there is no file": {"run": missing, "code": ""},
    }.items():
        kind, why = perform(**given)
        assert kind == "refused"
        assert text in why
        assert why.startswith("worker tcp://127.0.0.1:")
        assert "\n" not in why


def test_the_file_of_a_worker_is_checked_and_mended(perform, job, elsewhere, home):
    path = elsewhere / "built" / job.built.name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    assert perform()[0] == "record"
    assert path.read_bytes() == job.built.path.read_bytes()
    other = tasks.load(tasks.Task.parse("generated/clusters:documents=70"), home)
    tasks.write(path, *other, name=job.built.name)
    kind, why = perform()
    assert kind == "refused"
    assert f"{path} is of other data than the caller's; remove it" in why


def result(answer: object, job: Job) -> Record | None:
    """What the caller makes of an answer, or of an error, of a worker."""

    async def remote() -> object:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    where = "tcp://head:8786"
    return asyncio.run(cluster._record(remote(), job, job.run.code, stated_versions(), where))


@pytest.fixture
def record(job) -> Record:
    measures = {"accuracy": 0.5, "nmi": 0.1, "explained": 0.2}
    domains = job.built.facts.documents
    return replace(
        job.record("done"), metrics=dict.fromkeys(domains, measures), documents=domains,
        versions=stated_versions(), seconds=1.0, finished="2099-01-01T00:00:00Z",
    )  # fmt: skip


def test_the_answer_of_a_run_is_taken_with_the_time_of_the_caller(record, job):
    pytest.importorskip("distributed")
    taken = result(("record", record.line), job)
    assert replace(taken, finished=record.finished) == record
    assert taken.finished < "2099"
    on_gpu = replace(record, versions=f"{record.versions}, Some GPU")
    assert result(("record", on_gpu.line), job).versions == on_gpu.versions
    killed = job.record("timeout", "exceeded its limit of 1 s")
    assert result(("record", killed.line), job).status == "timeout"
    assert result(("gone", ""), job) is None


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"seed": 1}, "of another run"),
        ({"task": "generated/clusters:documents=61"}, "of another run"),
        ({"model": "ncut"}, "of another run"),
        ({"params": {"n_init": 3}}, "of another run"),
        ({"code": "0" * 16}, "of other code"),
        ({"data": "0" * 16}, "of other data"),
        ({"values": (1.0,)}, "of other data"),
        ({"versions": "python 3.0"}, "of other versions"),
        ({"versions": ""}, "of other versions"),
        ({"metrics": {"zz": {"accuracy": 0.9}}, "documents": {"zz": 10}}, "of other domains"),
        ({"metrics": {}, "documents": {}}, "without measures"),
        ({"status": "missing"}, "that is missing"),
        ({"status": "outdated"}, "that is outdated"),
        ({"status": "finished"}, "no record"),
        ({"seconds": -5.0}, "no record"),
        ({"seconds": float("nan")}, "no record"),
        ({"finished": "yesterday"}, "no record"),
        ({"traceback": "x" * 65 * 2**20}, "no record"),
    ],
)
def test_an_answer_for_something_else_is_refused_in_one_line(record, job, changes, fault):
    pytest.importorskip("distributed")
    line = json.dumps(asdict(replace(record, **changes)))
    with pytest.raises(UserError) as error:
        result(("record", line), job)
    assert str(error.value).startswith("tcp://head:8786: the answer for kmeans on generated/")
    assert fault in str(error.value)
    assert "\n" not in str(error.value)


def test_an_answer_without_measures_of_a_domain_or_with_others_is_refused(record, job):
    pytest.importorskip("distributed")
    for measures in ({}, {"f1": 0.5}):
        changed = replace(record, metrics=dict.fromkeys(record.metrics, measures))
        with pytest.raises(UserError, match="of other measures"):
            result(("record", changed.line), job)


def test_an_answer_without_the_curve_is_refused(record, job):
    pytest.importorskip("distributed")
    with pytest.raises(UserError, match="without its curve"):
        result(("record", record.line), replace(job, run=replace(job.run, curve=True)))


@pytest.mark.parametrize(
    "answer", [None, 7, {}, "", ("a", "b", "c"), ("record", 7), ("record", "{}"), ("else", ""), []]
)
def test_rubbish_is_refused_in_one_line(job, answer):
    pytest.importorskip("distributed")
    with pytest.raises(UserError, match=r"tcp://head:8786: the answer .* is no record; restart"):
        result(answer, job)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (SystemExit(0), Failure, "the executor was lost"),
        (TypeError("x\ny"), Failure, "the executor was lost"),
        (OSError("closed"), Failure, "finished runs are saved"),
        (ModuleNotFoundError("transferbench"), UserError, "install the same version there"),
        (AttributeError("perform"), UserError, "install the same version there"),
    ],
)
def test_an_error_of_a_worker_is_one_line(job, error, kind, text):
    pytest.importorskip("distributed")
    with pytest.raises(kind) as raised:
        result(error, job)
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_future_that_exits_fails_the_batch(job):
    @contextmanager
    def engine(inbox):
        future = Future()
        future.set_exception(SystemExit(0))
        yield lambda job: future

    with pytest.raises(Failure, match="finished runs are saved"):
        list(pool.run_jobs([job], engine, lambda *progress: None))


@pytest.mark.parametrize("where", ["head:8786", "slurm.py"])
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_what_is_no_address_is_refused_before_a_task_is_built(call, home, quick, where, dry):
    code, _, err = call("reproduce", str(quick), "--cluster", where, *dry)
    assert code == 2
    assert not list(home.data.rglob("*.task"))
    *_, last = err.splitlines()
    for text in (where, "tcp://head:8786", "dask-jobqueue", "dask-mpi", "--shard", "merge"):
        assert text in last


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("tcp://127.0.0.1:8786", True),
        ("tcp://127.0.0.2:8786", True),
        ("tcp://localhost:8786", True),
        ("tcp://[::1]:8786", True),
        ("tcp://192.0.2.7:8786", False),
        ("ws://192.0.2.7:8786", False),
        ("tls://192.0.2.7:8786", True),
    ],
)
def test_only_another_machine_without_encryption_is_unsafe(address, expected):
    pytest.importorskip("distributed")
    assert cluster._is_safe(address) == expected


def test_an_unsafe_address_is_one_warning(call, quick, scheduler, monkeypatch):
    monkeypatch.setattr(cluster, "_is_safe", lambda address: False)
    code, _, err = call("reproduce", str(quick), "--cluster", scheduler)
    assert code == 0
    (line,) = (line for line in err.splitlines() if line.startswith("warning"))
    assert scheduler in line
    assert "use tls://" in line


class Dask:
    """A scheduler and workers, each with a folder of data of its own."""

    def __init__(self, folder: Path, workers: int = 2, protocol: str = "tcp") -> None:
        folder.mkdir()
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.address = f"{protocol}://127.0.0.1:{port}"
        self.scheduler = self._start(
            "scheduler", "--host", f"{protocol}://127.0.0.1", "--port", port, "--no-dashboard"
        )
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(workers):
            self.add_worker()

    def add_worker(self) -> None:
        # Without a nanny, which would start a killed worker again.
        worker = self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
            data=self.folder / f"worker-{len(self.workers)}",
        )  # fmt: skip
        self.workers.append(worker)

    def _start(self, what: str, *arguments: str, data: Path | None = None):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments],
                cwd=self.folder, stdout=log, stderr=log,
                env=kept | {"TRANSFERBENCH_DATA": str(data), "OMP_NUM_THREADS": "1"},
            )  # fmt: skip

    def close(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


@pytest.fixture
def start_dask(tmp_path):
    pytest.importorskip("distributed")
    started = []

    def start(**options) -> Dask:
        started.append(Dask(tmp_path / "cluster", **options))
        return started[-1]

    yield start
    for dask in started:
        dask.close()


class Caller:
    """A reproduction of runs that sleep, on a cluster."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        (folder / "slow.py").write_text(SLOW)
        model = folder / "slow.py"
        column = f"a: {{model: {model}, params: {{seconds: {seconds}}}, random: true}}"
        (folder / "slow.yaml").write_text(EXPERIMENT.format(repeats=4, column=column))

    def start(self, *options: str) -> subprocess.Popen[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
        folders = ["--offline", "--data", "data", "--results", "results"]
        command = [*folders, "reproduce", "slow.yaml", "--rerun", "missing", *options]
        return subprocess.Popen(
            [sys.executable, "-m", "transferbench", *command],
            cwd=self.folder, env=kept, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    @property
    def lines(self) -> list[Record]:
        path = self.folder / "results" / "slow" / store.NAME
        return list(store.read(path).values()) if path.is_file() else []

    def wait_for(self, what, seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.1)

    @property
    def started(self) -> int:
        return len(list((self.folder / "started").glob("*")))


def runs_of_workers(folder: Path) -> list[int]:
    """Processes of runs whose worker has its data below a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (path / "cmdline").read_bytes()
            environment = (path / "environ").read_bytes()
            threads = list((path / "task").glob("*"))
            if b"forkserver" in command and str(folder / "cluster").encode() in environment:
                children = "".join(t.joinpath("children").read_text() for t in threads).split()
                found += map(int, children)
    return found


@pytest.mark.slow
def test_many_quick_runs_on_two_workers_give_the_lines_of_this_machine(
    call, home, start_dask, tmp_path
):
    path = tmp_path / "many.yaml"
    path.write_text(EXPERIMENT.format(repeats=20, column="a: {model: kmeans, params: {n_init: 1}}"))
    assert call("reproduce", str(path), "--jobs", "2")[0] == 0
    here = same(store.read(home.results / "many" / store.NAME))
    dask = start_dask()
    code, out, err = call("reproduce", str(path), "--rerun", "all", "--cluster", dask.address)
    assert code == 0, err
    assert "40 of 40 runs finished" in out
    assert same(store.read(home.results / "many" / store.NAME)) == here
    for number in (0, 1):
        assert (tmp_path / "cluster" / f"worker-{number}" / "built").is_dir(), "both have runs"


@pytest.mark.slow
def test_a_killed_worker_loses_no_run(start_dask, tmp_path):
    dask, caller = start_dask(), Caller(tmp_path, 1.5)
    process = caller.start("--cluster", dask.address)
    caller.wait_for(lambda: caller.started >= 3)
    dask.workers[0].kill()
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, out + err
    assert "8 of 8 runs finished" in out
    assert len(caller.lines) == 8
    text = (tmp_path / "results" / "slow" / store.NAME).read_text()
    assert len(text.splitlines()) == 8, "each run has one line"
    (line,) = (line for line in err.splitlines() if line.startswith("warning"))
    assert re.search(r"worker tcp://127\.0\.0\.1:\d+ lost, \d runs? go to others$", line)


@pytest.mark.slow
def test_the_only_worker_with_the_file_may_be_lost(start_dask, tmp_path):
    dask, caller = start_dask(workers=1), Caller(tmp_path, 1.0)
    process = caller.start("--cluster", dask.address)
    for lost in range(2):
        before = len(caller.lines)
        caller.wait_for(lambda before=before: len(caller.lines) > before)
        dask.workers[lost].kill()
        dask.workers[lost].wait()
        dask.add_worker()
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, out + err
    assert "8 of 8 runs finished" in out
    assert {record.status for record in caller.lines} == {"done"}
    assert err.count(" go to others") == 2


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_scheduler_is_one_line_and_finished_runs_stay(start_dask, tmp_path, how):
    dask, caller = start_dask(), Caller(tmp_path, 2.0)
    process = caller.start("--cluster", dask.address)
    caller.wait_for(lambda: len(caller.lines) >= 2)
    dask.scheduler.send_signal(how)
    _, err = process.communicate(timeout=180)
    assert process.returncode == 1
    *_, last = err.splitlines()
    assert last.startswith("Error: ")
    assert "finished runs are saved, rerun the command" in last
    assert "Traceback" not in err, err
    kept = len(caller.lines)
    assert 2 <= kept < 8
    caller.wait_for(lambda: not runs_of_workers(tmp_path), 60)
    before = caller.started
    process = caller.start()  # goes on without the cluster
    assert process.wait(timeout=180) == 0
    assert len(caller.lines) == 8
    assert caller.started - before == 8 - kept


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "how"),
    [
        ("caller", signal.SIGINT),
        ("caller", signal.SIGKILL),
        ("caller", signal.SIGSTOP),
        ("scheduler", signal.SIGKILL),
        ("scheduler", signal.SIGSTOP),
    ],
)
def test_runs_end_with_the_caller_or_the_scheduler(start_dask, tmp_path, who, how):
    psutil = pytest.importorskip("psutil")
    dask, caller = start_dask(), Caller(tmp_path, 600)
    process = caller.start("--cluster", dask.address)
    caller.wait_for(lambda: caller.started >= 2)
    running = runs_of_workers(tmp_path)
    assert len(running) == 2
    connections = psutil.Process(process.pid).net_connections("inet")
    assert connections
    assert not [each for each in connections if each.status == psutil.CONN_LISTEN]
    (dask.scheduler if who == "scheduler" else process).send_signal(how)
    caller.wait_for(lambda: not set(running) & set(runs_of_workers(tmp_path)), 60)
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_a_file_for_a_scheduler_that_is_stopped_is_not_waited_for(start_dask, job, monkeypatch):
    monkeypatch.setattr(cluster, "PERIOD", 0.5)
    monkeypatch.setattr(cluster, "SILENCE", 2.0)
    dask = start_dask(workers=1)
    with cluster.engine(dask.address, SimpleQueue()) as submit:
        dask.scheduler.send_signal(signal.SIGSTOP)
        with pytest.raises((OSError, RuntimeError)):
            submit(job)


@pytest.mark.slow
def test_a_caller_that_was_stopped_goes_on(start_dask, tmp_path):
    dask, caller = start_dask(), Caller(tmp_path, 2.0)
    process = caller.start("--cluster", dask.address)
    caller.wait_for(lambda: len(caller.lines) >= 2)
    process.send_signal(signal.SIGSTOP)
    time.sleep(50)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, out + err
    assert "8 of 8 runs finished" in out


@pytest.mark.slow
def test_certificates_are_those_of_the_configuration_of_dask(start_dask, tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test"]
    try:
        subprocess.run(
            [*command, "-keyout", key, "-out", certificate], check=True, capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("openssl makes the certificates")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", str(certificate))
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        for name, path in {"KEY": key, "CERT": certificate}.items():
            monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{role}__{name}", str(path))
    dask, caller = start_dask(protocol="tls"), Caller(tmp_path, 0.1)
    process = caller.start("--cluster", dask.address)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, out + err
    assert "8 of 8 runs finished" in out
    for name in [name for name in os.environ if name.startswith("DASK_")]:
        monkeypatch.delenv(name)
    process = caller.start("--cluster", dask.address, "--rerun", "all")
    _, err = process.communicate(timeout=180)
    assert process.returncode == 2, "without a certificate, nobody is let in"
    assert "no certificates; name them" in err.splitlines()[-1]


@pytest.mark.slow
def test_no_scheduler_and_no_worker_are_one_line(call, quick, start_dask, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "PATIENCE", 3.0)
    code, _, err = call("reproduce", str(quick), "--cluster", "tcp://127.0.0.1:9")
    assert code == 2
    assert "no scheduler answers" in err.splitlines()[-1]
    dask = start_dask(workers=0)
    monkeypatch.setattr(cluster, "PATIENCE", 20.0)
    code, _, err = call("reproduce", str(quick), "--cluster", dask.address)
    assert code == 2
    assert f"start one: dask worker {dask.address}" in err.splitlines()[-1]
