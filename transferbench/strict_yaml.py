"""Strict YAML parsing with file:line in every error."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import yaml

from transferbench.errors import UserError, brief
from transferbench.files import open_regular

MAX_CHARACTERS = 2**17
MAX_DEPTH = 50  # lists and mappings within each other
#: The parser in C is about fifteen times as fast; some builds of PyYAML lack it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class LineMap:
    """Line numbers of a YAML file by path of keys, and errors that show them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: An index of a list is a key, too.
        self.lines: dict[tuple[str, ...], int] = {(): 1}

    def known(self, keys: tuple[object, ...]) -> tuple[str, ...]:
        """Return the longest part of the path that the file has.

        A row of an experiment that is a variant, "row, 500", is at the row of the file.
        """
        known = tuple(map(str, keys))
        while known not in self.lines:
            row = known[-1].rpartition(", ")[0]
            known = (*known[:-1], row) if row else known[:-1]
        return known

    def line(self, keys: tuple[object, ...]) -> int:
        """Return the line of the longest part of the path that the file has."""
        return self.lines[self.known(keys)]

    def error(self, keys: tuple[object, ...], message: str) -> UserError:
        """Return an error that shows the file and the line of these keys."""
        return UserError(f"{self.path}:{self.line(keys)}: {message}")

    @contextmanager
    def at(self, *keys: object) -> Iterator[None]:
        """Add the file and the line of these keys to a UserError raised in this block."""
        try:
            yield
        except UserError as error:
            raise self.error(keys, str(error)) from None


def load(path: Path) -> tuple[Any, LineMap]:
    """Return the plain data of a YAML file and its line numbers; see `read`."""
    return read(read_text(path), path)


def read_text(path: Path) -> str:
    """Return the text of a file, cut where `read` refuses it. Raise UserError if unreadable."""
    try:
        with TextIOWrapper(open_regular(path), encoding="utf-8") as stream:
            return stream.read(MAX_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path}: cannot be read ({reason}); expected a YAML file.") from None


def read(text: str, path: Path) -> tuple[Any, LineMap]:
    """Return the plain data of a YAML text and its line numbers; errors show `path`.

    Raise UserError for invalid YAML, for a text that is too long or too deep, and for three things
    that YAML allows: an alias (a few can stand for gigabytes), a tag, and a key given twice (YAML
    would take the last).
    """
    lines = LineMap(path)
    if len(text) > MAX_CHARACTERS:
        message = f"more than {MAX_CHARACTERS:,} characters; expected a shorter text."
        raise _error(path, text.count("\n", 0, MAX_CHARACTERS), message)
    if odd := yaml.reader.Reader.NON_PRINTABLE.search(text):
        message = f"character {odd[0]!a}; expected valid YAML."
        raise _error(path, text.count("\n", 0, odd.start()), message)
    try:
        return _Builder(text, lines).document(), lines
    except yaml.MarkedYAMLError as error:
        # The parser in C reports the end of the text one line below the last.
        line = min(error.problem_mark.line if error.problem_mark else 0, text.rstrip().count("\n"))
        raise _error(path, line, f"{error.problem}; expected valid YAML.") from None


class _Builder:
    """Build plain data from the events of the parser, in one pass.

    Nothing is built before its event is checked, and no event after a refused one is parsed.
    """

    def __init__(self, text: str, lines: LineMap) -> None:
        self._lines, self._path = lines.lines, lines.path
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self._tag: Any = yaml.resolver.Resolver().resolve
        self._construct: Any = yaml.constructor.SafeConstructor().construct_object

    def document(self) -> Any:
        """Return the data of the only document; None for an empty text."""
        data, documents = None, 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._error(event, "a second document; expected valid YAML.")
                data = self._value(next(self._events), ())
        return data

    def _error(self, event: Any, message: str) -> UserError:
        return _error(self._path, event.start_mark.line, message)

    def _value(self, event: Any, keys: tuple[str, ...]) -> Any:
        """Return the data that starts with an event; `keys` is its path."""
        if isinstance(event, yaml.AliasEvent):
            raise self._error(event, f"alias *{event.anchor} is not allowed; write it out.")
        if event.tag:
            raise self._error(event, "a tag (!…); expected valid YAML without tags.")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if len(keys) == MAX_DEPTH:
            raise self._error(event, f"more than {MAX_DEPTH} lists within lists; expected fewer.")
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(each := next(self._events), yaml.SequenceEndEvent):
                path = (*keys, str(len(items)))
                self._lines[path] = each.start_mark.line + 1
                items.append(self._value(each, path))
            return items
        return self._mapping(keys)

    def _scalar(self, event: Any) -> Any:
        tag = self._tag(yaml.ScalarNode, event.value, event.implicit)
        if tag.endswith((":int", ":float")) and ":" in event.value:
            return event.value  # YAML 1.1 takes 1:5 for 65
        try:
            value = self._construct(yaml.ScalarNode(tag, event.value, event.start_mark))
            str(value)  # fails for a hexadecimal integer too long to show in a message
            return value
        except (ValueError, OverflowError) as error:  # 2001-99-99, or thousands of digits
            raise self._error(event, f"{error}; expected valid YAML.") from None

    def _mapping(self, keys: tuple[str, ...]) -> dict[Any, Any]:
        data: dict[Any, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if isinstance(event, yaml.CollectionStartEvent):
                raise self._error(event, "a list or mapping as a key; expected a name.")
            key = self._value(event, keys)
            path = (*keys, str(key))  # 1 and "1" are too easily confused to allow both
            if path in self._lines:
                raise self._error(event, f"duplicate key {brief(event.value)}; expected it once.")
            self._lines[path] = event.start_mark.line + 1
            data[key] = self._value(next(self._events), path)
        return data


def _error(path: Path, line: int, message: str) -> UserError:
    """Return an error that shows the file and a line, which the parser counts from 0."""
    return UserError(f"{path}:{line + 1}: {message}")
