"""A function's keyword-only arguments are its parameter schema: names, types, bounds, defaults."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, get_type_hints

from annotated_types import Ge, Gt, Lt

from transferbench.errors import UserError, brief, unknown

Count = Annotated[int, Ge(1)]  # how many of something
Weight = Annotated[float, Ge(0), Lt(math.inf)]  # of a term in an objective
Positive = Annotated[float, Gt(0), Lt(math.inf)]

#: Given by the runner, not by the user.
RESERVED = ("seed", "watch")


@dataclass(frozen=True)
class Parameter:
    """One keyword-only argument: its name, annotation and default."""

    name: str
    type: Any
    default: Any

    def __str__(self) -> str:
        return f"{self.name}: {describe_type(self.type)} = {self.default!r}"


def schema(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters a user may set, by name, in the order of the signature."""
    found = {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in RESERVED
    }
    # Only these annotations are resolved: others may name what is imported for the type checker.
    annotated = SimpleNamespace(__annotations__={n: p.annotation for n, p in found.items()})
    hints = get_type_hints(annotated, function.__globals__, include_extras=True)
    return {name: Parameter(name, hints[name], found[name].default) for name in found}


def takes_seed(function: Callable[..., Any]) -> bool:
    """Whether results depend on a seed; a function without one is deterministic."""
    return "seed" in inspect.signature(function).parameters


def resolve(function: Callable[..., Any], given: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Every parameter with its value: the given one, checked and converted, or the default.

    Raises UserError for an unknown name, a wrong type or a value out of bounds; `owner` is what the
    message calls the function.
    """
    known = schema(function)
    for name in given:
        if name not in known:
            raise unknown(f"parameter of {owner}", name, known)
    return {
        name: convert(given[name], parameter.type, f"{owner}: parameter {name}")
        if name in given
        else parameter.default
        for name, parameter in known.items()
    }


def convert(value: Any, annotation: Any, what: str) -> Any:
    """`value` as the annotated type, the text "none" as None where None is one.

    A list may be a text with commas, or a single value. Raises UserError naming `what` where it
    cannot be.
    """
    from pydantic import TypeAdapter, ValidationError

    expected = describe_type(annotation)
    if value == "none" and type(None) in getattr(annotation, "__args__", ()):
        return None
    if getattr(annotation, "__origin__", None) is tuple and not isinstance(value, list | tuple):
        value = value.split(",") if isinstance(value, str) else [value]
    if isinstance(value, bool) and "true or false" not in expected:
        raise UserError(f"{what}: expected {expected}, got {reprlib.repr(value)}.")
    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError:
        raise UserError(f"{what}: expected {expected}, got {reprlib.repr(value)}.") from None


def parse(assignments: Iterable[str]) -> dict[str, str]:
    """{'k': '8'} from ['k=8']; `convert` makes of the texts what they should be.

    Raises UserError without '='.
    """
    given = {}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not name:
            raise UserError(f"{brief(assignment)}: expected NAME=VALUE, for example k=32.")
        given[name] = text
    return given


def describe_type(annotation: Any) -> str:
    """What a value must be, in words: 'integer ≥ 1', 'one of tf, tf-idf', …"""
    base = getattr(annotation, "__origin__", annotation)
    bounds = [
        f" {sign} {getattr(bound, attribute)}"
        for bound in getattr(annotation, "__metadata__", ())
        for kind, sign, attribute in ((Ge, "≥", "ge"), (Gt, ">", "gt"), (Lt, "<", "lt"))
        if isinstance(bound, kind) and getattr(bound, attribute) != math.inf
    ]
    words = {
        int: "integer",
        float: "number",
        str: "text",
        bool: "true or false",
        type(None): "none",
    }
    if base in words:
        return words[base] + "".join(bounds)
    choices = getattr(annotation, "__args__", ())
    if base is tuple:
        return f"list of {describe_type(next(iter(choices)))}"
    if all(isinstance(choice, str) for choice in choices):
        return "one of " + ", ".join(choices)
    return " or ".join(describe_type(choice) for choice in choices)
