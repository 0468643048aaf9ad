"""BibTeX of the suite, and of the papers and the data behind experiments, tasks and models.

Papers are the references of CITATION.cff: one whose title is that of an experiment's paper, and one
whose keywords have the name of a model or dataset. Data are the original files of tasks.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from transferbench import datasets, experiments, models, strict_yaml
from transferbench.data import fetch, tasks
from transferbench.datasets._published import dataset_of
from transferbench.errors import UserError, unknown
from transferbench.evidence.pages import tex
from transferbench.experiments.experiment import Experiment

PACKAGE = Path(__file__).parent
#: A file of a repository at a commit.
REPOSITORY = re.compile(r"https://raw\.githubusercontent\.com/([^/]+/[^/]+)/([^/]+)/.*")
#: Field of BibTeX → key of CITATION.cff.
FIELDS = {
    "booktitle": "collection-title", "journal": "journal", "volume": "volume", "number": "issue",
    "pages": "pages", "year": "year", "version": "version", "note": "notes",
}  # fmt: skip
KINDS = {"booktitle": "inproceedings", "journal": "article"}


@cache
def _cff() -> dict[str, Any]:
    """Return CITATION.cff: from the wheel, or from the top of the source tree."""
    inside = PACKAGE / "CITATION.cff"
    path = inside if inside.is_file() else PACKAGE.parent / "CITATION.cff"
    content: dict[str, Any] = strict_yaml.load(path)[0]
    return content


def bibtex(name: str, results: Path) -> str:
    """Return the entries for an experiment, a paper's short name, a dataset, a task or a model.

    An empty name stands for the suite alone, whose entry is always the last. results: folder with
    the user's own experiments. Raise UserError for an unknown name.
    """
    own = experiments.own_names(results)
    known = {*experiments.names(), *own}
    if named := [each for each in experiments.expand([name], own) if each in known]:
        return of_experiments([experiments.load(each, results) for each in named])
    if name in models.registry() or not name:
        return _entries([name], [])
    if name in datasets.modules():
        return _entries([], datasets.modules()[name].FILES.values())
    with suppress(UserError):
        return _entries([], tasks.needed(tasks.Task.named(name)).values())
    known |= {*experiments.papers(), *models.registry(), *datasets.modules(), *datasets.tasks()}
    raise unknown("name", name, known, "See `transferbench list`.")


def of_experiments(cited: Sequence[Experiment]) -> str:
    """Return the entries of the papers and the data of experiments, and of the suite."""
    planned = {run.run.task: None for experiment in cited for run in experiment.runs(1)}
    files = [file for task in planned for file in tasks.needed(tasks.Task.named(task)).values()]
    return _entries([experiment.spec.paper.title for experiment in cited], files)


def _entries(names: Iterable[str], files: Iterable[fetch.File]) -> str:
    """Return the entries of papers by title or keyword, and of the datasets of original files."""
    data: dict[str, list[fetch.File]] = {}
    for file in files:
        data.setdefault(dataset_of(file.name), []).append(file)
    wanted = {*names, *data}
    cited = [each for each in _cff()["references"] if wanted & {each["title"], *each["keywords"]}]
    entries = {_key(each): each for each in cited}
    entries |= {f"data-{dataset}": _data(dataset, of_it) for dataset, of_it in data.items()}
    suite = {"year": f"{_cff()['date-released']}"[:4], "notes": _cff()["abstract"]}
    entries["transferbench"] = _cff() | suite
    return "\n".join(_entry(key, each) for key, each in entries.items())


def _data(dataset: str, files: list[fetch.File]) -> dict[str, Any]:
    """Return a dataset's original files as a reference: their places and their licence."""
    module = datasets.modules().get(dataset)
    title = ((module and module.__doc__) or dataset).partition("\n")[0].partition(":")[0]
    origins = [file.origins[0].label for file in files if file.origins]
    places = dict.fromkeys(REPOSITORY.sub(r"https://github.com/\1/tree/\2", o) for o in origins)
    return {
        "title": title.rstrip("."),
        "authors": [],
        "notes": " ".join(dict.fromkeys(file.licence for file in files)),
        "places": ", ".join(f"\\url{{{p}}}" if "://" in p else tex(p) for p in places),
    }


def _key(reference: Mapping[str, Any]) -> str:
    """Return first author, year and the first long word of the title: long2012transfer."""
    surname, *words = (
        re.sub("[^a-z0-9]", "", unicodedata.normalize("NFKD", text).lower())
        for text in (next(iter(reference["authors"][0].values())), *reference["title"].split())
    )
    word = next((word for word in words if len(word) > 2 and word not in ("the", "for")), "")
    return f"{surname}{reference.get('year', '')}{word}"


def _entry(key: str, reference: Mapping[str, Any]) -> str:
    pages = "--".join(f"{reference[end]}" for end in ("start", "end") if end in reference)
    given = {**reference, "pages": pages}
    fields = {name: tex(f"{given[k]}") for name, k in FIELDS.items() if given.get(k)}
    kinds = [KINDS[name] for name in fields if name in KINDS and "year" in fields]
    authors = [  # a group has one name, in braces
        ", ".join(author.values()) if "family-names" in author else f"{{{author['name']}}}"
        for author in reference["authors"]
    ]
    head = {"author": " and ".join(authors)} if authors else {"key": key}
    head["title"] = f"{{{tex(reference['title'])}}}"  # double braces keep its capitals
    fields = head | fields | {"howpublished": reference.get("places", "")}
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{kinds[0] if kinds else 'misc'}{{{key},\n{body}}}\n"
