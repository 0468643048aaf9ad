"""Strict YAML parsing with file:line in every error."""

import re
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
_TOO_DEEP = f"more than {MAX_DEPTH} lists within lists; expected fewer."
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
        _check_events(text, path)
        node = yaml.compose(text, Loader=_LOADER)
        return None if node is None else _plain(node, (), lines), lines
    except yaml.MarkedYAMLError as error:
        # The parser in C reports the end of the text one line below the last.
        line = min(error.problem_mark.line if error.problem_mark else 0, text.rstrip().count("\n"))
        # The parser in C of PyYAML 6.0.4 has a limit of 1,000, and reads that far ahead.
        too_deep = "maximum nesting depth" in str(error.problem)
        message = _TOO_DEEP if too_deep else f"{error.problem}; expected valid YAML."
        raise _error(path, line, message) from None


def _check_events(text: str, path: Path) -> None:
    """Raise UserError for an alias, a tag or deep nesting, before anything is built."""
    depth = 0
    events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
    for event in events:
        message = ""
        if isinstance(event, yaml.AliasEvent):
            message = f"alias *{event.anchor} is not allowed; write it out."
        elif getattr(event, "tag", None):
            message = "a tag (!…); expected valid YAML without tags."
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                message = _TOO_DEEP
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if message:
            raise _error(path, event.start_mark.line, message)


def _plain(node: Any, keys: tuple[str, ...], lines: LineMap) -> Any:
    """Return the plain data of a node, whose path is `keys`, and add its lines."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, lines.path)
    if isinstance(node, yaml.SequenceNode):
        items = []
        for i, each in enumerate(node.value):
            lines.lines[*keys, str(i)] = each.start_mark.line + 1
            items.append(_plain(each, (*keys, str(i)), lines))
        return items
    data = {}
    for name, value in node.value:
        line = name.start_mark.line
        if not isinstance(name, yaml.ScalarNode):
            raise _error(lines.path, line, "a list or mapping as a key; expected a name.")
        key = _scalar(name, lines.path)
        path = (*keys, str(key))  # 1 and "1" are too easily confused to allow both
        if path in lines.lines or key in data:  # 1, 1.0 and true are one key of a dict
            message = f"duplicate key {brief(name.value)}; expected it once."
            raise _error(lines.path, line, message)
        lines.lines[path] = line + 1
        data[key] = _plain(value, path, lines)
    return data


def _scalar(node: Any, path: Path) -> Any:
    if node.tag.endswith((":int", ":float")) and re.search(r":|^[-+]?0\d", node.value):
        return node.value  # YAML 1.1 takes 1:5 for 65 and 010 for 8
    try:
        value = yaml.constructor.SafeConstructor().construct_object(node)
        str(value)  # fails for a hexadecimal integer too long to show in a message
        return value
    except (ValueError, OverflowError) as error:  # 2001-99-99, or thousands of digits
        raise _error(path, node.start_mark.line, f"{error}; expected valid YAML.") from None


def _error(path: Path, line: int, message: str) -> UserError:
    """Return an error that shows the file and a line, which the parser counts from 0."""
    return UserError(f"{path}:{line + 1}: {message}")
