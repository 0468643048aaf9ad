"""A number that the present data and code did not yield is marked, and `--check` fails."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from small_experiment import PLAIN

from transferbench.runs import store

NEWER = {"finished": "2039-01-01T00:00:00Z"}
FAILED = {
    "status": "failed", "reason": "why", "metrics": {}, "documents": {}, "right": {},
    **NEWER,
}  # fmt: skip


@pytest.fixture
def plain(call, home, reproduced, tmp_path):
    """Results of an experiment of two columns; the function changes lines of its runs."""
    path = tmp_path / "plain.yaml"
    path.write_text(PLAIN)
    shutil.copytree(reproduced / "results", home.results)
    runs = home.results / "plain" / store.NAME

    def change(columns: int, *, append: bool = False, **values) -> None:
        """Change fields of the lines of the first columns, or append changed copies of them."""
        lines = [json.loads(line) for line in runs.read_text().splitlines()]
        first = {line["model"] for line in lines[:1]} if columns == 1 else None
        changed = [line | values if first is None or line["model"] in first else line
                   for line in lines]  # fmt: skip
        kept = lines if append else []
        runs.write_text("".join(f"{json.dumps(line)}\n" for line in [*kept, *changed]))

    change.path = str(path)
    change.table = runs.with_name("table.md")
    return change


def test_a_column_of_older_data_is_marked_and_nothing_is_averaged_or_shared(call, plain, tmp_path):
    before = plain.table.read_text()
    plain(1, data="0123456789abcdef", **NEWER)
    code, out, err = call("tables", "plain")
    assert code == 0
    assert "plain: outdated: the data of generated/clusters:documents=200 are not those" in err
    assert "`transferbench reproduce plain` makes them again" in err
    table = plain.table.read_text()
    assert table.count("none –") == before.count("none –") + 1 + table.count("| average")
    assert "outdated: the data of generated/clusters:documents=200" in table
    code, out, err = call("tables", "plain", "--check")
    assert (code, "is what its runs yield" in out) == (1, False)
    code, out, err = call("share", "plain", "--out", str(tmp_path / "a.zip"))
    assert (code, "outdated: the data" in err) == (2, True)
    assert not (tmp_path / "a.zip").exists()
    code, out, err = call("explain", plain.path, "made up", "kernels")
    assert "outdated" in out + err


def test_all_runs_of_other_code_are_said(call, plain):
    plain(1, code="0123456789abcdef")
    code, _out, err = call("tables", plain.path, "--check")
    assert code == 1
    assert "plain: outdated: 2 of 4 runs are of earlier code" in err


def test_values_of_the_data_tell_as_their_digest_does(call, plain):
    values = json.loads(plain.table.with_name("runs.jsonl").read_text().splitlines()[0])["values"]
    plain(1, values=[value * (1 + 1e-13) for value in values], **NEWER)
    assert call("tables", "plain", "--check")[0] == 0  # it is rounded otherwise
    plain(1, values=[value * (1 + 1e-9) for value in values], **NEWER)
    assert call("tables", "plain", "--check")[0] == 1


def test_one_seed_of_other_code_leaves_no_mean(call, plain):
    path = plain.table.with_name("runs.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0] |= {"code": "0123456789abcdef", **NEWER}
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert call("tables", "plain", "--check")[0] == 1
    call("tables", "plain")
    assert "outdated: the code of kmeans is not that of newer runs" in plain.table.read_text()


@pytest.mark.parametrize(
    ("origin", "gone"), [({}, 0), ({"code": "0" * 16}, 1), ({"data": "0" * 16}, 2)]
)
def test_a_run_that_fails_replaces_one_of_other_data_or_code_only(call, plain, origin, gone):
    """With other data the other column, which was not made again, is outdated, too."""
    before = plain.table.read_text().count("none –")
    plain(1, append=True, **FAILED, **origin)
    call("tables", "plain")
    rows = plain.table.read_text().partition("| average")[0]
    assert rows.count("none –") == before + gone


@pytest.mark.parametrize("documents", [True, False])
def test_a_domain_that_other_runs_lack_is_not_averaged_in(call, plain, documents):
    path = plain.table.with_name("runs.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["metrics"]["ghost"] = {"accuracy": 1.0}
    lines[0]["documents"]["ghost"] = 50
    if not documents:
        del lines[0]["documents"]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    code, _, err = call("tables", "plain", "--check")
    assert code == 1
    assert "other documents are scored than by other runs" in err


def test_a_shared_file_that_changes_outdates_every_row(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, period in (("s", 5), ("t", 7), ("u", 6)):
        words = [f"{'team report' if i % 2 else 'free cash'} word{i % period}" for i in range(40)]
        rows = [f"{text},{i % 2}" for i, text in enumerate(words)]
        Path(f"{name}.csv").write_text("text,label\n" + "\n".join(rows))
    for name in ("t", "u"):
        options = f"source: s.csv\ntargets: [{name}.csv]\noptions: {{min_df: 1}}"
        Path(f"{name}.yaml").write_text(f"family: transfer\n{options}\n")
    text = PLAIN.partition("rows:")[0]
    rows = "rows: {one: {task: t.yaml}, two: {task: u.yaml}}"
    Path("mine.yaml").write_text(f"{text}{rows}\ncolumns: {{LR: {{model: lr}}}}\n")
    assert call("reproduce", "mine.yaml")[0] == 0
    Path("s.csv").write_text(Path("s.csv").read_text().replace("free", "big"))
    assert call("run", "t.yaml", "--model", "lr")[0] == 0
    code, _, err = call("reproduce", "mine.yaml", "--rerun", "missing")
    assert (code, "the files of own:path=u.yaml have changed since: two LR" in err) == (0, True)
    assert call("tables", "mine", "--check")[0] == 1


def test_a_setting_is_not_chosen_from_a_grid_of_different_code(call, home, tmp_path):
    path = tmp_path / "grid.yaml"
    grid = "grid: {sigma: [1.0, 2.0]}, choose: [accuracy], params: {"
    path.write_text(PLAIN.replace("params: {sigma: 1.0, ", grid))
    assert call("reproduce", str(path))[0] == 0
    runs = home.results / "grid" / store.NAME
    lines = [json.loads(line) for line in runs.read_text().splitlines()]
    last = next(line for line in lines if line["params"].get("sigma") == 2.0)
    last |= {"code": "0123456789abcdef", **NEWER}
    runs.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert call("tables", "grid", "--check")[0] == 1
    call("tables", "grid")
    table = Path(home.results / "grid" / "table.md").read_text()
    assert "outdated: the code of kernel-kmeans is not that of newer runs" in table


def test_the_data_of_a_users_task_are_compared_with_its_files(call, tmp_path, monkeypatch):
    for name, period in (("s", 5), ("t", 7)):
        words = [f"{'team report' if i % 2 else 'free cash'} word{i % period}" for i in range(40)]
        rows = [f"{text},{i % 2}" for i, text in enumerate(words)]
        (tmp_path / f"{name}.csv").write_text("text,label\n" + "\n".join(rows))
    monkeypatch.chdir(tmp_path)
    options = "source: s.csv\ntargets: [t.csv]\noptions: {min_df: 1}"
    Path("task.yaml").write_text(f"family: transfer\n{options}\n")
    path = tmp_path / "mine.yaml"
    text = PLAIN.partition("rows:")[0] + "rows: {one: {task: task.yaml}}\n"
    path.write_text(f"{text}columns: {{LR: {{model: lr}}}}\n")
    code, _, err = call("reproduce", str(path))
    assert code == 0, err
    target = tmp_path / "t.csv"
    target.write_text(target.read_text().replace("free", "big"))
    assert "1 run to do" in call("reproduce", str(path), "--dry-run")[1]
    warning = "mine: outdated: the files of own:path=task.yaml have changed since"
    for _ in range(2):  # its task is not built anew at first
        code, _, err = call("tables", "mine", "--check")
        assert (code, warning in err, "1 of 1 runs are of earlier data" in err) == (1, True, True)
        code, _, err = call("share", "mine", "--out", "mine.zip")
        assert (code, warning in err) == (2, True)
        assert call("run", "task.yaml", "--model", "lr")[0] == 0
    assert call("reproduce", str(path))[0] == 0
    assert call("tables", "mine", "--check")[0] == 0
    code, _, err = call("share", "mine", "--out", "mine.zip")
    assert code == 0
    assert "not in the zip: task.yaml; whoever verifies it needs these files" in err
    Path("task.yaml").unlink()
    code, _, err = call("verify", "mine.zip")
    assert (code, "mine.zip needs files that are not in it: task.yaml" in err) == (2, True)
