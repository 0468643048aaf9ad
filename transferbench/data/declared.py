"""What a dataset declares in the JSON file beside its module.

    licence   a notice of one line about the files
    files     {"<dataset>/<file>": {size, digest, origins}}, see `fetch.File`; an origin is an
              address, or the fields of `fetch.Wheel` or `fetch.Members`
    tasks     {task: one line}, `<paper or set>/<name>` or `<set>`
    facts     {task: facts}, which the task must have if it is built with the default options, see
              `facts.Facts`

All but the tasks may be missing.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from transferbench.data.fetch import File, Members, Origin, Url, Wheel


@cache
def read(module: str) -> dict[str, Any]:
    """Return the content of the JSON file beside the file of a module."""
    content: dict[str, Any] = json.loads(Path(module).with_suffix(".json").read_text("utf-8"))
    return content


def declared(module: str) -> tuple[dict[str, File], dict[str, str]]:
    """Return the original files of a dataset by name, and its tasks, each with one line."""
    content = read(module)
    files = {
        name: File(
            name=name,
            size=file.get("size"),
            digest=file["digest"],
            origins=tuple(map(_origin, file["origins"])),
            licence=content["licence"],
            also=file.get("also", ""),
        )
        for name, file in content.get("files", {}).items()
    }
    return files, dict(content.get("tasks", {}))


def _origin(entry: str | dict[str, str]) -> Origin:
    if isinstance(entry, str):
        return Url(entry)
    return Wheel(**entry) if "member" in entry else Members(**entry)
