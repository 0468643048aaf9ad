"""Strict YAML parsing with file:line in every error."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from transferbench.errors import UserError, brief
from transferbench.files import open_regular

MAX_CHARACTERS = 2**17
MAX_DEPTH = 50  # lists and mappings within each other
#: The parser in C is about fifteen times as fast; some builds of PyYAML lack it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER = yaml.resolver.Resolver()
#: Path of keys from the top of a file; an index of a list is a key, too.
Keys: TypeAlias = tuple[object, ...]


class LineMap:
    """Line numbers of a YAML file by path of keys, and errors that show them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[Keys, int] = {(): 1}

    def known(self, keys: Keys) -> Keys:
        """Return the path without the keys that the file does not have at their place."""
        found: Keys = ()
        for key in map(str, keys):
            found = (*found, key) if (*found, key) in self.lines else found
        return found

    def line(self, keys: Keys) -> int:
        """Return the line of these keys."""
        return self.lines[self.known(keys)]

    def error(self, keys: Keys, message: str) -> UserError:
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
    """Return the text of a file, at most one character more than `read` accepts."""
    try:
        with TextIOWrapper(open_regular(path), encoding="utf-8") as stream:
            return stream.read(MAX_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path}: cannot be read ({reason}); expected a YAML file.") from None


def read(text: str, path: Path) -> tuple[Any, LineMap]:
    """Return the plain data of a YAML text and its line numbers."""
    # Raises UserError: for invalid YAML, for a text that is too long or too deep, and for an alias
    # (a few can stand for gigabytes), a tag, and a duplicate key (YAML would take the last).
    if len(text) > MAX_CHARACTERS:
        raise UserError(
            f"{path}: more than {MAX_CHARACTERS:,} characters; expected a shorter text."
        )
    lines, documents = LineMap(path), list[Any]()
    try:
        events = yaml.parse(text, Loader=_LOADER)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and documents:
                raise _error(event, "found another document; expected one.")
            if isinstance(event, yaml.NodeEvent):
                documents.append(_plain(event, events, (), lines))
    except yaml.MarkedYAMLError as error:
        # The parser in C reports the end of the text one line below the last.
        last = error.problem_mark.line if error.problem_mark else 0
        line = min(last, text.rstrip().count("\n")) + 1
        message = str(error.problem)
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        line, message = 1, error.reason
    else:
        return documents[0] if documents else None, lines
    message = message if message.endswith(".") else f"{message}; expected valid YAML."
    raise UserError(f"{path}:{line}: {message}")


def _error(at: Any, message: str) -> yaml.MarkedYAMLError:
    """Return an error at the start of an event."""
    return yaml.MarkedYAMLError(problem=message, problem_mark=at.start_mark)


def _plain(event: Any, events: Iterator[Any], keys: Keys, lines: LineMap) -> Any:
    """Return the plain data that begins with an event at path `keys`; add its lines to `lines`."""
    if isinstance(event, yaml.AliasEvent) or event.tag:
        raise _error(event, "an alias (*…) or a tag (!…); write it out.")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if len(keys) == MAX_DEPTH:
        raise _error(event, f"more than {MAX_DEPTH} lists within lists; expected fewer.")
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            path = (*keys, str(len(items)))
            lines.lines[path] = item.start_mark.line + 1
            items.append(_plain(item, events, path, lines))
        return items
    data: dict[Any, Any] = {}
    while not isinstance(name := next(events), yaml.MappingEndEvent):
        if isinstance(name, yaml.CollectionStartEvent):
            raise _error(name, "a list or mapping as a key; expected a name.")
        key = _plain(name, events, keys, lines)
        path = (*keys, str(key))  # 1 and "1" are too easily confused to allow both
        if path in lines.lines or key in data:  # 1, 1.0 and true are one key of a dict
            raise _error(name, f"duplicate key {brief(name.value)}; expected it once.")
        lines.lines[path] = name.start_mark.line + 1
        data[key] = _plain(next(events), events, path, lines)
    return data


def _scalar(event: Any) -> Any:
    """Return the value of a scalar; 1:5 and 010 are texts (in YAML 1.1, the numbers 65 and 8)."""
    tag = _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
    if tag.endswith(":str"):
        return event.value
    if tag.endswith((":int", ":float")):
        if "_" in event.value:  # in YAML 1.1, 1_0 is 10
            remedy = "write a number without _, or a text in quotes"
            raise _error(event, f"{brief(event.value)}: {remedy}.")
        if re.search(r":|^[-+]?0\d", event.value):
            return event.value
    try:
        node = yaml.ScalarNode(tag, event.value, event.start_mark)
        value = yaml.constructor.SafeConstructor().construct_object(node)
        str(value)  # fails for a hexadecimal integer too long to show in a message
        return value
    except (ValueError, OverflowError) as error:  # 2001-99-99, or thousands of digits
        raise _error(event, f"{error}; expected valid YAML.") from None
