"""Contract of every task of every dataset; a new dataset file is tested by existing."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ELSEWHERE, originals, slow_unless

from transferbench import datasets, parameters, tasks
from transferbench.data.facts import Facts
from transferbench.errors import Unavailable

OPTIONS = {name: parameters.schema(datasets.module(name).build) for name in datasets.tasks()}
#: Datasets of this package.
DECLARED = [d for d in datasets.every() if d.module.startswith("transferbench.")]
#: Tasks from the user's own files, which the option `path` names.
OWN = [name for name, options in OPTIONS.items() if "path" in options]
#: Built in other tests: embeddings take minutes, and need a library of an extra.
EMBEDDED = [name for name in OPTIONS if name.startswith("embedded/")]
#: Each takes long, all by the same code as the first, and every run checks its facts.
FIRST = ("amazon/books-vs-dvd", "rcv1/subset1")
ALIKE = [n for n in OPTIONS if n.startswith(("amazon/", "rcv1/")) and n not in FIRST]
FETCHED = [name for name in OPTIONS if name not in {*OWN, *EMBEDDED, *ALIKE}]


@pytest.mark.parametrize("name", datasets.tasks())
def test_a_task_states_its_files_and_facts(name):
    module = datasets.module(name)
    if name not in {*ELSEWHERE, *OWN}:
        hint = f"build it by `pytest {__file__} -k 'facts_hold and {name}'`, which prints its facts"
        assert "digest" in datasets.facts(name), hint
    assert tasks.Task.parse(name).has_default_options
    needed = tasks.original_files(tasks.Task.parse(name))
    assert bool(needed) == bool(module.FILES)  # empty where nothing is fetched at all
    for key, file in needed.items():
        assert file.name == key
        assert file.origins
        assert file.licence
        assert file.size or name in ELSEWHERE


@pytest.mark.parametrize("module", datasets.modules().values(), ids=list(datasets.modules()))
def test_every_original_belongs_to_a_task(module):
    used = {file for name in module.TASKS for file in tasks.original_files(tasks.Task.parse(name))}
    assert used == set(module.FILES)


@pytest.mark.parametrize("dataset", DECLARED, ids=lambda dataset: dataset.name)
def test_the_terms_of_a_dataset_are_declared_and_cover_all_its_files(dataset):
    files = importlib.import_module(dataset.module).FILES
    owners = filter(None, map(datasets.owner, files))
    assert "terms" in dataset.content
    assert bool(dataset.terms) == bool(files or dataset.content.get("files"))
    assert {*dataset.terms} >= {term for owner in owners for term in owner.terms}


@pytest.mark.parametrize("dataset", DECLARED, ids=lambda dataset: dataset.name)
def test_the_json_file_of_a_dataset_is_that_of_its_module(dataset):
    module = importlib.import_module(dataset.module)
    assert dataset.content["tasks"] == module.TASKS
    assert dataset.content.get("facts", {}).keys() <= module.TASKS.keys()
    assert dataset.content.get("files", {}).keys() <= {*module.FILES, *getattr(module, "KNOWN", ())}
    path = Path(module.__file__).with_suffix(".json")
    long = [key for key, value in dataset.content.items() if isinstance(value, dict)]
    entries = sum(len(dataset.content[key]) for key in long)
    # One entry a line, so that a difference shows what changed.
    assert (
        len(path.read_text("utf-8").splitlines()) == 2 + len(dataset.content) + len(long) + entries
    )


def test_a_task_is_found_and_listed_without_importing_other_datasets():
    code = """if True:
        import sys
        from transferbench import datasets, tasks
        assert len(datasets.tasks()) > 100
        datasets.facts(tasks.Task.parse("comp-vs-rec").base)["digest"]
        names = [n for n in sys.modules if n.startswith("transferbench.datasets.")]
        assert names == ["transferbench.datasets.newsgroups"], names
        assert "transferbench.own.tasks" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_short_names_are_of_the_first():
    assert datasets.full_name("comp-vs-sci") == "gtl/comp-vs-sci"  # zhuang/, mtc/ have it, too
    assert datasets.full_name("rec-vs-talk") == "gtl/rec-vs-talk"
    assert datasets.full_name("comp-vs-rec-19997") == "dtl/comp-vs-rec-19997"
    assert datasets.full_name("webkb4") == "mtc/webkb4"


@pytest.mark.parametrize("name", OWN)
def test_without_the_users_files_the_error_states_the_remedy(name, home):
    with pytest.raises(Unavailable, match=rf"; .*: {name}:path=(FOLDER|FILE\.yaml)\.$") as error:
        tasks.load(tasks.Task.parse(name), home)
    assert "\n" not in str(error.value)
    assert datasets.module(name).user_files(home.data) == []


#: Tasks that are built quickly, the first of each kind, and one without labels.
QUICK = {
    *{name.split("/")[0]: name for name in reversed(FETCHED)}.values(),
    "email-spam/inboxes",
}
QUICK -= {name for name in QUICK if name.startswith(("amazon/", "crisislex/", "rcv1/", "zhuang/"))}
QUICK -= {name for name in QUICK if name.endswith(("-19997", "-bydate"))}


@pytest.mark.parametrize("name", slow_unless(QUICK.__contains__, FETCHED))
def test_facts_hold_when_built_from_the_originals(name):
    """The cache of built tasks is not used, so that the builder itself runs."""
    module = datasets.module(name)
    problem, truth = module.build(name, originals(name), **tasks.Task.parse(name).options)
    facts, known = Facts.from_problem(problem, truth), datasets.facts(name)
    line = json.dumps({name: facts.to_json()}, ensure_ascii=False)[1:-1]
    assert known, f'check it by hand, then write into "facts" of {module.__name__}: {line}'
    facts.check(name, known)

    transfer = problem.family == "transfer"
    unit_length = tasks.Task.parse(name).options.get("unit_length", False)
    for i, (domain, Y, scored) in enumerate(
        zip(problem.domains, truth.Y, truth.scored, strict=True)
    ):
        if problem.family != "multilabel":
            # The inboxes alone are for methods that need no labels.
            labelled = transfer and i == 0 and name != "email-spam/inboxes"
            assert (domain.seen == labelled).all()
            np.testing.assert_array_equal(Y.sum(axis=1), 1)
        assert (scored == ~domain.seen).all()
        np.testing.assert_array_equal(domain.Y, np.where(domain.seen[:, None], Y, 0))
        assert problem.family == "multilabel" or Y.any(axis=0).all()
        for view, first in zip(domain.views, problem.domains[0].views, strict=True):
            assert view.shape == (len(Y), first.shape[1])
            assert view.min() >= 0
            assert np.isfinite(view.sum())
            if unit_length:
                length = np.sqrt(view.multiply(view).sum(axis=1))
                assert ((np.abs(length - 1) < 1e-5) | (length == 0)).all()
    assert np.vstack(truth.Y).any(axis=0).all()
    for views in zip(*(domain.views for domain in problem.domains), strict=True):
        assert sum(view.sum(axis=0) for view in views).all()  # every feature occurs
