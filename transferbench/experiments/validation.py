"""Validation of an experiment file: all mistakes at once, one line each with file and line."""

import reprlib
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from transferbench.errors import SeveralErrors, brief, closest
from transferbench.experiments.schema import MISTAKE, Schema, StrictModel
from transferbench.strict_yaml import Keys, LineMap


def validate(data: Any, lines: LineMap) -> Schema:
    """Return the schema of a file's data, with the line numbers of the file.

    Raises
    ------
    UserError
        With all wrong keys and types, or if there are none, with all other mistakes.
    """
    try:
        return Schema.model_validate(data)
    except ValidationError as error:
        found = sorted(_mistakes(error, lines), key=lambda mistake: lines.line(mistake[0]))
    raise SeveralErrors.combine([lines.error(*mistake) for mistake in found])


def _mistakes(error: ValidationError, lines: LineMap) -> Iterator[tuple[Keys, str]]:
    """Yield the keys and the message of each mistake that pydantic found.

    A missing key is left out if an unknown key beside it is a misspelling of it. A value that fits
    no alternative of a union has a mistake for each of them; only the first is yielded.
    """
    known_keys = {name for part in StrictModel.__subclasses__() for name in part.model_fields}
    details = error.errors()
    meant = {
        detail["loc"]: closest(str(detail["loc"][-1]), known_keys - {detail["loc"][-1]})
        for detail in details
        if detail["type"] == "extra_forbidden"
    }
    misspelled = {(*keys[:-1], name) for keys, name in meant.items()}
    reported: set[Keys] = set()
    for detail in details:
        keys, kind, message = detail["loc"], detail["type"], detail["msg"]
        if kind == MISTAKE:
            yield keys, message
        elif keys in meant:
            hint = f" Did you mean {meant[keys]!r}?" if meant[keys] else ""
            yield keys, f"unknown key {brief(str(keys[-1]))}.{hint}"
        elif kind == "missing":
            if keys not in misspelled:
                name = ".".join(map(str, (*lines.known(keys[:-1]), keys[-1])))
                yield keys, f"missing key {name}."
        elif (known := lines.known(keys)) not in reported:
            reported.add(known)
            message = message.replace("Input should be", "expected")
            message = message.replace(" after validation", "").replace("a valid tuple", "a list")
            name = ".".join(map(str, known))[:200]
            yield known, f"{name}: {message}, got {reprlib.repr(detail['input'])}."
