"""What a dataset declares in the JSON file beside its module.

    licence   a notice of one line about the files
    terms     what the licences of all files that the tasks need forbid, demand or leave open, in
              words of `terms.TERMS`; without this entry they are unknown
    files     {"<dataset>/<file>": {size, digest, origins}}, see `fetch.File`; an origin is an
              address, or the fields of `fetch.Wheel` or `fetch.Members`
    tasks     {task: one line}, `<paper or set>/<name>` or `<set>`
    facts     {task: facts}, which the task must have if it is built with the default options, see
              `facts.Facts`
    groups, splits     read by `datasets.newsgroups` alone

All but the tasks may be missing; files need a licence.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from transferbench import terms
from transferbench.data.fetch import File, Members, Origin, Url, Wheel
from transferbench.errors import UserError, unknown
from transferbench.messages import reason

#: Type of the value of each key, and its name in messages.
KEYS = {"licence": str, "terms": list} | dict.fromkeys(
    ("files", "tasks", "facts", "groups", "splits"), dict
)
NAMES = {str: "a text", list: "a list [...]", dict: "an object {...}"}


@cache
def read(module: str) -> dict[str, Any]:
    """Return the content of the JSON file beside the file of a module."""
    path = Path(module).with_suffix(".json")
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: this is not valid JSON ({error}); correct it.") from error
    for key, value in content.items():
        if key not in KEYS:
            raise unknown(f"key of {path}:", key, KEYS)
        if not isinstance(value, KEYS[key]):
            raise UserError(f"{path}: {key}: expected {NAMES[KEYS[key]]}, got {value!r}.")
    if content.get("files") and not content.get("licence"):
        raise UserError(f"{path}: files without a licence; state it in one line as licence.")
    terms.check(content.get("terms", ()), f"{path}")
    return content


def declared(module: str) -> tuple[dict[str, File], dict[str, str]]:
    """Return the original files of a dataset by name, and its tasks, each with one line.

    Parameters
    ----------
    module
        `__file__` of the module of the dataset; the JSON file of the same name stands beside it.

    Raises
    ------
    UserError
        If there is a mistake in the JSON file.
    """
    content = read(module)
    files = {}
    for name, file in content.get("files", {}).items():
        try:
            origins = tuple(map(_origin, file["origins"]))
            fields = {"size": None, **file, "origins": origins, "licence": content["licence"]}
            files[name] = File(name, **fields)
        except (KeyError, TypeError) as error:
            path = Path(module).with_suffix(".json")
            expected = "expected size, digest and origins, see docs/tutorials/add-a-dataset.md"
            raise UserError(f"{path}: {name}: {reason(error)}; {expected}.") from error
    return files, dict(content.get("tasks", {}))


def _origin(entry: str | dict[str, str]) -> Origin:
    if isinstance(entry, str):
        return Url(entry)
    return Wheel(**entry) if "member" in entry else Members(**entry)
