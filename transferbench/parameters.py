"""Parameters of models and options of datasets, read from keyword-only arguments.

The signature of a function is the schema: names, types, bounds and defaults.
"""

from __future__ import annotations

import inspect
import math
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from transferbench.errors import UserError, brief, unknown

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Count = Annotated[int, Ge(1)]
Weight = Annotated[float, Ge(0), Lt(math.inf)]  # of a term in an objective
Positive = Annotated[float, Gt(0), Lt(math.inf)]
Width = Annotated[float, Ge(1e-100), Le(1e100)]  # of a kernel; its square is a number above 0
CountOrZero = Annotated[int, Ge(0)]
Fraction = Annotated[float, Gt(0), Lt(1)]
Precision = Literal["float32", "float64"]
#: Shares of the classes in the targets: a rule, or a number for each class; see `core.priors`.
Prior = Literal["equal", "source", "estimated"] | tuple[Positive, ...]

#: A checked value of a parameter.
Value: TypeAlias = bool | int | float | str | tuple["Value", ...] | None
#: Checked values by the name of the parameter.
Params: TypeAlias = Mapping[str, Value]

#: Arguments that the runner sets, not the user.
RESERVED = ("seed", "watch")
#: A number as a text. Python and pydantic also take 1_0 for 10.
NUMBER = re.compile(r"\s*[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|inf|infinity|nan)\s*", re.A | re.I)
#: What Python reads as a number with groups of digits.
UNDERSCORE = re.compile(r"\d_\d")
SIGNS = {Ge: "≥", Gt: ">", Le: "≤", Lt: "<"}
WORDS = {int: "integer", float: "number", str: "text", bool: "true or false", type(None): "none"}


@dataclass(frozen=True)
class Parameter:
    """One keyword-only argument."""

    name: str
    type: Any
    default: Any

    def __str__(self) -> str:
        return f"{self.name}: {describe_type(self.type)} = {self.default!r}"


@cache
def schema(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the parameters a user may set, by name, in the order of the signature."""
    arguments = {
        name: argument
        for name, argument in inspect.signature(function).parameters.items()
        if argument.kind is inspect.Parameter.KEYWORD_ONLY and name not in RESERVED
    }
    # Other annotations may name classes that are imported for the type checker only.
    annotated = SimpleNamespace(__annotations__={n: a.annotation for n, a in arguments.items()})
    try:
        hints = get_type_hints(annotated, function.__globals__, include_extras=True)
    except NameError as error:
        raise UserError(f"{function.__code__.co_filename}: type of a parameter: {error}.") from None
    return {name: Parameter(name, hints[name], arguments[name].default) for name in arguments}


def descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Return the text of each parameter in the numpydoc section of a function's docstring."""
    _, _, section = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")
    texts: dict[str, str] = {}
    for entry in re.findall(r"^(?:\w.*\n(?:    .*\n?)+)", section.partition("\n\n")[0], re.M):
        names, text = entry.split("\n", 1)
        texts |= dict.fromkeys(names.partition(" : ")[0].split(", "), " ".join(text.split()))
    return texts


@cache
def takes_seed(function: Callable[..., Any]) -> bool:
    """Return True if the function has an argument `seed`; without one it is deterministic."""
    return "seed" in inspect.signature(function).parameters


def resolve(
    function: Callable[..., Any], values: Mapping[str, object], owner: str
) -> dict[str, Value]:
    """Return every parameter's value: the given one, checked and converted, or the default."""
    parameters = schema(function)
    for name in values:
        if name not in parameters:
            raise unknown(f"parameter of {owner}", name, parameters)
    resolved = {
        name: convert(values[name], parameter.type, f"{owner}: parameter {name}")
        if name in values
        else parameter.default
        for name, parameter in parameters.items()
    }
    for name, value in resolved.items():
        if name in values and isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"{owner}: parameter {name}: expected a finite number, got {value}.")
    return resolved


def convert(value: object, annotation: Any, what: str) -> Any:
    """Return a value as the annotated type."""
    # `value`: The text "none" becomes None if the type allows None. A list may be given as a text
    # with commas, or as a single value if the type allows lists only.
    from pydantic import ValidationError

    choices = getattr(annotation, "__args__", ())
    lists = [choice for choice in choices if getattr(choice, "__origin__", None) is tuple]
    if value == "none" and type(None) in choices:
        return None
    if getattr(annotation, "__origin__", None) is tuple and not isinstance(value, list | tuple):
        value = value.split(",") if isinstance(value, str) else [value]
    elif isinstance(value, str) and "," in value and lists:
        value = value.split(",")
    # pydantic would take true for the number 1
    misplaced = isinstance(value, bool) and "true or false" not in describe_type(annotation)
    if not misplaced:
        with suppress(ValidationError):
            converted = _adapter(annotation).validate_python(value)
            if not _is_misread(value, converted):
                return converted
    expected = describe_type(annotation)
    remedy = "; write numbers without _" if UNDERSCORE.search(f"{value}") else ""
    raise UserError(f"{what}: expected {expected}, got {reprlib.repr(value)}{remedy}.")


def _is_misread(given: object, converted: object) -> bool:
    """Return True for a number made of a text that is none, such as 1_0, or of true in a list."""
    if isinstance(given, list | tuple) and isinstance(converted, tuple):
        return any(map(_is_misread, given, converted))
    if isinstance(converted, bool) or not isinstance(converted, int | float):
        return False
    return isinstance(given, bool) or (isinstance(given, str) and not NUMBER.fullmatch(given))


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    """Return pydantic's validator of a type; it takes longer to build than to use."""
    from pydantic import TypeAdapter

    return TypeAdapter(annotation)


def parse(assignments: Iterable[str]) -> dict[str, str]:
    """Return {'k': '8'} for ['k=8']; `convert` gives the values their types."""
    values: dict[str, str] = {}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not name:
            raise UserError(f"{brief(assignment)}: expected NAME=VALUE, for example k=32.")
        if name in values:
            raise UserError(f"{brief(name)} is given twice; give it once.")
        values[name] = text
    return values


def describe_type(annotation: Any) -> str:
    """Return a type in words, such as 'integer ≥ 1' or 'one of tf, tf-idf'."""
    base = getattr(annotation, "__origin__", annotation)
    choices = getattr(annotation, "__args__", ())
    if base in WORDS:
        bounds = [b for b in getattr(annotation, "__metadata__", ()) if type(b) in SIGNS]
        limits = [(SIGNS[type(bound)], *astuple(bound)) for bound in bounds]
        return WORDS[base] + "".join(f" {s} {limit}" for s, limit in limits if limit != math.inf)
    if base is tuple:
        return f"list of {describe_type(next(iter(choices)))}"
    if all(isinstance(choice, str) for choice in choices):
        return ("one of " if len(choices) > 1 else "") + ", ".join(choices)
    return " or ".join(describe_type(choice) for choice in choices)
