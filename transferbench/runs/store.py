"""Runs on disk: a line of runs.jsonl is the `Record` of a run, as JSON.

Each experiment has a file in its folder of results; single runs are in the file at the top. Lines
are appended under a lock and synced, so processes that share a folder lose nothing, and a finished
run survives whatever kills its process. `pandas.read_json(path, lines=True)` reads a file.
"""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO

from transferbench.errors import UserError
from transferbench.files import exclusive, file_mode, open_regular, reporting, write_text
from transferbench.messages import MAX_REASON
from transferbench.runs.record import MAX_LINE, Identity, Record, Run, newest_stated

NAME = "runs.jsonl"
#: Name of the lock of a file of runs.
LOCK = ".runs.lock"


def read(path: Path) -> dict[Identity, Record]:
    """Return the records of a file, of each run the one that stands for it, see `kept`."""
    # A torn last line, of a process that was killed, is left out with a warning.
    return {run: lines[-1] for run, lines in read_lines(path).items()}


def read_lines(path: Path, *, repair: bool = False) -> dict[Identity, list[Record]]:
    """Return the lines of each run that are kept; with `repair`, damaged lines are left out."""
    found: dict[Identity, list[Record]] = {}
    try:
        with open_regular(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), start=1):
                try:
                    record = Record.from_line(line.removesuffix(b"\n"))
                    found.setdefault(record.identity, []).append(record)
                except ValueError as error:
                    message = f"{path}:{number}: not a run ({_why(error)})"
                    if not line.endswith(b"\n") and len(line) <= MAX_LINE:
                        message = f"{path}: the last line is incomplete"
                    elif not repair:
                        raise UserError(f"{message}; `reproduce` makes it again.") from None
                    warnings.warn(f"{message} and left out", stacklevel=2)
    except OSError as error:
        remedy = "run `reproduce`, or name the results of a clone by --results"
        raise UserError(f"{path}: cannot be read ({error.strerror}); {remedy}.") from None
    return {run: kept(lines) for run, lines in found.items()}


def _why(error: ValueError) -> str:
    """Return why a line is no record, of several reasons the first."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    place, message = ".".join(map(str, first["loc"])), first["msg"]
    return f"{place} {message.replace('Input should be', 'expected')}".strip()[:MAX_REASON]


def _mend_end(file: IO[bytes]) -> None:
    """End the last line of a file if it does not end, or remove it if it is no record."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    if file.read() in (b"", b"\n"):
        return
    file.seek(0)
    last = file.read().rpartition(b"\n")[2]
    try:
        Record.from_line(last)
        file.write(b"\n")
    except ValueError:
        file.truncate(size - len(last))


def latest(records: Sequence[Record]) -> Record:
    """Return the record that stands for a run."""
    # The newest record, by its time, says which data and code the run has now. Of the records of
    # these, the newest finished one stands for the run, one with a curve before others, or else the
    # newest: a run that was out of time does not undo a finished one of the same data and code, but
    # no result of other data or code stays in a table when the run fails.
    # The lines of a file are not always in order of time: a merge of two branches joins them.
    if len(records) == 1:
        return records[0]
    by_time = sorted(records, key=lambda record: record.finished)
    code = by_time[-1].equal_code
    data = newest_stated(by_time)
    alike = [
        record
        for record in by_time
        if record.equal_code == code and all(map(record.same_data, data))
    ]
    finished = [record for record in alike if record.done]
    with_curve = [record for record in finished if record.curve is not None]
    return (with_curve or finished or alike)[-1]


def kept(records: Sequence[Record]) -> list[Record]:
    """Return the lines of one run that its file keeps; the last one stands for the run."""
    # An unfinished line never displaces a finished one: the newest finished one stays before it,
    # although it stands for nothing if it is of other data or code.
    standing = latest(records)
    finished = [record for record in records if record.done]
    return [standing] if standing.done or not finished else [latest(finished), standing]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Let no other process write a file of runs."""
    with exclusive(path.with_name(LOCK), lambda: None), reporting(path):
        file_mode(path)
        yield


class Store:
    """The runs in a folder of results."""

    # `single`: If true, read the file of single runs alone; else all files.

    def __init__(
        self, results: Path, *, single: bool = False, committed: Iterable[Path] = ()
    ) -> None:
        self.results = results
        self.single = results / NAME
        folders = () if single else (results, *results.glob("repeats-*"))
        others = [path for folder in folders for path in sorted(folder.glob(f"*/{NAME}"))]
        self._committed = list(committed)
        self._paths = dict.fromkeys([self.single, *others, *self._committed])
        self._read_at: dict[Path, tuple[int, int, int] | None] = {}

    @cached_property
    def files(self) -> dict[Path, dict[Identity, list[Record]]]:
        """The lines of each run by file, see `kept`."""
        return {path: self._read(path) for path in self._paths if path.is_file()}

    @property
    def records(self) -> Iterator[Record]:
        """The record that stands for each run, of every file."""
        return (lines[-1] for by_run in self.files.values() for lines in by_run.values())

    def is_published(self, run: Run) -> bool:
        """Return True if a committed file has a finished record of the run."""
        return any(record.done for record in self._standing(run, self._committed))

    def get(self, run: Run, path: Path | None = None) -> Record | None:
        """Return the record that stands for a run: of this file, or a finished one of any file."""
        # Of equal data and code that of this file comes first, if it has the curve that the run
        # asks for: others may lack the decisions that this file keeps.
        own = next(iter(self._standing(run, [path or self.single])), None)
        known = [record for record in self._standing(run) if record.done]
        known += [own] if own and not own.done else []
        if not known:
            return None
        last = latest(known)
        suits = own and own.done and own.has_curve(run) and own.same_code_and_data(last)
        return own if suits else last

    def _standing(self, run: Run, paths: Iterable[Path] | None = None) -> list[Record]:
        """Return the record that stands for a run in each of these files, by default in all."""
        paths = self.files if paths is None else paths
        found = (self.files.get(path, {}).get(run.identity) for path in paths)
        return [lines[-1] for lines in found if lines]

    def append(self, record: Record, path: Path | None = None) -> Record:
        """Append a record to a file and return it."""
        # Times never decrease: after a clock change the former time of the run is used.
        path = path or self.single
        times = [known.finished for known in self._standing(record.run)]
        record = replace(record, finished=max([record.finished, *times]))
        with writing(path):
            # Without lines of another process, what is known of the file stays right.
            is_known = self._read_at.get(path) == _version(path)
            with path.open("a+b") as file:
                _mend_end(file)
                file.write(record.line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self._read_at[path] = _version(path) if is_known else None
        known = self.files.setdefault(path, {})
        known[record.identity] = kept([*known.get(record.identity, ()), record])
        return record

    def rewrite_in_order(self, path: Path, planned: Mapping[Run, Record]) -> dict[Identity, Record]:
        """Give a file the lines that are `kept`, those of planned runs first in their order."""
        # A file that is in order stays as it is.
        # `planned`: Runs with their records; an unfinished one gives way to a finished one of any
        # file that is of the same data and code.
        # Returns: The record that stands for each run of the file.
        with writing(path):
            if self._read_at.get(path) != _version(path):
                self.files[path] = self._read(path) if path.is_file() else {}
            former = self.files.get(path, {})
            lines: dict[Identity, list[Record]] = {}
            for run, record in planned.items():
                other = None if record.done else self.get(run, path)
                ours = latest([other, record]) if other else record
                lines[run.identity] = kept([*former.get(run.identity, ()), ours])
            lines |= {run: found for run, found in former.items() if run not in lines}
            text = "".join(f"{line.line}\n" for found in lines.values() for line in found)
            if not path.is_file() or path.read_bytes() != text.encode():
                write_text(path, text)
            self.files[path], self._read_at[path] = lines, _version(path)
        return {run: found[-1] for run, found in lines.items()}

    def check_writable(self, path: Path | None = None) -> None:
        """Raise UserError if records cannot be written; called before any run starts."""
        with writing(path or self.single):
            pass

    def _read(self, path: Path) -> dict[Identity, list[Record]]:
        """Return the lines of a file without its damaged ones."""
        self._read_at[path] = _version(path)
        return read_lines(path, repair=True)


def _version(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size and time of a file, by which a change shows; None if there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None
