"""Join the runs of several folders of results, such as those of other machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from transferbench import experiments
from transferbench.errors import SeveralErrors, UserError
from transferbench.files import writing
from transferbench.runs import store
from transferbench.runs.record import Identity, Record

#: Files of runs in a folder of results.
FILES = (store.NAME, f"*/{store.NAME}", f"repeats-*/*/{store.NAME}")


@dataclass(frozen=True)
class Merged:
    """The result of a merge."""

    #: Files that were written, with their numbers of finished runs.
    files: dict[Path, int]
    #: The versions of Python and libraries that made the runs; more than one are worth a warning.
    versions: tuple[str, ...]
    #: Runs that were finished more than once with other measures; the newest record counts.
    different: int


#: The lines of each run, by the folder that they are from.
Parts: TypeAlias = dict[Path, dict[Identity, list[Record]]]


def merge(sources: Sequence[Path], target: Path) -> Merged:
    """Join the runs in folders of results into one; of equal code and data, the newest counts."""
    # `sources`: The folders; they stay as they are.
    # `target`: Runs that it has already are joined, too.
    by_file: dict[Path, Parts] = {}
    for source in dict.fromkeys(sources):
        if source.resolve() in target.resolve().parents:
            raise UserError(f"{target} is inside {source}; name a folder outside.")
        files = [path for pattern in FILES for path in sorted(source.glob(pattern))]
        if not files:
            raise UserError(f"{source}: no {store.NAME} in it; expected a folder of results.")
        for path in files:
            by_file.setdefault(path.relative_to(source), {})[source] = store.read_lines(path)
    _check(by_file, target)
    written: dict[Path, int] = {}
    with ExitStack() as stack:
        for name in sorted(by_file):
            stack.enter_context(store.writing(target / name))
        _check(by_file, target)  # again, as nobody else writes now
        for name, parts in by_file.items():
            # Each file takes its place at the end of the block.
            content, written[target / name] = _joined(parts, target)
            stack.enter_context(writing(target / name)).write_bytes(content)
            if copies := _copies(name, parts):
                path = target / name.parent / experiments.COPY
                stack.enter_context(writing(path)).write_bytes(copies[0].read_bytes())
    done = [record for parts in by_file.values() for _, record, _ in _finished(parts)]
    first: dict[Identity, Record] = {}
    different = {r.identity for r in done if first.setdefault(r.identity, r).metrics != r.metrics}
    return Merged(written, tuple(sorted({record.versions for record in done})), len(different))


def _finished(parts: Parts) -> Iterator[tuple[Path, Record, bool]]:
    """Yield each finished line with its folder, and whether it stands for its run there."""
    for folder, by_run in parts.items():
        for lines in by_run.values():
            yield from ((folder, line, line is lines[-1]) for line in lines if line.done)


def _check(by_file: dict[Path, Parts], target: Path) -> None:
    """Read what the target has; raise UserError unless its runs and the others belong together."""
    for name, parts in by_file.items():
        path = target / name
        if path.is_file():
            parts[target] = store.read_lines(path)
    if mistakes := [text for name, parts in by_file.items() for text in _mistakes(name, parts)]:
        raise SeveralErrors.combine([UserError(text) for text in mistakes])


def _joined(parts: Parts, target: Path) -> tuple[bytes, int]:
    """Return the text of a file, lines of the target first, and the number of finished runs."""
    found: dict[Identity, list[Record]] = {}
    for folder in sorted(parts, key=lambda folder: folder != target):
        for identity, lines in parts[folder].items():
            found.setdefault(identity, []).extend(lines)
    joined = [store.kept(lines) for lines in found.values()]
    text = "".join(f"{line.line}\n" for lines in joined for line in lines)
    return text.encode(), sum(lines[-1].done for lines in joined)


def _copies(name: Path, parts: Parts) -> list[Path]:
    """Return the files of the user's experiment beside its runs."""
    copies = [folder / name.parent / experiments.COPY for folder in parts if name.parent.name]
    return [path for path in copies if path.is_file()]


def _mistakes(name: Path, parts: Parts) -> Iterator[str]:
    """Yield a line for each task with different data, each model with different code."""
    # A finished line that stands for nothing is compared with those of the same run alone. Also
    # yield a line if the files of the experiment differ.
    for what, subject in (("data", "task"), ("code", "model")):
        seen: dict[str | Identity, tuple[Path, Record]] = {}
        wrong = set[str]()
        for source, record, stands in _finished(parts):
            shown = getattr(record, subject)
            for key in (record.identity, shown) if stands else (record.identity,):
                where, first = seen.setdefault(key, (source, record))
                equal = record.same_data(first)
                if what == "code":
                    equal = record.equal_code == first.equal_code
                if not equal and shown not in wrong:
                    wrong.add(shown)
                    both = f"{getattr(first, what)} in {where}, {getattr(record, what)} in {source}"
                    remedy = "run the older ones again, then merge"
                    yield f"{name.parent}: {shown} has different {what}: {both}; {remedy}."
    copies = _copies(name, parts)
    if len({copy.read_bytes() for copy in copies}) > 1:
        both = " and ".join(map(str, copies))
        yield f"{name.parent}: {both} differ; make them equal, then merge."
