"""Estimators of other packages and files as models: what they are trained on, and their code."""

from __future__ import annotations

import sys

import pytest

from transferbench import models, parameters, tasks
from transferbench.errors import UserError
from transferbench.models import external
from transferbench.settings import Settings

ADAPTING = """\
from sklearn.linear_model import LogisticRegression

SEEN = []


class Adapting(LogisticRegression):
    def __init__(self, C: float = 1.0, scale: float = 1.0):
        super().__init__(C=C)
        self.scale = scale

    def fit(self, X, y, Xt=None):
        SEEN.append((X.shape, Xt.shape, self.scale))
        return super().fit(X, y)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A problem with one target, and its truth."""
    folder = tmp_path_factory.mktemp("data")
    task = tasks.Task.parse("generated/transfer:documents=120")
    return tasks.load(task, Settings(data=folder, results=folder, offline=True))


def accuracies(built, name, **given) -> list[float]:
    """Fit a model; return its accuracy on each domain without labels."""
    problem, truth = built
    params = parameters.resolve(models.load(name), given, name)
    fit = models.fit(name, problem, params, seed=0, watch=None)
    return [
        float((scores.argmax(axis=1) == Y.argmax(axis=1)).mean())
        for scores, Y, domain in zip(fit.scores, truth.Y, problem.domains, strict=True)
        if not domain.seen.any()
    ]


def test_an_estimator_with_a_target_is_trained_for_each(built, tmp_path, monkeypatch):
    (tmp_path / "adapting.py").write_text(ADAPTING)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert accuracies(built, "adapting:Adapting", scale="2")[0] > 0.6
    targets = [domain for domain in built[0].domains if not domain.seen.any()]
    (fitted,) = sys.modules["adapting"].SEEN
    source, target, scale = fitted
    assert source[1] == target[1] <= 100  # coordinates of the SVD, not words
    assert (target[0], scale) == (len(targets[0].seen), 2.0)


def test_the_code_of_a_file_is_its_syntax(tmp_path):
    codes = []
    for text in ("def fit(problem): ...\n", "def fit(problem): ...  # a note\n", "fit = print\n"):
        file = tmp_path / f"{len(codes)}.py"  # the code of a path is computed once in a process
        file.write_text(text)
        codes.append(models.code(str(file)))
    assert codes[0] == codes[1] != codes[2]
    assert models.load(str(file)) is print


def test_the_code_of_an_estimator_has_the_version_of_its_package(monkeypatch):
    before, svc = models.code("sklearn.svm:LinearSVC"), models.code("sklearn.svm:SVC")
    assert before != svc
    monkeypatch.setattr(external, "version", lambda package: "99")
    models.code.cache_clear()
    assert models.code("sklearn.svm:LinearSVC") not in (before, svc)
    models.code.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        "import no_such_module\n",
        "raise SystemExit\n",
        "fit = 1\n",
        "class fit:\n    pass\n",
        "from functools import partial\n\nfit = partial(print)\n",
    ],
)
def test_a_file_that_is_no_model_is_one_line(tmp_path, text):
    (tmp_path / "broken.py").write_text(text)
    models.load.cache_clear()
    with pytest.raises(UserError, match=r"broken\.py") as error:
        models.load(str(tmp_path / "broken.py"))
    assert "\n" not in str(error.value)
