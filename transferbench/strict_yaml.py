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
#: Path of keys from the top of a file; an index of a list is a key, too.
Keys: TypeAlias = tuple[object, ...]


class LineMap:
    """Line numbers of a YAML file by path of keys, and errors that show them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[Keys, int] = {(): 1}

    def known(self, keys: Keys) -> Keys:
        """Return the longest part of the path that the file has."""
        names = tuple(map(str, keys))
        return names if names in self.lines else self.known(names[:-1])

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
    """Return the text of a file, at most one character more than `read` accepts.

    Raises
    ------
    UserError
        If it is unreadable.
    """
    try:
        with TextIOWrapper(open_regular(path), encoding="utf-8") as stream:
            return stream.read(MAX_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path}: cannot be read ({reason}); expected a YAML file.") from None


def read(text: str, path: Path) -> tuple[Any, LineMap]:
    """Return the plain data of a YAML text and its line numbers.

    Parameters
    ----------
    text
        The text.
    path
        The file that errors show.

    Raises
    ------
    UserError
        For invalid YAML, for a text that is too long or too deep, and for an alias (a few can stand
        for gigabytes), a tag, and a duplicate key (YAML would take the last).
    """
    lines = LineMap(path)
    with _reporting(text, path):
        for _ in _events(text):  # before anything is built
            pass
        node = yaml.compose(text, Loader=_LOADER)
        return None if node is None else _plain(node, (), lines), lines


def top_text(text: str, path: Path, key: str) -> str | None:
    """Return the text of a key at the top of a YAML text; None if there is none.

    The text is checked as `read` does, but for duplicate keys; nothing is built, which takes a
    quarter of the time.

    Parameters
    ----------
    text, path
        See `read`.
    key
        The key.
    """
    depth, is_key, last, found, is_mapping = 0, False, "", None, False
    with _reporting(text, path):
        for event in _events(text):
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth == 0 and isinstance(event, yaml.NodeEvent):
                is_mapping = isinstance(event, yaml.MappingStartEvent)
            elif depth == 1 and isinstance(event, yaml.NodeEvent):  # keys and values by turns
                is_key = not is_key
                value = getattr(event, "value", "")
                if not is_key and last == key:
                    found = value or None
                last = value
            depth += isinstance(event, yaml.CollectionStartEvent)
    return found if is_mapping else None


def _events(text: str) -> Iterator[Any]:
    """Yield the events of a YAML text; raise YAMLError for what `read` refuses."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
            raise _error(event, "an alias (*…) or a tag (!…); write it out.")
        if depth > MAX_DEPTH:
            raise _error(event, f"more than {MAX_DEPTH} lists within lists; expected fewer.")
        yield event


@contextmanager
def _reporting(text: str, path: Path) -> Iterator[None]:
    """Turn an error of the parser into a UserError with file and line; refuse too long a text."""
    if len(text) > MAX_CHARACTERS:
        raise UserError(
            f"{path}: more than {MAX_CHARACTERS:,} characters; expected a shorter text."
        )
    try:
        yield
        return
    except yaml.MarkedYAMLError as error:
        # The parser in C reports the end of the text one line below the last.
        last = error.problem_mark.line if error.problem_mark else 0
        line = min(last, text.rstrip().count("\n")) + 1
        message = str(error.problem)
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        line, message = 1, error.reason
    message = message if message.endswith(".") else f"{message}; expected valid YAML."
    raise UserError(f"{path}:{line}: {message}")


def _error(at: Any, message: str) -> yaml.MarkedYAMLError:
    """Return an error at the start of an event or a node."""
    return yaml.MarkedYAMLError(problem=message, problem_mark=at.start_mark)


def _plain(node: Any, keys: tuple[str, ...], lines: LineMap) -> Any:
    """Return the plain data of the node at path `keys`, and add its lines to `lines`."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        by_path = {(*keys, str(i)): item for i, item in enumerate(node.value)}
        lines.lines |= {path: item.start_mark.line + 1 for path, item in by_path.items()}
        return [_plain(item, path, lines) for path, item in by_path.items()]
    data: dict[Any, Any] = {}
    for name, value in node.value:
        if not isinstance(name, yaml.ScalarNode):
            raise _error(name, "a list or mapping as a key; expected a name.")
        key = _scalar(name)
        path = (*keys, str(key))  # 1 and "1" are too easily confused to allow both
        if path in lines.lines or key in data:  # 1, 1.0 and true are one key of a dict
            raise _error(name, f"duplicate key {brief(name.value)}; expected it once.")
        lines.lines[path] = name.start_mark.line + 1
        data[key] = _plain(value, path, lines)
    return data


def _scalar(node: Any) -> Any:
    """Return the value of a scalar; 1:5 and 010 are texts (in YAML 1.1, the numbers 65 and 8)."""
    if node.tag.endswith((":int", ":float")):
        if "_" in node.value:  # in YAML 1.1, 1_0 is 10
            remedy = "write a number without _, or a text in quotes"
            raise _error(node, f"{brief(node.value)}: {remedy}.")
        if re.search(r":|^[-+]?0\d", node.value):
            return node.value
    try:
        value = yaml.constructor.SafeConstructor().construct_object(node)
        str(value)  # fails for a hexadecimal integer too long to show in a message
        return value
    except (ValueError, OverflowError) as error:  # 2001-99-99, or thousands of digits
        raise _error(node, f"{error}; expected valid YAML.") from None
