"""Names that stand for the files of a domain: files, folders, patterns and lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from user_documents import refused

from transferbench.own.documents import check_unique, find_domains, find_files


@pytest.fixture
def mail(tmp_path, monkeypatch):
    """The current folder, with the folder `mail` and two files beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mail.2024").mkdir()
    for name in ("mail.2024/b.csv", "mail.2024/a-1.csv", "mail.2024/a.jsonl", "x.csv", "y.csv"):
        (tmp_path / name).write_text("text")
    return tmp_path / "mail.2024"


def shown(name: str) -> list[tuple[str, list[str]]]:
    found = find_domains([name])
    return [(domain.name, [file.as_posix() for file in domain.files]) for domain in found]


def test_a_file_is_a_domain_even_if_it_does_not_exist(mail):
    for name in ("x.csv", "./x.csv"):
        assert shown(name) == [("x", ["x.csv"])]
        assert find_domains([name])[0].path == Path("x.csv")
    assert shown("no.csv") == [("no", ["no.csv"])]


FILES = ["mail.2024/a-1.csv", "mail.2024/a.jsonl", "mail.2024/b.csv"]


@pytest.mark.parametrize(
    ("name", "domain", "files"),
    [
        ("mail.2024", "mail", FILES),
        ("mail.2024/", "mail", FILES),
        ("mail.2024/*", "a-1", FILES),
        ("mail.2024/*.csv", "a-1", [FILES[0], FILES[2]]),
        ("y.csv,x.csv", "x", ["x.csv", "y.csv"]),
        ("y.csv, mail.2024", "a-1", [*FILES, "y.csv"]),
        ("[xy].csv,mail.2024/b*", "b", ["mail.2024/b.csv", "x.csv", "y.csv"]),
    ],
)
def test_several_files_are_one_domain_in_alphabetical_order(mail, name, domain, files):
    assert shown(name) == [(domain, files)]
    elsewhere = find_files(name, Path("..") / mail.parent.name).files
    assert [file.resolve() for file in elsewhere] == [Path(file).resolve() for file in files]


def test_signs_of_a_pattern_in_the_name_of_a_file(mail):
    Path("a[1].csv").write_text("text")
    assert shown("a[1].csv") == [("a[1]", ["a[1].csv"])]
    inside = mail / "[q]"
    inside.mkdir()
    (inside / "q.csv").write_text("text")
    assert find_files("*.csv", inside).files == (inside / "q.csv",)


@pytest.mark.parametrize("folder", ["mail, old", "mail [old]", "*", "a,b/[c]"])
@pytest.mark.parametrize("start", ["", "here", "absolute"])
def test_a_folder_that_exists_is_taken_literally(tmp_path, monkeypatch, folder, start):
    """Its name may have signs of lists and of patterns, as the name of a file may."""
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir(parents=True)
    for name in ("a.csv", "b, c.csv"):
        (Path(folder) / name).write_text("text")
    where = {"": Path(), "here": tmp_path, "absolute": Path()}[start]
    given = f"{tmp_path / folder}" if start == "absolute" else folder
    both = [where / given / "a.csv", where / given / "b, c.csv"]
    assert [*find_files(given, where).files] == both
    assert [*find_files(f"{given}/*.csv", where).files] == both
    assert [*find_files(f"{given}/[ab]*", where).files] == both
    assert [*find_files(f"{given}/b, c.csv", where).files] == both[1:]
    if "," not in folder:
        assert [*find_files(f"{given}/a*,{given}/b*", where).files] == both
    assert find_files(given, where).name == Path(folder).stem


def test_the_labels_of_a_matrix_are_no_document_file(mail):
    for name in ("m.npz", "m.labels.txt"):
        (mail / name).write_text("x")
    assert shown("mail.2024/m*") == [("m", ["mail.2024/m.npz"])]
    assert [Path(file).name for file in shown("mail.2024")[0][1]][-1] == "m.npz"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["*.tsv"], "*.tsv: no file there; expected files of documents."),
        (["empty"], "empty: no file there"),
        (["x.csv,,y.csv"], "'x.csv,,y.csv': an empty file name"),
        ([""], "an empty file name; expected paths"),
        (["x.csv,"], "an empty file name"),
        (["x.csv,x.csv"], "x.csv: given twice; name each file once, as source or target."),
        (["x.csv", "./x.csv"], "x.csv: given twice"),
        (["x.csv", "link.csv"], "link.csv: given twice"),
        (["mail.2024", "mail.2024/b.csv"], "mail.2024/b.csv: given twice"),
    ],
)
def test_a_mistake_is_one_line(mail, names, message):
    Path("empty").mkdir()
    for file in ("c,d.csv", "empty/.hidden.csv"):
        Path(file).write_text("text")
    Path("link.csv").symlink_to("x.csv")
    with refused(re.escape(message)):
        check_unique(find_domains(names))
    for name in ("c,d.csv", "c?d.csv"):
        assert find_domains([name])[0].files == (Path("c,d.csv"),)
