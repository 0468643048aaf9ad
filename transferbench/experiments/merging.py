"""Join the runs of several folders of results, such as those of other machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from transferbench import experiments
from transferbench.errors import SeveralErrors, UserError
from transferbench.files import exclusive, write_text, writing
from transferbench.runs import store
from transferbench.runs.record import Identity, Record

#: Files of runs in a folder of results.
FILES = (store.NAME, f"*/{store.NAME}", f"repeats-*/*/{store.NAME}")


@dataclass(frozen=True)
class Merged:
    """The result of a merge.

    Parameters
    ----------
    files
        Files that were written, with their numbers of finished runs.
    versions
        The versions of Python and libraries that made the runs; more than one are worth a warning.
    different
        Runs that were finished more than once with other measures; the newest record counts.
    """

    files: dict[Path, int]
    versions: tuple[str, ...]
    different: int


#: Records by run, by the folder that they are from.
Parts: TypeAlias = dict[Path, dict[Identity, Record]]


def merge(sources: Sequence[Path], target: Path) -> Merged:
    """Join the runs in folders of results into one; the newest finished record of a run counts.

    Parameters
    ----------
    sources
        The folders; they stay as they are.
    target
        The folder to write. Runs that it has already are joined, too.

    Raises
    ------
    UserError
        If a folder has no runs, a file is damaged, or runs of one experiment are of different data
        or code; nothing is written then.
    """
    by_file: dict[Path, Parts] = {}
    for source in dict.fromkeys(sources):
        if (
            target.resolve().is_relative_to(source.resolve())
            and target.resolve() != source.resolve()
        ):
            raise UserError(f"{target} is inside {source}; name a folder outside.")
        files = [path for pattern in FILES for path in sorted(source.glob(pattern))]
        if not files:
            raise UserError(f"{source}: no {store.NAME} in it; expected a folder of results.")
        for path in files:
            by_file.setdefault(path.relative_to(source), {})[source] = store.read(path)
    _check(by_file, target)
    with ExitStack() as locks:
        for name in sorted(by_file):
            locks.enter_context(exclusive((target / name).with_name(store.LOCK), lambda: None))
        _check(by_file, target)  # again, as nobody else writes now
        written = {target / name: _write(target, name, parts) for name, parts in by_file.items()}
    folders = [records for parts in by_file.values() for records in parts.values()]
    done = [record for records in folders for record in records.values() if record.done]
    first: dict[Identity, Record] = {}
    different = {r.identity for r in done if first.setdefault(r.identity, r).metrics != r.metrics}
    return Merged(written, tuple(sorted({record.versions for record in done})), len(different))


def _check(by_file: dict[Path, Parts], target: Path) -> None:
    """Read what the target has, and check that its runs and the others belong together.

    Raises
    ------
    UserError
        For the first mistakes.
    """
    for name, parts in by_file.items():
        path = target / name
        if path.is_file():
            parts[target] = store.read(path)
    if mistakes := [text for name, parts in by_file.items() for text in _mistakes(name, parts)]:
        raise SeveralErrors.combine([UserError(text) for text in mistakes])


def _write(target: Path, name: Path, parts: Parts) -> int:
    """Write the records of a file, those of the target first; return how many are finished."""
    found: dict[Identity, list[Record]] = {}
    for folder in sorted(parts, key=lambda folder: folder != target):
        for identity, record in parts[folder].items():
            found.setdefault(identity, []).append(record)
    records = [store.latest(of_run) for of_run in found.values()]
    write_text(target / name, "".join(f"{record.line}\n" for record in records))
    copies = [folder / name.parent / experiments.COPY for folder in parts]
    if name.parent.name and (copy := next(filter(Path.is_file, copies), None)):
        content = copy.read_bytes()
        with writing(target / name.parent / experiments.COPY) as temporary:
            temporary.write_bytes(content)
    return sum(record.done for record in records)


def _mistakes(name: Path, parts: Parts) -> Iterator[str]:
    """Yield a line for each task with different data, and each model with different code.

    Also for an experiment whose files differ.
    """
    for what, subject in (("data", "task"), ("code", "model")):
        seen: dict[str, tuple[Record, Path]] = {}
        wrong = set[str]()
        for source, records in parts.items():
            for record in (record for record in records.values() if record.done):
                key = getattr(record, subject)
                first, where = seen.setdefault(key, (record, source))
                if what == "data":
                    equal = record.same_data(first)
                else:
                    equal = record.equal_code == first.equal_code
                if not equal and key not in wrong:
                    wrong.add(key)
                    both = f"{getattr(first, what)} in {where}, {getattr(record, what)} in {source}"
                    remedy = "run the older ones again, then merge"
                    yield f"{name.parent}: {key} has different {what}: {both}; {remedy}."
    copies = [source / name.parent / experiments.COPY for source in parts]
    known = [copy for copy in copies if copy.is_file()]
    if len({copy.read_bytes() for copy in known}) > 1:
        yield f"{name.parent}: {' and '.join(map(str, known))} differ; make them equal, then merge."
