"""BibTeX of transferbench, and of the papers and the data behind experiments, tasks and models.

Papers are entries of references.bib, found by the title of an experiment's paper, or by the name of
a model or dataset among their keywords. Data are the original files of tasks.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from transferbench import __version__, datasets, experiments, models, tasks
from transferbench.data import fetch
from transferbench.datasets import dataset_of
from transferbench.errors import UserError, unknown
from transferbench.experiments.experiment import Experiment

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
        return _bibtex_entries([], datasets.modules()[name].FILES.values())
    with suppress(UserError):
        return _bibtex_entries([], tasks.original_files(tasks.Task.parse(name)).values())
    registries = (experiments.papers(), models.registry(), datasets.modules(), datasets.tasks())
    every_name = available.union(*registries)
    raise unknown("name", name, every_name, "See `transferbench list`.")


def bibtex_of(cited: Sequence[Experiment]) -> str:
    """Return the entries of the papers and data of experiments, and of transferbench."""
    planned = {run.run.task: None for experiment in cited for run in experiment.runs(1)}
    files = [file for task in planned for file in tasks.original_files(task).values()]
    return _bibtex_entries([experiment.spec.paper.title for experiment in cited], files)


def _bibtex_entries(names: Iterable[str], files: Iterable[fetch.File]) -> str:
    """Return the entries of papers and of data, and of transferbench."""
    data: dict[str, list[fetch.File]] = {}
    for file in files:
        data.setdefault(dataset_of(file.name), []).append(file)
    cited = {*names, *data, "transferbench"}
    *papers, suite = [
        f"{entry['text']}}}\n"
        for entry in ENTRY.finditer(REFERENCES.read_text("utf-8"))
        if cited & {entry["title"], *entry["keywords"].split(", ")}
    ]
    originals = [_data_entry(dataset, originals) for dataset, originals in data.items()]
    return "\n".join([*papers, *originals, suite.replace("VERSION", __version__)])


def _data_entry(dataset: str, files: list[fetch.File]) -> str:
    """Return the entry of a dataset's original files, with their addresses and licences."""
    module = datasets.modules().get(dataset)
    title = ((module and module.__doc__) or dataset).partition("\n")[0].partition(":")[0]
    origins = [file.origins[0].label for file in files if file.origins]
    addresses = dict.fromkeys(REPOSITORY.sub(r"https://github.com/\1/tree/\2", o) for o in origins)
    fields = {
        "key": f"data-{dataset}",  # BibTeX sorts by it, for want of an author
        "title": f"{{{_tex(title.rstrip('.'))}}}",
        "note": _tex(" ".join(dict.fromkeys(file.licence for file in files))),
        "howpublished": ", ".join(f"\\url{{{a}}}" if "://" in a else _tex(a) for a in addresses),
    }
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{data-{dataset},\n{body}}}\n"


def _tex(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", text)
