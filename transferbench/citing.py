"""BibTeX of transferbench and its numbers, and of papers and data behind tasks and models.

Papers are entries of references.bib, found by the title of an experiment's paper, or by the name of
a model or dataset among their keywords. Data are the original files of tasks.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from transferbench import __version__, datasets, experiments, models, tasks
from transferbench.data import fetch
from transferbench.errors import UserError, unknown
from transferbench.evidence.explain import describe_cell
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import latex_text
from transferbench.experiments.experiment import Experiment
from transferbench.fingerprint import summary

REFERENCES = Path(__file__).with_name("references.bib")
#: An entry of REFERENCES, whose keywords are not printed.
ENTRY = re.compile(
    r"(?P<text>^@.*?title = \{\{(?P<title>.*?)\}\}.*?)  keywords = \{(?P<keywords>.*?)\},\n\}\n",
    re.MULTILINE | re.DOTALL,
)
#: A file of a repository at a commit.
REPOSITORY = re.compile(r"https://raw\.githubusercontent\.com/([^/]+/[^/]+)/([^/]+)/.*")


def bibtex(name: str, results: Path) -> str:
    """Return the entries for a name; the last one is always that of transferbench."""
    # `name`: Name of an experiment, a paper, a dataset, a task or a model; "" for transferbench
    # alone.
    available = {*experiments.names(), *experiments.user_names(results)}
    if cited := [known for known in experiments.expand([name]) if known in available]:
        return bibtex_of([experiments.load(known, results) for known in cited])
    if name in models.registry() or not name:
        return _bibtex_entries([name], [])
    if name in datasets.modules():
        return _bibtex_entries([], map(tasks.Task.parse, datasets.modules()[name].TASKS))
    with suppress(UserError):
        return _bibtex_entries([], [tasks.Task.parse(name)])
    registries = (experiments.papers(), models.registry(), datasets.modules(), datasets.tasks())
    every_name = available.union(*registries)
    raise unknown("name", name, every_name, "See `transferbench list`.")


def bibtex_of_number(experiment: Experiment, cell: Cell) -> str:
    """Return the entry of a number of ours, then those of its paper, its data and transferbench."""
    facts = describe_cell(experiment, cell)
    if cell.reason or not cell.runs:
        raise UserError(f"there is no finished number to cite: {cell.reason}.")
    is_own = experiment.name in experiments.names()
    author = "The transferbench developers" if is_own else experiment.spec.paper.authors
    page = "figure.md" if experiment.spec.figure else "table.md"
    fields = {
        "author": f"{{{latex_text(author)}}}",
        "title": f"{{{latex_text(facts['title'])}: {latex_text(facts['ours'])}}}",
        "year": max(record.finished for record in cell.records)[:4],
        "version": __version__,
        "howpublished": latex_text(f"transferbench, {experiment.folder(Path('results')) / page}"),
        "note": latex_text(f"Number {facts['number']}; its last part is the digest of its runs"),
    }
    key = hashlib.sha256(facts["number"].encode()).hexdigest()[:12]
    others = _bibtex_entries(
        [experiment.spec.paper.title], (record.run.task for record in cell.records)
    )
    return "\n".join([_entry(f"transferbench-{key}", fields), others])


def bibtex_of(cited: Sequence[Experiment]) -> str:
    """Return the entries of the papers and data of experiments, and of transferbench."""
    planned = (run.run.task for experiment in cited for run in experiment.runs(1))
    return _bibtex_entries([experiment.spec.paper.title for experiment in cited], planned)


def _bibtex_entries(names: Iterable[str], cited_tasks: Iterable[tasks.Task]) -> str:
    """Return the entries of papers and of the data of tasks, and of transferbench."""
    data: dict[str, list[fetch.File]] = {}
    for task in dict.fromkeys(cited_tasks):
        dataset, files = datasets.of_task(task.base), tasks.original_files(task).values()
        if not files and dataset.content.get("licence"):  # its documents are in its package
            data.setdefault(dataset.name, [])
        for file in files:
            owner = datasets.owner(file.name)
            name = owner.name if owner else file.name.partition("/")[0]
            data.setdefault(name, []).append(file)
    cited = {*names, *data, "transferbench"}
    *papers, suite = [
        f"{entry['text']}}}\n"
        for entry in ENTRY.finditer(REFERENCES.read_text("utf-8"))
        if cited & {entry["title"], *entry["keywords"].split(", ")}
    ]
    originals = [_data_entry(dataset, originals) for dataset, originals in data.items()]
    return "\n".join([*papers, *originals, suite.replace("VERSION", __version__)])


def _data_entry(dataset: str, files: list[fetch.File]) -> str:
    """Return the entry of a dataset, with the addresses and licences of its files."""
    known = next((one for one in datasets.every() if one.name == dataset), None)
    title = ((known and summary(known.path)) or dataset).partition(":")[0]
    licences = [file.licence for file in files] or [known.content["licence"] if known else ""]
    origins = [file.origins[0].label for file in files if file.origins]
    addresses = dict.fromkeys(REPOSITORY.sub(r"https://github.com/\1/tree/\2", o) for o in origins)
    fields = {
        "key": f"data-{dataset}",  # BibTeX sorts by it, for want of an author
        "title": f"{{{_tex(title.rstrip('.'))}}}",
        "note": _tex(" ".join(dict.fromkeys(licences))),
        "howpublished": ", ".join(f"\\url{{{a}}}" if "://" in a else _tex(a) for a in addresses),
    }
    return _entry(f"data-{dataset}", fields)


def _entry(key: str, fields: Mapping[str, str]) -> str:
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{body}}}\n"


def _tex(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", text)
