"""Mistakes in an experiment file: from pydantic's errors to one line with file and line."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from transferbench.errors import UserError, brief, did_you_mean, unknown
from transferbench.strict_yaml import LineMap


class StrictModel(BaseModel):
    """Base of all parts of an experiment file: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fault(ValueError):
    """A mistake found by a validator; `keys` lead from the validated model to its place."""

    def __init__(self, message: str, *keys: str | int) -> None:
        super().__init__(message)
        self.keys = keys


@contextmanager
def below(*keys: str | int) -> Iterator[None]:
    """Put keys before those of a Fault raised in this block."""
    try:
        yield
    except Fault as fault:
        raise Fault(str(fault), *keys, *fault.keys) from None


def check_known(what: str, names: Collection[str], known: Collection[str], *keys: str) -> None:
    """Raise Fault at the first name that is not known; `keys` lead to the list or mapping."""
    for i, name in enumerate(names):
        if name not in known:
            key = name if isinstance(names, Mapping) else i
            raise Fault(str(unknown(what, name, known)), *keys, key)


def first_fault(error: ValidationError, model: type[BaseModel], lines: LineMap) -> UserError:
    """Return one of pydantic's errors with its line; unknown keys come before all others."""
    detail = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    keys = detail["loc"]
    name = ".".join(str(key) for key in keys if not str(key).startswith("tuple["))[:200]
    if detail["type"] == "extra_forbidden":
        known = _known_keys(model, keys[:-1])
        message = f"unknown key {brief(str(keys[-1]))}.{did_you_mean(str(keys[-1]), known)}"
        return lines.error(keys, f"{message} Known: {', '.join(known)}.")
    if detail["type"] == "missing":
        return lines.error(keys[:-1], f"missing key {name}.")
    if detail["type"] == "value_error":
        fault = detail["ctx"]["error"]
        return lines.error((*keys, *getattr(fault, "keys", ())), str(fault))
    message = detail["msg"].replace("Input should be", "expected").replace(" after validation", "")
    return lines.error(keys, f"{name}: {message}, got {reprlib.repr(detail['input'])}.")


def _known_keys(model: Any, keys: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the part of the file at `keys` may have."""
    part = model
    for key in keys:
        field = getattr(part, "model_fields", {}).get(key)
        if field:
            inner = getattr(field.annotation, "__args__", ())
            part = next((each for each in inner if hasattr(each, "model_fields")), field.annotation)
    return list(getattr(part, "model_fields", {}))
