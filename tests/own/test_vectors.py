"""Features of a user's documents: words, embeddings, or both; files of vectors."""

from __future__ import annotations

import pickle
import re
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from fake_encoder import FakeEncoder, vector_of
from user_documents import SOURCE, TARGET, domains, refused, write_csv, write_documents

import transferbench
from transferbench import tasks
from transferbench.estimators import SentenceEmbeddings
from transferbench.messages import install_hint
from transferbench.own import vectors
from transferbench.own.documents import ReadOptions
from transferbench.own.problem import load

N, M = len(SOURCE), len(TARGET)
RNG = np.random.default_rng(0)
DENSE = RNG.standard_normal((N + M, 3))
UNIT = DENSE / np.linalg.norm(DENSE, axis=1, keepdims=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with two files of texts and their vectors."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_documents(folder / "s.csv")
    write_documents(folder / "t.csv", TARGET)
    np.save("s.npy", DENSE[:N])
    np.savez("t.npz", DENSE[N:].astype(np.float32))
    np.save("all.npy", 1e200 * DENSE)
    return folder


@pytest.fixture
def encoder(monkeypatch) -> FakeEncoder:
    return FakeEncoder(monkeypatch)


def loaded(home, source="s.csv", target="t.csv", options=(("min_df", 1),), **reading):
    read = partial(load, *domains(source, target), family="transfer", labels="any", using=home)
    return read(options=dict(options), read_options=ReadOptions(**reading))


def test_words_and_ngrams_stay_the_default_and_both_adds_a_view(folder, home, encoder):
    words, both = loaded(home), loaded(home, features="both")
    assert (words.features, both.features, len(words.problem.domains[0].views)) == (
        vectors.DEFAULT, "both", 2,
    )  # fmt: skip
    for one, two, file in zip(
        words.problem.domains, both.problem.domains, (SOURCE, TARGET), strict=True
    ):
        assert (one.X != two.X).nnz == 0
        assert (one.views[1] != two.views[1]).nnz == 0
        assert two.views[2].dtype == np.float32
        np.testing.assert_array_equal(two.views[2], [vector_of(text) for text in file.content])
        assert not two.signed
    assert words.options == both.options


def test_embeddings_alone_are_a_signed_view_and_need_no_words(folder, home, encoder):
    write_csv(folder / "u.csv", [("x", "cat"), ("y", "sea")])  # one letter is no word
    found = loaded(home, target="u.csv", features="embeddings")
    assert found.options == {"html": "keep"}
    for domain, texts in zip(found.problem.domains, (SOURCE.content, ["x", "y"]), strict=True):
        assert (len(domain.views), domain.signed) == (1, True)
        np.testing.assert_array_equal(domain.X, [vector_of(text) for text in texts])


def test_tags_are_stripped_from_embedded_texts_and_accents_are_composed(folder, home, encoder):
    write_csv(folder / "u.csv", [("<b>cat</b> mat", "cat"), ("cafe\u0301 ship", "sea")])
    loaded(home, target="u.csv", options=[("html", "strip"), ("min_df", 1)], features="both")
    assert {"cat mat", "café ship"} <= {" ".join(text.split()) for text in encoder.texts}


@pytest.mark.parametrize("files", [("s.npy", "t.npz"), ("all.npy",)])
def test_vectors_have_length_one_and_alone_mean_both(folder, home, files):
    found = loaded(home, vectors=files)
    assert found.features == "both"
    last = np.vstack([domain.views[-1] for domain in found.problem.domains])
    np.testing.assert_allclose(last, UNIT, rtol=1e-5, atol=1e-6)
    alone = loaded(home, vectors=files, features="embeddings")
    assert alone.options == {}
    np.testing.assert_array_equal(np.vstack([d.X for d in alone.problem.domains]), last)


def test_vectors_go_with_matrices_and_zero_rows_stay_zero(folder, home):
    for name, n in (("a", N), ("b", M)):
        sp.save_npz(f"{name}.npz", sp.csr_array(RNG.poisson(1.0, (n, 5)) + 1))
        (folder / f"{name}.labels.txt").write_text("cat\nsea\n" * (n // 2) + "cat\n" * (n % 2))
    sp.save_npz("v.npz", sp.csr_array(np.eye(N + M, 2)))
    found = loaded(home, "a.npz", "b.npz", (), vectors=("v.npz",))
    assert [view.shape for view in found.problem.domains[1].views] == [(M, 5), (M, 2)]
    assert not found.problem.domains[1].views[1].any()
    with refused("embeddings are made of texts; name files of vectors"):
        loaded(home, "a.npz", "b.npz", (), features="both")


BAD = {
    "rows": (DENSE[:3], "3 rows; expected"),
    "rank": (DENSE[0], "expected a matrix of two dimensions"),
    "missing": (np.where(np.arange(3) == 1, np.nan, DENSE), r"row 0 \(from 0\) has an infinite"),
    "zero": (0 * DENSE, "every number is 0"),
    "wide": (np.ones((N + M, 4097)), "4097 columns, expected 1 to 4,096"),
    "text": (np.full((N + M, 2), "a"), "expected real numbers"),
    "objects": (np.array([[{}]]), "its entries are objects, not numbers"),
    "dates": (np.full((N + M, 2), "2026-11-28", "M8[D]"), "expected real numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_vectors_are_refused_in_one_line(folder, home, name):
    np.save("bad.npy", BAD[name][0], allow_pickle=True)
    with refused(f"^bad.npy: .*{BAD[name][1]}"):
        loaded(home, vectors=("bad.npy",))


#: A message that does not advise to load objects.
SAFE = "(?!.*(pickle|unsafe|trust))"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:7\nsize 12345\n"


NO_NUMPY = [POINTER, b"<!DOCTYPE html><title>Log in</title>", bytes(80), pickle.dumps({"a": 1})]
READINGS = [{"vectors": ("bad.npy",)}, {"vectors": ("bad.npz",)}, {"source": "bad.npz"}]


@pytest.mark.parametrize("content", NO_NUMPY, ids=["LFS", "page", "raw numbers", "pickle"])
@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_files_that_are_no_files_of_numpy_are_called_so(folder, home, content, reading):
    """NumPy would call them pickled, and advise to load them in an unsafe way."""
    for name in ("bad.npy", "bad.npz"):
        (folder / name).write_bytes(content)
    begin = re.escape(f"it begins with {ascii(content[:24])[1:]};")
    with refused(f"^{SAFE}.*{begin}.* is it a Git LFS pointer or a page"):
        loaded(home, **reading)


@pytest.mark.parametrize("name", ["s.npz", "v.npz"])
def test_objects_and_long_descriptions_in_an_archive_are_refused(folder, home, name):
    wide = np.zeros(N, [(f"column {i}", "f4") for i in range(2000)])
    for array in (np.array([{}] * N), wide):
        np.savez(folder / name, data=array, format=np.array(b"csr"), shape=np.array([N, 2]))
        with refused(f"^{SAFE}.*(objects, not numbers|description cannot be read)"):
            loaded(home, **({"vectors": (name,)} if name == "v.npz" else {"source": name}))


NAMES = rf"s.csv \({N} documents\), t.csv \({M} documents\)"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["s.npy", "t.npz", "t.npz"], f"3 files; expected one for each of {NAMES}"),
        (["s.npy", "s.npy"], f"{N} rows; expected {M}"),
        (["s.npy"], f"{N} rows; expected {N + M}, one for each document of {NAMES}"),
        (["s.npy", "w.npy"], "4 columns; expected 3 as in s.npy"),
        (["two.npz"], "2 arrays, expected one"),
        (["no.npy"], "no.npy: no vectors of documents"),
        (["short.npy"], "short.npy: no vectors of documents"),
        (["gone.npy"], "gone.npy: no such file"),
        (["s.csv"], "s.csv: expected vectors in a file .npy or .npz"),
    ],
)
def test_the_number_of_files_and_their_form_are_checked(folder, home, files, message):
    np.save("w.npy", np.ones((M, 4)))
    np.savez("two.npz", DENSE, DENSE)
    (folder / "no.npy").write_bytes(b"no array")
    (folder / "short.npy").write_bytes((folder / "all.npy").read_bytes()[:-8])
    with refused(message):
        loaded(home, vectors=files)


def test_vectors_are_not_given_for_words(folder, home):
    with refused("features: words does not use vectors"):
        loaded(home, vectors=("all.npy",), features="words")


def test_a_yaml_task_has_features_and_vectors(folder, home, encoder):
    path = folder / "mine.yaml"
    text = "source: s.csv\ntargets: t.csv\noptions: {min_df: 1}\n"
    path.write_text(f"{text}features: both\n")
    built, _ = tasks.load(tasks.Task.parse(str(path)), home)
    np.testing.assert_array_equal(built.domains[0].views[-1][0], vector_of(SOURCE.content[0]))
    assert (home.data / "embeddings").is_dir()
    path.write_text(f"{text}vectors: [s.npy, t.npz]\n")
    task = tasks.Task.parse(str(path))
    built, _ = tasks.load(task, home)
    np.testing.assert_allclose(built.domains[1].views[-1], UNIT[N:], rtol=1e-5, atol=1e-6)
    np.savez("t.npz", np.roll(DENSE[N:], 1, axis=0))  # other vectors are another task
    rolled, _ = tasks.load(task, home)
    assert not np.array_equal(rolled.domains[1].views[-1], built.domains[1].views[-1])
    path.write_text(f"{text}vectors: gone.npy\n")
    with refused("mine.yaml:4: .*gone.npy: no such file"):
        tasks.load(task, home)
    path.write_text(f"{text}features: all\n")
    with refused("mine.yaml:4: .*features"):
        tasks.load(task, home)


def test_in_python_and_on_the_command_line(folder, home, encoder, call, monkeypatch):
    files = ("--source", "s.csv", "--target", "t.csv", "--option", "min_df=1")
    code, _, err = call("compare", *files, "-m", "lr", "--vectors", "s.npy", "--vectors", "t.npz")
    assert code in (0, 1)
    assert " + 3 of embeddings" in err
    code, _, err = call(
        "predict", *files, "-m", "lr", "--features", "both", "--force", "--out", "p.csv"
    )
    assert (code, (folder / "p.csv").is_file()) == (0, True), err
    assert " + 384 of embeddings" in err
    assert (home.data / "embeddings").is_dir()
    code, _, err = call("predict", *files, "--vectors", "o.csv", "--out", "o.csv")
    assert (code, "--out o.csv is one of the files to read" in err) == (2, True)
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(home.data))
    table = transferbench.compare(
        source="s.csv", target="t.csv", models="lr", options={"min_df": 1}, features="both"
    )
    assert "lr" in set(table.model)


def test_an_interruption_says_that_finished_embeddings_are_saved(
    folder, encoder, call, monkeypatch
):
    def interrupted(texts):
        raise KeyboardInterrupt

    monkeypatch.setattr(encoder, "embed", interrupted)
    code, out, err = call("compare", "--source", "s.csv", "--target", "t.csv", "--features", "both")
    expected = "Interrupted. Finished embeddings are saved; rerun the command to continue.\n"
    assert (code, out, err) == (130, "", expected)


def test_without_the_extra_one_line_says_how_to_install_it(folder, call, monkeypatch):
    monkeypatch.setattr(vectors.sentences.fetch, "get", lambda file, _: file.name)
    for name in ("safetensors", "safetensors.numpy"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    code, out, err = call("compare", "--source", "s.csv", "--target", "t.csv", "--features", "both")
    expected = f"Error: safetensors is not installed; {install_hint('modern')}.\n"
    assert (code, out, err) == (2, "", expected)


def test_embeddings_beside_words_in_a_pipeline(encoder, home, monkeypatch):
    from sklearn.base import clone
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    monkeypatch.setenv("TRANSFERBENCH_DATA", str(home.data))
    union = make_union(TfidfVectorizer(), SentenceEmbeddings(max_pieces=64))
    pipeline = clone(make_pipeline(union, LogisticRegression()))
    pipeline.fit(SOURCE.content, SOURCE.labels)
    assert pipeline.predict(np.array(TARGET.content)).shape == (M,)
    found = SentenceEmbeddings().transform(TARGET.table.assign(t=TARGET.content).t)
    np.testing.assert_array_equal(found, [vector_of(text) for text in TARGET.content])
    assert len(SentenceEmbeddings().fit(["a"]).get_feature_names_out()) == found.shape[1]
    for wrong in ("a text", [], [1.0], [["a"]], None):
        with pytest.raises(ValueError, match="expected texts, as a list"):
            SentenceEmbeddings().fit(wrong)
