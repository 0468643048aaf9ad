"""Files damaged after they were written, and archives that mean harm."""

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
from pathlib import Path

from chaos.fuzzing import _record_seed
from chaos.home import EXPERIMENT
from chaos.watched import apart, within
from transferbench.data import fetch, tasks
from transferbench.data.archive import members
from transferbench.errors import UserError
from transferbench.evidence import pages
from transferbench.experiments import experiment
from transferbench.runs import record
from transferbench.settings import Settings

Outcome = tuple[bool, str]
TASK = "generated/small:documents=60,features=40,words=9"


def _flipped(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


# Each takes a folder and gives a file, and what to do with it once it is damaged: "noticed" where
# it was refused or made anew, "harmless" where what is read is the same, else it is "WRONG".
Kind = tuple[Path, Callable[[], str]]


def _task(folder: Path) -> Kind:
    given, named = Settings(folder, folder, offline=True), tasks.Task.named(TASK)
    before = tasks.facts(*tasks.load(named, given))
    path = named.cache(given)
    whole = path.read_bytes()

    def read() -> str:
        damaged = path.read_bytes()
        problem, truth = tasks.load(named, given)
        same = tasks.facts(problem, truth) == before
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
    path = fetch.get(file, given, notice=lambda line: None)

    def read() -> str:
        return "noticed" if fetch.get(file, given).read_bytes() == content else "WRONG"

    return path, read


def _record(folder: Path) -> Kind:
    store = record.Store(folder)
    made = _record_seed() | {"metrics": {"one": {"accuracy": 0.8125, "nmi": 0.53125}}}
    path = store.write(made)
    before = store.find(made["key"])

    def read() -> str:
        found = store.find(made["key"])
        same = found and all(found.get(name) == before[name] for name in record if name != "sha256")
        return "noticed" if found is None else "harmless" if same else "WRONG"

    return path, read


def _runs(folder: Path) -> Kind:
    made = experiment.read(EXPERIMENT.replace("REPEATS", "3"), folder / "broken.yaml")
    rng = random.Random(0)
    told = [
        (*run, _record_seed() | {"metrics": {"one": {"accuracy": rng.random()}}})
        for run in made.runs()
    ]
    path = folder / "runs.csv"
    path.write_text(record.runs_csv(told))
    pages.write(made, folder)

    def read() -> str:
        try:
            return "noticed" if pages.outdated(made, folder) else "harmless"
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
    """One kind of file as a line of the table."""

    def run(folder: Path, times: int = 500) -> Outcome:
        folder.mkdir(parents=True, exist_ok=True)
        path, read = KINDS[kind](folder)
        content, rng = path.read_bytes(), random.Random(0)
        found: Counter[str] = Counter()
        for _ in range(times):
            path.write_bytes(_flipped(content, rng))
            found[read()] += 1
        path.write_bytes(content[: len(content) // 2])
        cut = read()
        said = ", ".join(f"{n} {what}" for what, n in sorted(found.items()))
        return not found["WRONG"] and cut == "noticed", f"{times} flips: {said}; cut in half: {cut}"

    run.__doc__ = f"one bit of {kind} flipped"
    return run


def _tar(*infos: tuple[tarfile.TarInfo, bytes], mode: str = "w") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
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
    """A header that declares `size` bytes, and as many zeros, compressed piece by piece."""
    info = _named("zeros")
    info.size = size
    piece = gzip.compress(bytes(1 << 26))
    return gzip.compress(info.tobuf()) + piece * (size // (1 << 26)) + gzip.compress(bytes(1024))


def cases() -> Iterator[tuple[str, bytes]]:
    """Archives that must be refused, by what is wrong with them."""
    good = {"a/one.txt": b"one" * 500, "a/two.txt": b"two" * 500}
    tar = _tar(*((_named(n), c) for n, c in good.items()))
    packings = {"tar": tar, "tar.gz": gzip.compress(tar), "tar.bz2": bz2.compress(tar)}
    packings["zip"] = _zip(good)
    for kind, content in packings.items():
        for share in (0.02, 0.3, 0.6, 0.9, 0.97):
            if kind != "tar" or share < 0.3:  # what is cut from a plain tar's end is padding
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
    """Each case read by itself, and offered by a mirror: refusals, the longest, what was none."""
    refused, slowest, wrong = 0, 0.0, []
    given = Settings(folder / "data", folder, (str(folder / "mirror"),), offline=True)
    for number, name in enumerate(names):
        file = fetch.File(f"cases/{number}", None, f"tree:{'0' * 64}", (), "made up")
        path = folder / "mirror" / file.name
        for read in (lambda p=path: list(members(p)), lambda f=file: fetch.get(f, given)):
            start = time.process_time()
            try:
                with within(folder):
                    read()
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
    (refused, slowest, wrong), peak = apart(_refuse, folder, names)
    said = f"{len(names)} archives read and offered by a mirror: {refused} of {2 * len(names)} "
    said += f"refused in one line, slowest {slowest:.1f} s, {peak:.0f} MiB more"
    return not wrong and peak < 1024, "; ".join([said, *wrong[:3]])
