"""What `new` writes runs as it is written."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from programs import without_progress

import transferbench
from transferbench.cli import invoke
from transferbench.runs import store


@pytest.fixture
def installed(home, tmp_path):
    """Return a function that registers a written package as pip does, and one that calls."""

    def install(folder: Path) -> None:
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        info = folder / f"{project['name']}-{project['version']}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        lines = []
        for group, entries in project["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines))

    def call(folder: Path, *arguments: str) -> str:
        command = [sys.executable, "-m", "transferbench", "--offline", "--data", str(home.data)]
        command += ["--results", str(home.results), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False,
            env=os.environ | {"PYTHONPATH": str(folder)},
        )  # fmt: skip
        assert (done.returncode, without_progress(done.stderr)) == (0, "")
        return done.stdout

    return install, call


@pytest.mark.slow
def test_an_experiment_runs_and_is_known_by_name(real, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = ["--data", str(real.data), "--results", str(tmp_path / "out")]
    assert invoke(["new", "experiment", "mine"]) == 0
    assert "Next, in .:\n  transferbench reproduce mine.yaml --dry-run" in capfd.readouterr().out
    assert invoke([*folders, "reproduce", "mine.yaml"]) == 0
    records = store.read(tmp_path / "out" / "mine" / store.NAME).values()
    assert {record.status for record in records} == {"done"}
    claims = (tmp_path / "out" / "mine" / "claims.md").read_text(encoding="utf-8")
    assert "DTL is better than logistic regression" in claims
    assert invoke([*folders, "explain", "mine", "comp vs rec", "DTL"]) == 0
    assert "2 of 2 runs" in capfd.readouterr().out


def test_a_model_runs(installed, call, tmp_path, capfd):
    install, in_process = installed
    code, out, err = call("new", "model", "my-bayes", "--folder", str(tmp_path / "code"))
    assert (code, err) == (0, "")
    folder = tmp_path / "code" / "my-bayes"
    assert f"\nNext, in {folder}:\n  pip install -e '.[test]'\n  pytest\n  transferbench" in out
    install(folder)
    assert "smoothing: number > 0 = 1.0" in in_process(folder, "describe", "my-bayes")
    assert "\nmy-bayes " in in_process(folder, "list", "models")
    run = ["run", "generated/transfer:documents=400", "-m", "my-bayes", "--set", "smoothing=0.5"]
    lines = in_process(folder, *run).splitlines()
    (line,) = (line.split() for line in lines if line.startswith("my-bayes"))
    assert float(line[2]) > 60


def test_a_dataset_runs(installed, call, tmp_path):
    install, in_process = installed
    code, _, err = call("new", "dataset", "opinions", "--folder", str(tmp_path))
    assert (code, err) == (0, "")
    folder = tmp_path / "opinions"
    install(folder)
    assert "opinions  1      unknown" in in_process(folder, "list", "datasets", "opinions")
    assert "opinions/books-vs-films" in in_process(folder, "list", "tasks")
    described = in_process(folder, "describe", "opinions/books-vs-films")
    assert '"target": 6' in described
    assert "\nLicence: The licence of the documents" in described
    assert "nothing to fetch" in in_process(folder, "fetch", "opinions/books-vs-films")
    for name in ("opinions", "opinions/books-vs-films"):
        assert "note = {The licence of the documents" in in_process(folder, "cite", name)
    out = in_process(folder, "run", "opinions/books-vs-films", "-m", "lr")
    assert "documents: source 6, target 6" in out
    assert float(out.splitlines()[3].split()[2]) > 60


EXAMPLE = Path(__file__).parents[1] / "plugin_example"


def test_model_and_dataset_of_the_example_plug_in_run(installed, tmp_path):
    install, in_process = installed
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    install(folder)
    assert "shrinkage: number ≥ 0 = 0.0" in in_process(folder, "describe", "nearest-mean")
    run = ("run", "example/pets", "-m", "nearest-mean", "--set", "shrinkage=1", "--no-reference")
    out = in_process(folder, *run)
    assert "documents: owners 6, vets 6" in out
    model, domain, accuracy, *_ = out.splitlines()[3].split()
    assert (model, domain) == ("nearest-mean", "vets")
    assert float(accuracy) > 60


@pytest.mark.parametrize("seed", [False, True])
def test_a_model_keeps_the_contract_with_and_without_a_seed(call, tmp_path, seed):
    assert call("new", "model", "my-bayes", "--folder", str(tmp_path))[0] == 0
    path = tmp_path / "my-bayes" / "transferbench_model_my_bayes" / "model.py"
    if seed:
        with_a_seed(path)
    results = transferbench.check_model(str(path))
    assert [result.check for result in results if result.status != "ok"] == ["order"] * seed


def with_a_seed(path: Path) -> None:
    """Follow the comment above `fit`: add the argument, and draw random numbers from it."""
    text = path.read_text(encoding="utf-8")
    assert "add the argument `seed: int`" in " ".join(text.replace("#", "").split())
    before = "    theta = counts + smoothing\n"
    noise = "    counts = counts * np.random.default_rng(seed).uniform(0.9, 1.1, counts.shape)\n"
    text = text.replace("smoothing: Positive = 1.0)", "smoothing: Positive = 1.0, seed: int)")
    path.write_text(text.replace(before, noise + before), encoding="utf-8")


@pytest.mark.slow
def test_what_is_written_passes_its_tests_the_linter_and_the_type_checker(
    call, home, tmp_path, installed
):
    commands = [["ruff", "check", "."], ["ruff", "check", "--isolated", "."], ["mypy", "."]]
    commands += [["pytest", "-p", "no:cacheprovider"]]
    package = Path(__file__).parents[2]
    environment = {"TRANSFERBENCH_DATA": str(home.data)}
    environment["MYPY_CACHE_DIR"] = str(tmp_path / "types")
    for kind, command in [
        *itertools.product(("model", "dataset"), commands),
        ("seed", commands[-1]),
    ]:
        folder = tmp_path / f"a-{'model' if kind == 'seed' else kind}-of-some-length"
        if kind == "seed":
            with_a_seed(next(folder.glob("*/model.py")))
        if not folder.exists():
            assert call("new", kind, folder.name, "--folder", str(tmp_path))[0] == 0
            installed[0](folder)
        done = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, check=False,
            cwd=folder, env=os.environ | environment | {"PYTHONPATH": f"{package}:{folder}"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["experiment", "model", "dataset"])
def test_nothing_is_replaced(call, tmp_path, kind):
    folder = ["--folder", str(tmp_path)]
    assert call("new", kind, "mine", *folder)[0] == 0
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    code, out, err = call("new", kind, "mine", *folder)
    assert (code, out) == (2, "")
    assert "exists already" in err
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("experiment", "gtl-table3", "the name 'gtl-table3' is taken"),
        ("model", "gcmf", "there is a model gcmf already"),
        ("dataset", "gtl", "there is a dataset gtl already"),
        ("model", "../x", "is not a name"),
        ("dataset", "My data", "is not a name"),
        ("experiment", "", "is not a name"),
        ("modle", "x", "'modle' is not one of"),
    ],
)
def test_a_name_that_cannot_be_used_is_one_line(call, tmp_path, kind, name, message):
    code, out, err = call("new", kind, name, "--folder", str(tmp_path / "new"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (tmp_path / "new").exists()
