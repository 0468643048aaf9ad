"""Readers of users' files accept or refuse almost valid files, run no code and write nothing."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import hypothesis
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from soak import EXPERIMENT, NEW, RECORDS
from watched import within

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.own import tasks as user
from transferbench.own.problem import documents_problem
from transferbench.own.read import read
from transferbench.runs import store

TEXTS = b'text,label,id\r\n"the cat, purrs",cat,1\r\n"a ship\nat sea",sea,2\r\nK\xc3\xa4se,cat,\r\n'
JSONL = b'{"text": "the cat purrs", "label": "cat"}\n{"text": "at sea", "label": 1.0, "id": null}\n'
SVM = b"+1 1:0.5 3:2\n-1 2:1e-3 # a comment\n? 1:4\nword 3:1 7:0.25\n1.0\n"
TASK = b"source: one.csv\ntargets: [one.csv, task.yaml]\noptions: {min_df: 1, weighting: tf}\n"
FIGURE = Path(__file__).parents[1] / "experiments" / "gtl-figure2c.yaml"
#: Bytes that are inserted at random.
WORDS = (
    b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"\r", b"'", b'"', b"nan", b"-inf", b"1e999", b"-1",
    b"9" * 5000, b"[" * 3000, b"{" * 3000, b"x" * 70_000, b"../../x", b"\xed\xa0\x80", b",", b":",
    b" 16777216:1", b" 0:1", b"&a ", b"*a", b"<<: ", b"!!python/object/apply:os.system [touch x]",
    b"!!binary x", b"- ", b"? ", b"2001-99-99", b"---\n", b"{[1]: 2}", b"null", b'"\\ud800"',
    b"NaN", b"'<f8'", b"'|O'", b"(99999999999,)", b"(-1,)", b"\xff\xff\xff\xff",
)  # fmt: skip


def npz() -> dict[str, bytes]:
    packed = io.BytesIO()
    sp.save_npz(packed, sp.random_array((4, 6), density=0.5, format="csr", rng=0))
    with zipfile.ZipFile(packed) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


def experiment(path: Path) -> None:
    read_in = experiments.read(path.read_bytes().decode("utf-8", "replace"), path)
    next(iter(read_in.runs()), None)


def task(path: Path) -> None:
    path.with_name("one.csv").write_bytes(TEXTS)
    user.read_yaml(path)


def documents(path: Path) -> None:
    unlabelled = read(path, labels="some")
    documents_problem([], [unlabelled], {"min_df": 1}, clusters=2)
    documents_problem([read(path, labels="all")], [unlabelled], {"min_df": 1})


def views(path: Path) -> None:
    (path.parent.parent / "labels.csv").write_text("a,b\n1,0\n0,1\n1,1\n")
    (path.parent.parent / "train.csv").write_text("train\n1\n1\n0\n")
    user.build("multilabel/own", {}, path=str(path.parent.parent))


#: Name of a file → its reader and valid contents.
READERS = {
    "broken.yaml": (experiment, [EXPERIMENT.encode(), FIGURE.read_bytes()]),
    "task.yaml": (task, [TASK]),
    "user.csv": (documents, [TEXTS]),
    "user.jsonl": (documents, [JSONL]),
    "user.svm": (documents, [SVM]),
    "user.npz": (documents, []),
    "runs.jsonl": (store.read, [each.line.encode() + b"\n" for each in (RECORDS[0], NEW[0])]),
    "folder/views/one.csv": (views, [b"x,y\n1,2\n0,0.5\n3,1\n"]),
}


@st.composite
def damaged(draw, content: bytes) -> bytes:
    """Return the content after a few random edits."""
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(content)))
        end = min(len(content), at + draw(st.integers(0, 40)))
        new = draw(st.sampled_from(WORDS) | st.binary(max_size=8) | st.just(content[at:end] * 2))
        content = content[:at] + new + content[end:]
    return content[: draw(st.sampled_from((None, None, None, len(content) // 2)))]


@st.composite
def files(draw, name: str) -> bytes:
    if name.endswith(".npz") and draw(st.integers(0, 3)):  # damage a member of a whole archive
        parts = npz()
        member = draw(st.sampled_from(list(parts)))
        return zipped(parts | {member: draw(damaged(parts[member]))})
    return draw(damaged(draw(st.sampled_from(READERS[name][1] or [zipped(npz())]))))


@pytest.mark.parametrize("number", [10, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_accepted_or_refused_in_one_line(tmp_path, name, number):
    path, refused = tmp_path / name, []
    path.parent.mkdir(parents=True, exist_ok=True)

    @hypothesis.settings(
        max_examples=number, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(files(name))
    def check(content: bytes) -> None:
        path.write_bytes(content)
        try:
            with within(tmp_path):
                READERS[name][0](path)
        except UserError as error:
            refused.append(str(error))
            assert len(refused[-1]) < 2000

    check()
    assert refused
