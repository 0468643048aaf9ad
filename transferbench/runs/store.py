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
from typing import IO, Any

from transferbench.errors import UserError
from transferbench.files import exclusive, file_mode, open_regular, reporting, write_text
from transferbench.messages import MAX_REASON
from transferbench.runs.record import MAX_LINE, Identity, Record, Run

NAME = "runs.jsonl"
#: Name of the lock of a file of runs.
LOCK = ".runs.lock"


def read(path: Path, *, repair: bool = False) -> dict[Identity, Record]:
    """Return the records of a file, of each run the one that `latest` returns.

    A torn last line, of a process that was killed, is left out with a warning. Raise UserError if
    the file is missing, or has a line that is no run; with `repair` this is left out, too.
    """
    return {run: latest(records) for run, records in _read_all(path, repair=repair).items()}


def _read_all(path: Path, *, repair: bool) -> dict[Identity, list[Record]]:
    """Return all records of a file in the order of its lines, by run; see `read`."""
    found: dict[Identity, list[Record]] = {}
    shared: dict[Any, Any] = {}
    try:
        with open_regular(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), start=1):
                try:
                    record = Record.from_line(line.removesuffix(b"\n"))
                    record.share(shared)
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
    return found


def _why(error: ValueError) -> str:
    """Return why a line is no record, of several reasons the first."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    place, message = ".".join(map(str, first["loc"])), first["msg"]
    return f"{place} {message.replace('Input should be', 'expected')}".strip()[:MAX_REASON]


def is_whole(line: bytes) -> bool:
    """True if a line without an end is a record."""
    try:
        Record.from_line(line)
    except ValueError:
        return False
    return True


def _torn_line(file: IO[bytes]) -> bytes:
    """Return the last line if it does not end, else nothing; the file is at its end then."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    if file.read() in (b"", b"\n"):
        return b""
    file.seek(0)
    return file.read().rpartition(b"\n")[2]


def latest(records: Sequence[Record]) -> Record:
    """Return the record that stands for a run.

    The newest record, by its time, says which data and code the run has now. Of the records of
    these, the newest finished one stands for the run, or else the newest: a run that was out of
    time does not undo a finished one of the same data and code, but no result of other data or code
    stays in a table when the run fails.

    The lines of a file are not always in order of time: a merge of two branches joins them.

    Parameters
    ----------
    records
        The records of one run in the order of their lines, at least one.
    """
    if len(records) == 1:
        return records[0]
    by_time = sorted(records, key=lambda record: record.finished)
    code = by_time[-1].equal_code
    # A run whose data are unavailable states no data, a line of 1.1 no values.
    data = next((record for record in reversed(by_time) if record.data), by_time[-1])
    stated = [record for record in by_time if record.values and record.data == data.data]
    alike = [
        record
        for record in by_time
        if record.equal_code == code and all(record.same_data(r) for r in (data, *stated[-1:]))
    ]
    finished = [record for record in alike if record.done]
    return (finished or alike)[-1]


class Store:
    """The runs in a folder of results.

    Parameters
    ----------
    results
        The folder.
    single
        If true, read the file of single runs alone; else all files.
    committed
        Files of published results, whose runs count as current whatever the code is now.
    """

    def __init__(
        self, results: Path, *, single: bool = False, committed: Iterable[Path] = ()
    ) -> None:
        self.results = results
        self.single = results / NAME
        folders = () if single else (results, *results.glob("repeats-*"))
        self._others = [path for folder in folders for path in sorted(folder.glob(f"*/{NAME}"))]
        self._committed = list(committed)
        self._others += self._committed
        self._read_at: dict[Path, tuple[int, int, int] | None] = {}
        # Of a run that did not finish, the finished record of other data or code before it: it
        # stands for nothing, but its line stays until the run finishes.
        self._replaced: dict[Path, dict[Identity, Record]] = {}

    @cached_property
    def files(self) -> dict[Path, dict[Identity, Record]]:
        """Records by file."""
        paths = dict.fromkeys([self.single, *self._others])
        return {path: self._read(path) for path in paths if path.is_file()}

    def is_published(self, run: Run) -> bool:
        """Return True if a committed file has a finished record of the run."""
        found = (self.files[path].get(run.identity) for path in self._committed)
        return any(record and record.done for record in found)

    def get(self, run: Run, path: Path | None = None) -> Record | None:
        """Return the record that stands for a run: of this file, or a finished one of any file.

        Of the data and code of the newest, see `latest`, one with the curve that the run asks for
        comes first, then that of this file: others may lack the decisions that this file keeps.
        """
        own = self.files.get(path or self.single, {}).get(run.identity)
        known = [record for record in self._all(run) if record.done]
        known += [own] if own and not own.done else []
        if not known:
            return None
        last = latest(known)
        alike = [record for record in known if record.done and record.same_code_and_data(last)]
        alike = [record for record in alike if record.has_curve(run)] or alike or [last]
        return own if own and own in alike else latest(alike)

    def _all(self, run: Run) -> list[Record]:
        """Return the record of a run in each file."""
        found = (records.get(run.identity) for records in self.files.values())
        return [record for record in found if record]

    def append(self, record: Record, path: Path | None = None) -> Record:
        """Append a record to a file and return it. Raise UserError if it cannot be written.

        Times never decrease: after a clock change the former time of the run is used.
        """
        path = path or self.single
        times = [known.finished for known in self._all(record.run)]
        record = replace(record, finished=max([record.finished, *times]))
        with self.writing(path):
            # Without lines of another process, what is known of the file stays right.
            is_known = self._read_at.get(path) == _version(path)
            with path.open("a+b") as file:
                torn, end = _torn_line(file), b""
                if torn and is_whole(torn):
                    end = b"\n"
                elif torn:
                    file.truncate(file.tell() - len(torn))
                file.write(end + record.line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self._read_at[path] = _version(path) if is_known else None
        self._put(path, record)
        return record

    def _put(self, path: Path, record: Record) -> None:
        """Add a record to those that are known of a file."""
        run, known = record.identity, self.files.setdefault(path, {})
        replaced = self._replaced.setdefault(path, {})
        earlier = [r for r in (replaced.pop(run, None), known.get(run)) if r]
        known[run] = latest([*earlier, record])
        finished = [r for r in earlier if r.done]
        if finished and not known[run].done:
            replaced[run] = finished[-1]

    def rewrite_in_order(self, path: Path, planned: Mapping[Run, Record]) -> dict[Identity, Record]:
        """Give a file one line for each run, the planned ones first in their order.

        A file that is in order stays as it is. Before the line of a run that did not finish, the
        last finished one of other data or code stays: it stands for nothing, but nothing is lost.

        Parameters
        ----------
        path
            The file.
        planned
            Runs with their records; an unfinished one gives way to a finished one of any file that
            is of the same data and code.

        Returns
        -------
        dict
            The records of the file.
        """
        with self.writing(path):
            if self._read_at.get(path) != _version(path):
                self.files[path] = self._read(path) if path.is_file() else {}
            former = self.files.get(path, {})
            records = {
                run.identity: record
                if record.done
                else latest([r for r in (self.get(run, path), record) if r])
                for run, record in planned.items()
            }
            for identity, record in former.items():
                ours = records.setdefault(identity, record)
                if record.finished > ours.finished:  # of another process
                    records[identity] = latest([ours, record])
            replaced = self._replaced.setdefault(path, {})
            for run, record in records.items():
                if record.done:
                    replaced.pop(run, None)
                elif run in former and former[run].done:
                    replaced[run] = former[run]
            lines = [
                f"{line.line}\n"
                for run, record in records.items()
                for line in (replaced.get(run), record)
                if line
            ]
            text = "".join(lines)
            if not path.is_file() or path.read_bytes() != text.encode():
                write_text(path, text)
            self.files[path], self._read_at[path] = records, _version(path)
        return records

    def check_writable(self, path: Path | None = None) -> None:
        """Raise UserError if records cannot be written; called before any run starts."""
        with self.writing(path or self.single):
            pass

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Let no other process write the file. Raise UserError if it cannot be written."""
        with exclusive(path.with_name(LOCK), lambda: None), reporting(path):
            file_mode(path)
            yield

    def _read(self, path: Path) -> dict[Identity, Record]:
        """Return the records of a file without its damaged lines."""
        self._read_at[path] = _version(path)
        self._replaced[path], records = {}, {}
        for run, found in _read_all(path, repair=True).items():
            records[run] = latest(found)
            finished = [record for record in found if record.done]
            if finished and not records[run].done:
                self._replaced[path][run] = latest(finished)
        return records


def _version(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size and time of a file, by which a change shows; None if there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None
