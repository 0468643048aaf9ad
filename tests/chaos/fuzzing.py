"""Almost valid files for each reader of files that users make."""

from __future__ import annotations

import io
import itertools
import json
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import scipy.sparse as sp
import yaml
from hypothesis import strategies as st

from chaos.home import EXPERIMENT
from chaos.watched import Escaped, Hangs, within
from transferbench import experiments
from transferbench.datasets import user
from transferbench.errors import UserError
from transferbench.evidence import frame, pages
from transferbench.runs.record import Record, Store, runs_csv
from transferbench.userdata.load import documents_problem
from transferbench.userdata.readers import read

Parts = dict[str, bytes]


@dataclass(frozen=True)
class Reader:
    """A reader of one kind of file.

    read    : raises one of `refuses`, and nothing else, for a file that is not valid.
    name    : name of the file.
    seeds   : valid files, in parts that `pack` joins.
    words   : bytes that are inserted at random.
    trees   : valid contents as lists and mappings, written by `dump`.
    """

    read: Callable[[Path], Any]
    name: str
    seeds: tuple[Parts, ...]
    words: tuple[bytes, ...]
    pack: Callable[[Parts], bytes] = lambda parts: b"".join(parts.values())
    refuses: tuple[type[Exception], ...] = (UserError,)
    trees: tuple[Any, ...] = ()
    dump: Callable[[Any], str] = json.dumps


@dataclass
class Tally:
    """Numbers of files accepted and refused, and the longest time of one."""

    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0


@st.composite
def damaged(draw: Any, content: bytes, words: tuple[bytes, ...], max_edits: int = 6) -> bytes:
    """Return the content after a few random edits."""
    for _ in range(draw(st.integers(0, max_edits))):
        at = draw(st.integers(0, len(content)))
        end = min(len(content), at + draw(st.integers(0, 40)))
        how = draw(st.sampled_from(("flip", "out", "double", "word", "over", "cut", "bytes")))
        if how == "flip" and at < len(content):
            flipped = content[at] ^ 1 << draw(st.integers(0, 7))
            content = content[:at] + bytes([flipped]) + content[at + 1 :]
        elif how == "out":
            content = content[:at] + content[end:]
        elif how == "double":
            content = content[:end] + content[at:]
        elif how == "word":
            content = content[:at] + draw(st.sampled_from(words)) + content[at:]
        elif how == "over":
            content = content[:at] + draw(st.sampled_from(words)) + content[end:]
        elif how == "cut":
            content = content[:at]
        elif how == "bytes":
            content = content[:at] + draw(st.binary(max_size=8)) + content[end:]
    return content


#: Values that are not expected.
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from((0, -1, 10**30, 2**63, 1e308, "", "none", "../x", "~nobody", "x" * 10_000)),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4) | st.integers() | st.none(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@st.composite
def twisted(draw: Any, tree: Any) -> Any:
    """Return a tree of lists and mappings with one value replaced, removed or added."""
    if not tree or not isinstance(tree, dict | list) or not draw(st.integers(0, 4)):
        return draw(ODD)
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    key = draw(st.sampled_from(keys))
    how = draw(st.sampled_from(("in", "in", "in", "out", "more")))
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    if how == "in":
        copy[key] = draw(twisted(tree[key]))
    elif how == "out":
        del copy[key]
    elif isinstance(copy, dict):
        copy[draw(st.text(max_size=4) | st.sampled_from(list(copy)))] = draw(ODD)
    else:
        copy.append(draw(ODD))
    return copy


def files(reader: Reader) -> st.SearchStrategy[bytes]:
    """Return a strategy: damaged seeds, twisted trees, noise."""

    @st.composite
    def packed(draw: Any) -> bytes:
        parts = dict(draw(st.sampled_from(reader.seeds)))
        name = draw(st.sampled_from(list(parts)))
        parts[name] = draw(damaged(parts[name], reader.words))
        return draw(damaged(reader.pack(parts), reader.words, draw(st.sampled_from((0, 0, 1)))))

    @st.composite
    def tree(draw: Any) -> bytes:
        content = draw(st.sampled_from(reader.trees))
        for _ in range(draw(st.integers(1, 3))):
            content = draw(twisted(content))
        return reader.dump(content).encode("utf-8", "surrogatepass")

    kinds = [packed(), packed(), packed(), st.binary(max_size=300)]
    return st.one_of(*kinds, *([tree()] * 4 if reader.trees else []))


def fuzz(name: str, folder: Path, examples: int, derandomise: bool = False) -> Tally:
    """Read this many files. Raise an error of the reader that is not a refusal."""
    reader, tally = READERS[name], Tally()
    path = folder / reader.name
    path.parent.mkdir(parents=True, exist_ok=True)

    @hypothesis.settings(
        max_examples=examples, deadline=None, database=None, derandomize=derandomise,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(files(reader))
    def check(content: bytes) -> None:
        path.write_bytes(content)
        start = time.process_time()
        try:
            with within(folder):
                reader.read(path)
            message, tally.accepted = "", tally.accepted + 1
        except reader.refuses as error:
            message = str(error)
        except (Hangs, Escaped) as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from None
        tally.refused += bool(message)
        assert len(message) < 2000, f"a message of {len(message)} characters"
        tally.slowest = max(tally.slowest, time.process_time() - start)

    check()
    return tally


def _render(file, runs) -> None:
    pages.render(file, frame.summarise(file, frame.observations(file, runs)))


def _experiment(path: Path) -> None:
    experiment = experiments.read(path.read_bytes().decode("utf-8", "replace"), path)
    list(itertools.islice(experiment.runs(), 2000))
    _render(experiment, frame.to_runs([]))


def _task(path: Path) -> None:
    path.with_name("one.csv").write_bytes(TEXTS)
    user.read_yaml(path)


def _own(path: Path) -> None:
    documents = read(path, labels="some")
    documents_problem([], [documents], {"min_df": 1}, clusters=2)
    documents_problem([read(path, labels="all")], [documents], {"min_df": 1})


def _runs(path: Path) -> None:
    lines = frame.read_runs(path)
    _render(experiments.read(EXPERIMENT.replace("REPEATS", "2"), Path("broken.yaml")), lines)


def _record(path: Path) -> None:
    record = Store(path.parents[2]).find(path.stem)
    if record is None:
        raise UserError("missing or damaged")
    assert record == RECORD


def _multilabel(path: Path) -> None:
    folder = path.parent.parent
    (folder / "labels.csv").write_text("a,b\n1,0\n0,1\n1,1\n")
    (folder / "train.csv").write_text("train\n1\n1\n0\n")
    user.build("multilabel/own", {}, path=str(folder))


def _svm() -> tuple[Parts, ...]:
    lines = b"+1 1:0.5 3:2\n-1 2:1e-3 # a comment\n? 1:4\nword 3:1 7:0.25\n1.0\n"
    return {"": lines}, {"": b"a 1:1\nb 1:1 2:3\na 2:1\n"}


def _npz(X: Any) -> Parts:
    packed = io.BytesIO()
    sp.save_npz(packed, X)
    with zipfile.ZipFile(packed) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zip(parts: Parts) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


def _runs_seed() -> bytes:
    experiment = experiments.read(EXPERIMENT.replace("REPEATS", "2"), Path("broken.yaml"))
    lines = [line for run in experiment.runs() for line in RECORD.rows(run.row, run.column, run.x)]
    return runs_csv(lines).encode()


RECORD = Record(
    key="0123", status="done", reason="", task="t", model="m", params={}, seed=0, code="c",
    finished="2020", metrics={"one": {"accuracy": 0.8125, "nmi": 0.53125}}, seconds=1.0,
    trace=(2.0, 1.0),
)  # fmt: skip
TEXTS = b'text,label,id\r\n"the cat, purrs",cat,1\r\n"a ship\nat sea",sea,2\r\nK\xc3\xa4se,cat,\r\n'
JSONL = b'{"text": "the cat purrs", "label": "cat"}\n{"text": "at sea", "label": 1.0, "id": null}\n'
TASK = "source: one.csv\ntargets: [one.csv, task.yaml]\noptions: {min_df: 1, weighting: tf}\n"
FIGURE = Path(__file__).parents[2] / "experiments" / "gtl-figure2c.yaml"
TABLE = FIGURE.with_name("mtc-table4.yaml")
EXPERIMENTS = (EXPERIMENT.replace("REPEATS", "2"), FIGURE.read_text(), TABLE.read_text())
ANY = (
    b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"\r", b"'", b'"', b"nan", b"-inf", b"1e999", b"-1",
    b"9" * 5000, b"[" * 3000, b"{" * 3000, b"x" * 70_000, b"../../x", b"\xed\xa0\x80",
)  # fmt: skip
IN_YAML = (
    *ANY, b"&a ", b"*a", b"<<: ", b"!!python/object/apply:os.system [touch x]", b"!!binary x",
    b"- ", b"? ", b": ", b"|\n", b"2001-99-99", b"0o9", b"1:99:99", b"%YAML 9.9\n", b"---\n",
    b"{1: 2}", b"null", b"~", b"!!set ", b"!!timestamp ", b"{[1]: 2}",
)  # fmt: skip
NUMBERS = tuple(np.array(v, dtype=t).tobytes() for v in (-1, 2**31 - 1, 7) for t in (">i4", "<i8"))


def _tree(*texts: str) -> dict[str, Any]:
    return {
        "seeds": tuple({"": t.encode()} for t in texts),
        "trees": tuple(map(yaml.safe_load, texts)),
    }


READERS = {
    "experiment YAML": Reader(
        _experiment, "broken.yaml", words=IN_YAML, dump=yaml.safe_dump, **_tree(*EXPERIMENTS)
    ),
    "task YAML": Reader(
        _task, "task.yaml", words=IN_YAML, dump=yaml.safe_dump, **_tree(TASK)
    ),
    "CSV": Reader(_own, "own.csv", ({"": TEXTS},), (*ANY, b",", b'""', b",,,\n", b"\n\n")),
    "JSONL": Reader(
        _own, "own.jsonl", ({"": JSONL},), (*ANY, b'"\\ud800"', b"null", b"NaN", b"\\u0000"),
        trees=tuple(map(json.loads, JSONL.splitlines())),
    ),
    "SVMlight": Reader(
        _own, "own.svm", _svm(), (*ANY, b":", b" 16777216:1", b" 0:1", b"#", b" 3:-1")
    ),
    "npz": Reader(
        lambda path: documents_problem([], [read(path)], {}, clusters=2), "own.npz",
        tuple(_npz(sp.random_array((4, 6), density=0.5, format=form, rng=0))
              for form in ("csr", "csc", "coo")),
        (*ANY[:9], *NUMBERS, b"'<f8'", b"'|O'", b"(99999999999,)", b"(-1,)", b"True"), _zip,
    ),
    "multi-label views": Reader(
        _multilabel, "folder/views/one.csv", ({"": b"x,y\n1,2\n0,0.5\n3,1\n"},), (*ANY, b",", b"#")
    ),
    "record JSON": Reader(
        _record, "records/01/0123.json", ({"": RECORD.to_json().encode()},),
        (*ANY, b"null", b"NaN", b"true"), trees=(json.loads(RECORD.to_json()),),
    ),
    "runs.csv": Reader(_runs, "runs.csv", ({"": _runs_seed()},), (*ANY, b",", b'""', b"{}", b"[]")),
}  # fmt: skip


def scenario(name: str) -> Callable[[Path, int], tuple[bool, str]]:
    """Return the scenario for one reader."""
    from chaos.watched import run_in_process

    def run(folder: Path, times: int = 1000) -> tuple[bool, str]:
        folder.mkdir(parents=True, exist_ok=True)
        tally, peak = run_in_process(fuzz, name, folder, times)
        inputs = tally.accepted + tally.refused
        summary = f"{inputs} inputs: {tally.accepted} accepted, {tally.refused} refused in one line"
        summary += f", slowest {tally.slowest:.2f} s, at most {peak:.0f} MiB more"
        return peak < 1024, summary

    run.__doc__ = f"files of the kind: {name}"
    return run
