"""Files that are almost right, for every reader of what others have made."""

from __future__ import annotations

import io
import itertools
import json
import lzma
import struct
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
from transferbench.data.datasets import own_multilabel, own_task
from transferbench.data.datasets._documents import problem
from transferbench.data.formats import rda
from transferbench.data.userdata import read as own_read
from transferbench.errors import UserError
from transferbench.evidence import frame, pages
from transferbench.experiments import experiment
from transferbench.runs import record

Parts = dict[str, bytes]


@dataclass(frozen=True)
class Reader:
    """A reader of one kind of file.

    read: raises `refuses` for what it does not take, and nothing else. name: of the file. seeds:
    files that it takes, in parts that `pack` puts together. words: what is strewn into them.
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
    """How many files were taken and refused, and the longest that one took."""

    taken: int = 0
    refused: int = 0
    slowest: float = 0.0


@st.composite
def damaged(draw: Any, content: bytes, words: tuple[bytes, ...], most: int = 6) -> bytes:
    """The content with bytes flipped, cut out, doubled, and words strewn in, a few times."""
    for _ in range(draw(st.integers(0, most))):
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


#: Values where others are expected.
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from((0, -1, 10**30, 2**63, 1e308, "", "none", "../x", "~nobody", "x" * 10_000)),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4) | st.integers() | st.none(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@st.composite
def twisted(draw: Any, tree: Any) -> Any:
    """A tree of lists and mappings of which one value is another, missing, or too many."""
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
    """Seeds damaged before or after they are packed, twisted trees, noise."""

    @st.composite
    def packed(draw: Any) -> bytes:
        parts = dict(draw(st.sampled_from(reader.seeds)))
        name = draw(st.sampled_from(list(parts)))
        parts[name] = draw(damaged(parts[name], reader.words))
        return draw(damaged(reader.pack(parts), reader.words, draw(st.sampled_from((0, 0, 1)))))

    @st.composite
    def tree(draw: Any) -> bytes:
        made = draw(st.sampled_from(reader.trees))
        for _ in range(draw(st.integers(1, 3))):
            made = draw(twisted(made))
        return reader.dump(made).encode("utf-8", "surrogatepass")

    kinds = [packed(), packed(), packed(), st.binary(max_size=300)]
    return st.one_of(*kinds, *([tree()] * 4 if reader.trees else []))


def fuzz(name: str, folder: Path, examples: int, derandomise: bool = False) -> Tally:
    """So many files read. Raises whatever is no refusal, with the file that did it."""
    reader, tally = READERS[name], Tally()
    path = folder / reader.name
    path.parent.mkdir(parents=True, exist_ok=True)

    @hypothesis.settings(
        max_examples=examples, deadline=None, database=None, derandomize=derandomise,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(files(reader))
    def one(content: bytes) -> None:
        path.write_bytes(content)
        start = time.process_time()
        try:
            with within(folder):
                reader.read(path)
            said, tally.taken = "", tally.taken + 1
        except reader.refuses as error:
            said = str(error)
        except (Hangs, Escaped) as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from None
        tally.refused += bool(said)
        assert len(said) < 2000, f"a message of {len(said)} characters"
        tally.slowest = max(tally.slowest, time.process_time() - start)

    one()
    return tally


def _experiment(path: Path) -> None:
    made = experiment.read(path.read_bytes().decode("utf-8", "replace"), path)
    list(itertools.islice(made.runs(), 2000))
    pages.render(made, frame.to_runs([]))


def _task(path: Path) -> None:
    path.with_name("one.csv").write_bytes(TEXTS)
    own_task.load(path)


def _own(path: Path) -> None:
    documents = own_read.read(path, labels="some")
    problem([], [documents], {"min_df": 1}, clusters=2)
    problem([own_read.read(path, labels="all")], [documents], {"min_df": 1})


def _runs(path: Path) -> None:
    lines = frame.read_runs(path)
    pages.render(experiment.read(EXPERIMENT.replace("REPEATS", "2"), Path("broken.yaml")), lines)


def _record(path: Path) -> None:
    store = record.Store(path.parents[2])
    found = store.find(path.stem)
    if found is None:
        raise UserError("none")
    assert found["status"] != "done" or found["metrics"]


def _multilabel(path: Path) -> None:
    folder = path.parent.parent
    (folder / "labels.csv").write_text("a,b\n1,0\n0,1\n1,1\n")
    (folder / "train.csv").write_text("train\n1\n1\n0\n")
    own_multilabel.build("multilabel/own", {}, path=str(folder))


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


def _rda_seed() -> Parts:
    def integers(*values: int) -> bytes:
        return struct.pack(f">{len(values)}i", *values)

    def symbol(name: bytes) -> bytes:
        return integers(1, 9, len(name)) + name

    reals = integers(14, 3) + struct.pack(">3d", 0, 1.5, -2)
    texts = integers(16, 2, 9, 4) + b"Att1" + integers(9, 6) + b"Class1"
    frame = integers(19 | 0x200, 2) + reals + integers(13, 3, 0, 1, 1)
    frame += integers(2 | 0x400) + symbol(b"names") + texts + integers(254)
    head = {"head": b"RDX2\nX\n" + integers(2, 0x30400, 0x20300)}
    return head | {"": integers(2 | 0x400) + symbol(b"x") + frame + integers(254)}


def _record_seed() -> dict[str, Any]:
    texts = {
        "key": "0123",
        "status": "done",
        "reason": "",
        "task": "t",
        "model": "m",
        "source": "s",
    }
    numbers = {"metrics": {"one": {"accuracy": 0.5}}, "seconds": {"load": 0.1, "fit": 1.0}}
    return texts | numbers | {"params": {}, "seed": 0, "finished": "2020", "trace": [2.0, 1.0]}


def _runs_seed() -> bytes:
    made = experiment.read(EXPERIMENT.replace("REPEATS", "2"), Path("broken.yaml"))
    return record.runs_csv((*run, _record_seed()) for run in made.runs()).encode()


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
CODES = tuple(
    struct.pack(">i", code) for code in (1, 2, 9, 10, 13, 14, 16, 19, 254, 255, 511, 1026)
)


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
        lambda path: problem([], [own_read.read(path)], {}, clusters=2), "own.npz",
        tuple(_npz(sp.random_array((4, 6), density=0.5, format=form, rng=0))
              for form in ("csr", "csc", "coo")),
        (*ANY[:9], *NUMBERS, b"'<f8'", b"'|O'", b"(99999999999,)", b"(-1,)", b"True"), _zip,
    ),
    "rda": Reader(
        rda.read, "own.rda", (_rda_seed(),), (*NUMBERS, *CODES),
        lambda parts: lzma.compress(b"".join(parts.values()), preset=0), (ValueError,),
    ),
    "multi-label views": Reader(
        _multilabel, "folder/views/one.csv", ({"": b"x,y\n1,2\n0,0.5\n3,1\n"},), (*ANY, b",", b"#")
    ),
    "record JSON": Reader(
        _record, "records/01/0123.json", ({"": json.dumps(_record_seed(), indent=1).encode()},),
        (*ANY, b"null", b"NaN", b"true"), trees=(_record_seed(),),
    ),
    "runs.csv": Reader(_runs, "runs.csv", ({"": _runs_seed()},), (*ANY, b",", b'""', b"{}", b"[]")),
}  # fmt: skip


def scenario(name: str) -> Callable[[Path, int], tuple[bool, str]]:
    """The fuzzing of one reader as a line of the table."""
    from chaos.watched import apart

    def run(folder: Path, times: int = 1000) -> tuple[bool, str]:
        folder.mkdir(parents=True, exist_ok=True)
        tally, peak = apart(fuzz, name, folder, times)
        said = (
            f"{tally.taken + tally.refused} inputs: {tally.taken} taken, {tally.refused} refused "
        )
        said += f"in one line, slowest {tally.slowest:.2f} s, at most {peak:.0f} MiB more"
        return peak < 1024, said

    run.__doc__ = f"files of the kind: {name}"
    return run
