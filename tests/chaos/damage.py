"""Files damaged after they were written, and malicious archives."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import random
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from chaos.fuzzing import RECORD
from chaos.home import EXPERIMENT
from chaos.watched import run_in_process, within
from transferbench import experiments
from transferbench.data import fetch, tasks
from transferbench.data.tasks import Facts
from transferbench.errors import UserError
from transferbench.evidence import pages
from transferbench.runs.record import Store, runs_csv
from transferbench.settings import Settings

Outcome = tuple[bool, str]
TASK = "generated/small:documents=60,features=40,words=9"


def _flipped(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


#: A file, and a function that reads it after it was damaged. It returns "noticed" if the file was
#: refused or made anew, "harmless" if its content is read unchanged, otherwise "WRONG".
Kind = tuple[Path, Callable[[], str]]


def _task(folder: Path) -> Kind:
    given, named = Settings(folder, folder, offline=True), tasks.Task.named(TASK)
    before = tasks.facts(named, given)
    path = named.built_path(given)
    whole = path.read_bytes()

    def read() -> str:
        damaged = path.read_bytes()
        problem, truth = tasks.load(named, given)
        same = Facts.of(problem, truth) == before
        now = path.read_bytes()
        return "WRONG" if not same else "noticed" if now == whole != damaged else "harmless"

    return path, read


def _original(folder: Path) -> Kind:
    content = random.Random(1).randbytes(5000)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    file = fetch.File("chaos/original", len(content), digest, (), "made up")
    (folder / "mirror" / "chaos").mkdir(parents=True)
    (folder / "mirror" / file.name).write_bytes(content)
    given = Settings(folder, folder, (str(folder / "mirror"),), offline=True)
    path = fetch.get(file, given)

    def read() -> str:
        return "noticed" if fetch.get(file, given).read_bytes() == content else "WRONG"

    return path, read


def _record(folder: Path) -> Kind:
    store = Store(folder)
    path = store.write(RECORD)

    def read() -> str:
        record = store.find(RECORD.key)
        return "noticed" if record is None else "harmless" if record == RECORD else "WRONG"

    return path, read


def _runs(folder: Path) -> Kind:
    experiment = experiments.read(EXPERIMENT.replace("REPEATS", "3"), folder / "broken.yaml")
    rng = random.Random(0)
    lines: list[dict[str, str]] = []
    for run in experiment.runs():
        record = replace(RECORD, metrics={"one": {"accuracy": rng.random()}})
        lines += record.rows(run.row, run.column, run.x)
    path = folder / "runs.csv"
    path.write_text(runs_csv(lines))
    pages.write(experiment, folder)

    def read() -> str:
        try:
            return "noticed" if pages.outdated(experiment, folder) else "harmless"
        except UserError:
            return "noticed"

    return path, read


def _table(folder: Path) -> Kind:
    _, read = _runs(folder)
    return folder / "table.md", read


KINDS = {
    "a built task": _task,
    "an original": _original,
    "a record": _record,
    "runs.csv": _runs,
    "a table": _table,
}


def bits(kind: str) -> Callable[..., Outcome]:
    """Return the scenario that flips single bits of one kind of file."""

    def run(folder: Path, times: int = 500) -> Outcome:
        folder.mkdir(parents=True, exist_ok=True)
        path, read = KINDS[kind](folder)
        content, rng = path.read_bytes(), random.Random(0)
        outcomes: Counter[str] = Counter()
        for _ in range(times):
            path.write_bytes(_flipped(content, rng))
            outcomes[read()] += 1
        path.write_bytes(content[: len(content) // 2])
        cut = read()
        counts = ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items()))
        holds = not outcomes["WRONG"] and cut == "noticed"
        return holds, f"{times} flips: {counts}; cut in half: {cut}"

    run.__doc__ = f"one bit of {kind} flipped"
    return run


def _tar(*infos: tuple[tarfile.TarInfo, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for info, content in infos:
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def _named(name: str, kind: bytes = tarfile.REGTYPE, to: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def _zip(names: dict[str, bytes], mode: int = 0) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in names.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return packed.getvalue()


def _huge_tar(size: int) -> bytes:
    """Return a compressed archive of one file with `size` zeros."""
    info = _named("zeros")
    info.size = size
    piece = gzip.compress(bytes(1 << 26))
    return gzip.compress(info.tobuf()) + piece * (size // (1 << 26)) + gzip.compress(bytes(1024))


def cases() -> Iterator[tuple[str, bytes]]:
    """Yield archives that must be refused, each with what is wrong with it."""
    good = {"a/one.txt": b"one" * 500, "a/two.txt": b"two" * 500}
    tar = _tar(*((_named(n), c) for n, c in good.items()))
    packings = {"tar": tar, "tar.gz": gzip.compress(tar), "tar.bz2": bz2.compress(tar)}
    packings["zip"] = _zip(good)
    for kind, content in packings.items():
        for share in (0.02, 0.3, 0.6, 0.9, 0.97):
            if kind != "tar" or share < 0.3:  # the end of a plain tar is padding
                yield f"{kind} cut off", content[: int(len(content) * share)]
    for name, content in (("empty", b""), ("text", b"404 Not Found"), ("page", b"<html>" * 999)):
        yield f"{name}, no archive", content
    for name in ("../x", "a/../../x", "/tmp/chaos-x", "C:/x", "..\\x", "a\n", ""):
        yield f"path {name!r}", _tar((_named(name), b"x"))
        if name:
            yield f"path {name!r}", _zip({name: b"x"})
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        yield "link or device", _tar((_named("x", kind, "/etc/passwd"), b""), (_named("x"), b"x"))
    yield "link or device", _zip({"x": b"/etc/passwd"}, 0o120777)
    yield "bomb, one file of 6 GiB", _huge_tar(6 << 30)
    yield "bomb, 400 files of 16 MiB", _zip(dict.fromkeys(map(str, range(400)), bytes(1 << 24)))
    small = gzip.compress(b"".join(_named(f"{n}").tobuf() for n in range(20_000)))
    yield "bomb, headers without end", small * 500
    header = _named("x" * 99, tarfile.GNUTYPE_LONGNAME)
    header.size = 6 << 30
    yield (
        "bomb, a name of 6 GiB",
        gzip.compress(header.tobuf()) + gzip.compress(bytes(1 << 26)) * 96,
    )
    lies = bytearray(_zip({"x": bytes(1 << 20)}))
    lies[lies.rindex(b"PK\1\2") + 24 : lies.rindex(b"PK\1\2") + 28] = (99).to_bytes(4, "little")
    yield "zip that lies about a size", bytes(lies)


def _refuse(folder: Path, names: list[str]) -> tuple[int, float, list[str]]:
    """Fetch each case from a mirror; return refusals, longest time, and failures."""
    refused, slowest, wrong = 0, 0.0, []
    given = Settings(folder / "data", folder, (str(folder / "mirror"),), offline=True)
    for number, name in enumerate(names):
        file = fetch.File(f"cases/{number}", None, f"tree:{'0' * 64}", (), "made up")
        start = time.process_time()
        try:
            with within(folder):
                fetch.get(file, given)
            wrong.append(f"{name}: taken")
        except UserError:
            refused += 1
        except BaseException as error:
            wrong.append(f"{name}: {type(error).__name__} {error}")
        slowest = max(slowest, time.process_time() - start)
    return refused, slowest, wrong


def archives(folder: Path, times: int = 0) -> Outcome:
    """truncated and wrong archives, with `../`, links and bombs"""
    place, names = folder / "mirror" / "cases", []
    place.mkdir(parents=True)
    for name, content in cases():
        (place / str(len(names))).write_bytes(content)
        names.append(name)
    (refused, slowest, wrong), peak = run_in_process(_refuse, folder, names)
    summary = f"{len(names)} archives fetched from a mirror: {refused} of "
    summary += f"{len(names)} refused in one line, slowest {slowest:.1f} s, {peak:.0f} MiB more"
    return not wrong and peak < 1024, "; ".join([summary, *wrong[:3]])
