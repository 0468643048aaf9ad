"""Mistakes in an experiment file: all of them at once, one line each with file and line."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from transferbench.errors import SeveralErrors, UserError, brief, did_you_mean, unknown
from transferbench.strict_yaml import LineMap


class StrictModel(BaseModel):
    """Base of all parts of an experiment file: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fault(ValueError):
    """Mistakes found by a validator: messages with the keys from the validated model to the place.

    Usually one; `gather` joins several.
    """

    def __init__(self, message: str, *keys: str | int) -> None:
        super().__init__(message)
        self.found: list[tuple[str, tuple[str | int, ...]]] = [(message, keys)]


@contextmanager
def below(*keys: str | int) -> Iterator[None]:
    """Put keys before those of a Fault raised in this block."""
    try:
        yield
    except Fault as fault:
        fault.found = [(message, (*keys, *inner)) for message, inner in fault.found]
        raise


def gather(checks: Iterable[Callable[[], None]]) -> None:
    """Perform all checks. Raise one Fault with the mistakes of all that raised one."""
    faults = []
    for check in checks:
        try:
            check()
        except Fault as fault:
            faults.append(fault)
    if faults:
        faults[0].found = [found for fault in faults for found in fault.found]
        raise faults[0]


def check_known(what: str, names: Collection[str], known: Collection[str], *keys: str) -> None:
    """Raise Fault for the names that are not known; `keys` lead to the list or mapping."""

    def check(i: int, name: str) -> None:
        if name not in known:
            key = name if isinstance(names, Mapping) else i
            raise Fault(str(unknown(what, name, known)), *keys, key)

    gather(partial(check, i, name) for i, name in enumerate(names))


class Faults:
    """The mistakes of a file, collected to be reported at once."""

    def __init__(self, lines: LineMap) -> None:
        self.lines = lines
        self.found: list[UserError] = []

    @contextmanager
    def at(self, *keys: object) -> Iterator[None]:
        """Collect a UserError raised in this block, with the file and the line of these keys."""
        try:
            yield
        except UserError as error:
            self.found.append(self.lines.error(keys, str(error)))

    def add(self, keys: tuple[object, ...], message: str) -> None:
        """Collect a mistake at these keys."""
        self.found.append(self.lines.error(keys, message))

    def add_all(self, error: ValidationError, model: type[BaseModel]) -> None:
        """Collect the mistakes that pydantic found, one for each place.

        A missing key is left out if an unknown one beside it is a misspelling of it, and of the
        alternatives of a union the first stays.
        """
        places: set[tuple[object, ...]] = set()
        # Unknown keys first: they may explain missing ones.
        for detail in sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden"):
            keys, kind = detail["loc"], detail["type"]
            if kind == "extra_forbidden":
                known = _known_keys(model, keys[:-1])
                close = did_you_mean(str(keys[-1]), known)
                places |= {(*keys[:-1], name) for name in known if repr(name) in close}
                message = f"unknown key {brief(str(keys[-1]))}.{close} Known: {', '.join(known)}."
                self.add(keys, message)
                continue
            place = keys if kind == "missing" else self.lines.known(keys)
            if place in places:
                continue
            places.add(place)
            if kind == "value_error":
                fault = detail["ctx"]["error"]
                for message, inner in getattr(fault, "found", [(str(fault), ())]):
                    self.add((*keys, *inner), message)
            else:
                self.add(keys[:-1] if kind == "missing" else keys, _message(detail))

    def check(self) -> None:
        """Raise UserError with all mistakes, in the order of their lines, if there are any."""
        if self.found:
            raise SeveralErrors.of(sorted(self.found, key=_line))


def _line(error: UserError) -> int:
    """Return the line of an error made by a LineMap."""
    number = re.search(r":(\d+): ", str(error))
    return int(number[1]) if number else 0


def _message(detail: Any) -> str:
    """Return the message for one of pydantic's errors about a key that the model has."""
    name = ".".join(str(key) for key in detail["loc"] if not str(key).startswith("tuple["))[:200]
    if detail["type"] == "missing":
        return f"missing key {name}."
    message = detail["msg"].replace("Input should be", "expected").replace(" after validation", "")
    return f"{name}: {message}, got {reprlib.repr(detail['input'])}."


def _known_keys(model: Any, keys: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the part of the file at `keys` may have."""
    part = model
    for key in keys:
        field = getattr(part, "model_fields", {}).get(key)
        if field:
            inner = getattr(field.annotation, "__args__", ())
            part = next((each for each in inner if hasattr(each, "model_fields")), field.annotation)
    return list(getattr(part, "model_fields", {}))
