"""BibTeX of the suite, and of the papers and the data behind experiments, tasks and models.

Papers are entries of references.bib: those with the title of an experiment's paper, and those whose
keywords have the name of a model or dataset. Data are the original files of tasks.
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
    """Return the entries for an experiment, a paper's short name, a dataset, a task or a model.

    An empty name stands for the suite alone, whose entry is always the last. results: folder with
    the user's own experiments. Raise UserError for an unknown name.
    """
    available = {*experiments.names(), *experiments.user_names(results)}
    if named := [each for each in experiments.expand([name]) if each in available]:
        return of_experiments([experiments.load(each, results) for each in named])
    if name in models.registry() or not name:
        return _entries([name], [])
    if name in datasets.modules():
        return _entries([], datasets.modules()[name].FILES.values())
    with suppress(UserError):
        return _entries([], tasks.original_files(tasks.Task.parse(name)).values())
    registries = (experiments.papers(), models.registry(), datasets.modules(), datasets.tasks())
    every_name = available.union(*registries)
    raise unknown("name", name, every_name, "See `transferbench list`.")


def of_experiments(cited: Sequence[Experiment]) -> str:
    """Return the entries of the papers and the data of experiments, and of the suite."""
    planned = {run.run.task: None for experiment in cited for run in experiment.runs(1)}
    files = [file for task in planned for file in tasks.original_files(task).values()]
    return _entries([experiment.spec.paper.title for experiment in cited], files)


def _entries(names: Iterable[str], files: Iterable[fetch.File]) -> str:
    """Return the entries of papers by title or keyword, and of the datasets of original files."""
    data: dict[str, list[fetch.File]] = {}
    for file in files:
        data.setdefault(dataset_of(file.name), []).append(file)
    cited = {*names, *data, "transferbench"}
    *papers, suite = [
        f"{entry['text']}}}\n"
        for entry in ENTRY.finditer(REFERENCES.read_text("utf-8"))
        if cited & {entry["title"], *entry["keywords"].split(", ")}
    ]
    originals = [_data(dataset, of_it) for dataset, of_it in data.items()]
    return "\n".join([*papers, *originals, suite.replace("VERSION", __version__)])


def _data(dataset: str, files: list[fetch.File]) -> str:
    """Return the entry of a dataset's original files: their places and their licence."""
    module = datasets.modules().get(dataset)
    title = ((module and module.__doc__) or dataset).partition("\n")[0].partition(":")[0]
    origins = [file.origins[0].label for file in files if file.origins]
    places = dict.fromkeys(REPOSITORY.sub(r"https://github.com/\1/tree/\2", o) for o in origins)
    fields = {
        "key": f"data-{dataset}",  # BibTeX sorts by it, for want of an author
        "title": f"{{{_tex(title.rstrip('.'))}}}",
        "note": _tex(" ".join(dict.fromkeys(file.licence for file in files))),
        "howpublished": ", ".join(f"\\url{{{p}}}" if "://" in p else _tex(p) for p in places),
    }
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@misc{{data-{dataset},\n{body}}}\n"


def _tex(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", text)
