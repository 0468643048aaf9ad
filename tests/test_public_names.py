"""What users may rely on: a name that changes after a release has a line in the changelog.

`public_names.txt` lists the names of the last release. Write it anew with each release:
`python tests/test_public_names.py`.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

import transferbench
from transferbench import datasets, estimators, measures, models, parameters, tasks
from transferbench.cli import main
from transferbench.experiments.schema import Schema, StrictModel
from transferbench.runs.record import Record

FILE = Path(__file__).with_name("public_names.txt")
CHANGELOG = Path(__file__).parent.parent / "CHANGELOG.md"


def lines() -> Iterator[str]:
    """Yield what is public, a line for each thing: its kind, its name, how it is called."""
    for name in transferbench.__all__:
        signature = inspect.signature(getattr(transferbench, name))
        yield f"python {name} {' '.join(signature.parameters)}"
    for name in (
        "TransferClassifier", "MultiLabelClassifier", "MultiTaskClusterer", "SentenceEmbeddings",
    ):  # fmt: skip
        signature = inspect.signature(getattr(estimators, name))
        yield f"estimator {name} {' '.join(signature.parameters)}"
    with click.Context(main) as context:
        commands = {name: main.get_command(context, name) for name in main.list_commands(context)}
    for name, command in {"transferbench": main, **commands}.items():
        options = sorted(option for each in command.params for option in each.opts)
        yield f"command {name} {' '.join(options)}"
    for name, model in models.registry().items():
        if model.path.is_relative_to(models.FOLDER):
            yield f"model {name} {' '.join(parameters.schema(models.load(name)))}"
    for name, module in datasets.modules().items():
        if module.__name__.startswith("transferbench."):
            yield f"dataset {name} {' '.join(parameters.schema(module.build))}"
            yield f"tasks {name} {' '.join(sorted(module.TASKS))}"
    yield f"options tasks {' '.join(tasks.SUBSAMPLE)} {tasks.ORDER.name}"
    yield f"measures all {' '.join(sorted(measures.SCORES))}"
    yield f"keys experiment {' '.join(sorted(Schema.model_fields))}"
    for part in sorted(
        set(StrictModel.__subclasses__()) - {Schema}, key=lambda part: part.__name__
    ):
        name = part.__name__.removesuffix("Spec")  # the class may be called otherwise
        yield f"keys experiment.{name} {' '.join(sorted(part.model_fields))}"
    yield f"keys runs.jsonl {' '.join(field.name for field in dataclasses.fields(Record))}"


def changed(before: list[str], now: list[str]) -> dict[str, set[str]]:
    """Return the names that went, came or moved, by the thing that has them."""
    old, new = ({tuple(line.split(" ")[:2]): line for line in each} for each in (before, now))
    things = {}
    for kind, name in old | new:
        one, other = (set(each.get((kind, name), "").split()) for each in (old, new))
        things[f"{kind} {name}"] = one ^ other if one and other else {name}
    return {name: words for name, words in things.items() if words}


def untold(changes: dict[str, set[str]], text: str) -> list[str]:
    """Return the changed names without a place in a changelog, in code font."""
    codes = re.findall(r"`([^`]+)`", text)
    told = {word for code in codes for word in [*re.split(r"[\s=,/]", code), *code.split()]}
    return sorted(f"{thing}: {word}" for thing in changes for word in changes[thing] - told)


def newer(text: str, version: str) -> str:
    """Return the part of a changelog above a version."""
    above, found, _ = text.partition(f"\n## {version}")
    assert found, f"no section {version} in the changelog"
    return above


def test_each_public_name_that_changed_since_the_release_is_in_the_changelog():
    version, *before = FILE.read_text(encoding="utf-8").splitlines()
    missing = untold(changed(before, list(lines())), newer(CHANGELOG.read_text("utf-8"), version))
    assert not missing, f"write in CHANGELOG.md, above {version}, what changes: {missing}"


if __name__ == "__main__":
    FILE.write_text("\n".join([transferbench.__version__, *lines()]) + "\n", encoding="utf-8")
