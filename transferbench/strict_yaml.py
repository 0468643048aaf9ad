"""YAML that knows where it stands: every complaint about it comes with its file and line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from transferbench.errors import UserError, brief

MOST = 2**17  # characters of a text
DEEPEST = 50  # lists and mappings within each other; the time to read them grows with the square


def read(text: str, path: Path) -> tuple[Any, Places]:
    """The data of a YAML text and the places of its keys; `path` names it in messages.

    Raises UserError for what is not YAML, too long or too deep, an alias (a few can stand for
    gigabytes), a tag, or a key that stands twice (of which YAML would take the last).
    """
    if len(text) > MOST:
        raise UserError(f"{path}: more than {MOST:,} characters; expected less YAML.")
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise UserError(f"{path}: alias *{event.anchor} is not allowed; write it out.")
            if getattr(event, "tag", None):  # some make PyYAML stumble, and none is needed
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise UserError(f"{path}:{line}: a tag (!…); expected valid YAML without tags.")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise UserError(f"{path}: more than {DEEPEST} lists within lists; expected fewer.")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise UserError(f"{path}:{line}: {problem}; expected valid YAML.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: {error}; expected valid YAML.") from None
    places = Places(path, node)
    places.no_key_twice(node)
    return data, places


class Places:
    """Where in the file a path of keys stands."""

    def __init__(self, path: Path, node: yaml.Node | None) -> None:
        self.path, self.node = path, node

    def line(self, keys: tuple[object, ...]) -> int:
        """The line of the last of the keys that is there."""
        node, line = self.node, 1
        for key in keys:
            step = None
            if isinstance(node, yaml.MappingNode):
                for name, value in node.value:
                    if name.value == str(key):
                        step, line = value, name.start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
                step = node.value[key] if key < len(node.value) else None
                line = step.start_mark.line + 1 if step else line
            if step is None:
                break
            node = step
        return line

    def no_key_twice(self, node: yaml.Node | None) -> None:
        """YAML lets the last of equal keys win; here that is a mistake."""
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for name, value in node.value:
                key = getattr(name, "value", None)
                if isinstance(key, str) and key in seen:
                    line = name.start_mark.line + 1
                    raise UserError(
                        f"{self.path}:{line}: key {brief(key)} stands here a second time."
                    )
                seen.add(str(key))
                self.no_key_twice(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                self.no_key_twice(value)

    def error(self, keys: tuple[object, ...], message: str) -> UserError:
        """The error that a message about a path of keys makes."""
        return UserError(f"{self.path}:{self.line(keys)}: {message}")

    @contextmanager
    def at(self, *keys: object) -> Iterator[None]:
        """A UserError raised within comes out with the line of these keys."""
        try:
            yield
        except UserError as error:
            raise self.error(keys, str(error)) from None
