"""A user's files and their documents: how they are named, found and read.

A name is a file, a folder, a pattern with * ? [ ], or several of these with commas between them.
All files of a name are one domain, in alphabetical order of their paths. NAME.labels.txt holds the
labels of an npz. It is not a file of documents.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from transferbench.errors import UserError, brief
from transferbench.files import user_path
from transferbench.own.dialect import DEFAULT, Dialect
from transferbench.user_files import MATRICES

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse as sp

#: Which documents must have a label: "all", or "any" number of them, also zero. "none": labels are
#: not read.
Labels = Literal["all", "any", "none"]


def _option(flag: str, default: object, text: str, **more: object) -> Any:
    """Return a field that is also an option of the command line."""
    metadata = {"flags": (flag,), "show_default": default is not None, "help": text, **more}
    return field(default=default, metadata=metadata)


#: Whether quotes enclose values; `auto` finds out.
QUOTING = ("auto", "minimal", "none")
#: Lists of the option stop_words; other values are files.
STOP_WORDS = ("none", "english")
#: What models see of a document.
FEATURES = ("words", "embeddings", "both")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options to read files, as command-line options, keys of a YAML task and Python arguments."""

    #: `text`, `label`: Columns of the texts and of the labels.
    text: str = _option("--text-column", "text", "Column of the texts.")
    label: str = _option("--label-column", "label", "Column of the labels.")
    #: Text between the labels of a document; None for the default of the family.
    separator: str | None = _option(
        "--label-separator", None,
        "Text between the labels of a document; '' if each document has one label.  "
        "[default: | for multi-label models]",
    )  # fmt: skip
    #: Encoding of files that are not UTF-8 and have no byte order mark.
    encoding: str = _option(
        "--encoding", "utf-8",
        "Encoding of texts that are not UTF-8. CSV files of Excel may have cp1252 (Western "
        "European), cp949 (Korean), cp932 (Japanese) or gb18030 (Chinese).",
    )  # fmt: skip
    #: Separator of the columns of CSV and TSV; None if the first line decides.
    delimiter: str | None = _option(
        "--delimiter", None,
        "Separator of the columns of CSV and TSV: a character, or the word tab.  "
        "[default: the first line decides]",
    )  # fmt: skip
    #: "minimal" if values with separators are in quotes, "none" if quotes are characters of the
    #: texts. "auto" means "minimal". For files with tabs it means "none" if only this makes each
    #: line a row.
    quoting: Literal["auto", "minimal", "none"] = _option(
        "--quoting", "auto",
        "Meaning of quotes in CSV and TSV. none: they are characters of the texts. minimal: they "
        "enclose values with separators or line ends.",
        choices=QUOTING,
    )  # fmt: skip
    #: `source_text`, `source_label`, `source_encoding`, `source_delimiter`, `source_quoting`: The
    #: same for sources; None if they are like targets.
    source_text: str | None = _option(
        "--source-text-column", None, "Column of the texts of sources, if it differs."
    )
    source_label: str | None = _option(
        "--source-label-column", None, "Column of the labels of sources, if it differs."
    )
    source_encoding: str | None = _option(
        "--source-encoding", None, "Encoding of sources, if it differs."
    )
    source_delimiter: str | None = _option(
        "--source-delimiter", None, "Separator of the columns of sources, if it differs."
    )
    source_quoting: Literal["auto", "minimal", "none"] | None = _option(
        "--source-quoting", None, "Quoting of sources, if it differs.", choices=QUOTING
    )
    #: Features of a document that models see: "words", "embeddings" or "both". The words of a
    #: matrix are its numbers. None means both if there are files of vectors, else words.
    features: Literal["words", "embeddings", "both"] | None = _option(
        "--features", None,
        "Features that models see: words, sentence embeddings, or both. Without --vectors, "
        "embeddings are for English texts and need the extra modern.  "
        "[default: both with --vectors, else words]",
        choices=FEATURES,
    )  # fmt: skip
    #: Files of dense vectors, one for each domain, sources first, or one for all; see
    #: `own.vectors`. Without files, embeddings are computed from the texts.
    vectors: tuple[str, ...] = _option(
        "--vectors", (),
        "File of embeddings by an encoder of your own (.npy .npz), with a row for each document. "
        "Give one for each --source, then one for each --target, or one for all; repeatable.",
        multiple=True, show_default=False,
    )  # fmt: skip

    #: How messages name a setting: as an argument of Python. A subclass has the form of its door.
    setting_form: ClassVar[str] = "{name}={value!r}"

    def setting(self, name: str, value: str = "NAME") -> str:
        """Return a setting as the user gives it, and that of sources alone, for messages."""
        flags = {each.name: each.metadata["flags"][0] for each in fields(ReadOptions)}
        forms = [
            self.setting_form.format(name=n, flag=flags[n], value=value, quoted=quote(value))
            for n in (name, f"source_{name}") if n in flags
        ]  # fmt: skip
        return " (of sources alone: ".join(forms) + ")" * (len(forms) - 1)

    def of_sources(self) -> Self:
        """Return the options to read sources."""
        names = [each.name for each in fields(ReadOptions) if each.name.startswith("source_")]
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(self, **{n.removeprefix("source_"): value for n, value in given.items()})


@dataclass(frozen=True)
class DomainFiles:
    """The files of one domain."""

    #: Name of the domain. It is the name of the file or folder, or else of the first file, without
    #: its suffix.
    name: str
    #: The file, or the text that names several files; messages show it.
    path: Path
    #: Paths of the files, in alphabetical order.
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Documents:
    """Documents of one file, or of the files of one domain."""

    #: The file, or the text that names several files; messages show it.
    path: Path
    #: Texts, or a matrix (n, d) of nonnegative numbers, documents by features.
    content: Sequence[str] | sp.csr_array
    #: (n,) names of classes, "" for a document without a label.
    labels: list[str]
    #: (n, ·) the columns of the user's tables; no columns for matrices. The index has the file of
    #: each document, and its row, which is its number in the file from 1.
    table: pd.DataFrame
    kind: str = "texts"
    #: Name of the domain; "" stands for the name of the file.
    name: str = ""
    #: Dialect of the first file.
    dialect: Dialect = DEFAULT

    def __len__(self) -> int:
        return len(self.labels)


def file_kind(path: Path) -> str:
    """Return ".npz", ".svm" (features are numbered from one) or "texts"."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return suffix
    return ".svm" if suffix in MATRICES else "texts"


def check_kind(documents: Sequence[Documents]) -> None:
    """Check that the files are of one kind: texts, npz or SVMlight."""
    first = documents[0]
    for other in documents:
        if other.kind != first.kind:
            raise UserError(f"{other.path}: not like {first.path}; expected files of one kind.")


def find_domains(names: Sequence[str]) -> list[DomainFiles]:
    """Return the domain of each name."""
    # `names`: A file that does not exist is no error here.
    return [find_files(name) for name in names]


def find_files(name: str, folder: Path = Path()) -> DomainFiles:
    """Return the domain of one name."""
    # A name that exists is no list, whatever signs it has; nor is a name in a folder with a comma.
    # os.path, because methods of Path raise for very long names.
    given = user_path(name)
    is_one = name and os.path.exists(folder / given)  # noqa: PTH110
    is_inside = "," in f"{given.parent}" and os.path.isdir(folder / given.parent)  # noqa: PTH112
    parts = [name] if is_one or is_inside else [part.strip() for part in name.split(",")]
    if not all(parts):
        raise UserError(f"{brief(name)}: an empty file name; expected paths of documents.")
    # As text: the order of Path objects depends on the version of Python.
    files = sorted((file for part in parts for file in _expand(part, folder)), key=Path.as_posix)
    path = folder / given
    first = path if os.path.isdir(path) else files[0]  # noqa: PTH112
    return DomainFiles(first.stem, path, tuple(files))


def stop_words_file(name: object, folder: Path = Path()) -> Path | None:
    """Return the file of the option stop_words, None for a list that the option names."""
    if name in STOP_WORDS:
        return None
    path = folder / user_path(name) if isinstance(name, str) and name.strip() else None
    if path is None or not path.is_file():
        raise UserError(f"stop_words={name}: expected {', '.join(STOP_WORDS)}, or a file of words.")
    return path


def check_unique(domains: Iterable[DomainFiles]) -> None:
    """Check that no file occurs twice; a link counts as the file that it leads to."""
    real_paths = set()
    for domain in domains:
        for file in domain.files:
            real_path = os.path.realpath(file)  # Path.resolve raises for a loop of links
            if real_path in real_paths:
                raise UserError(f"{file}: given twice; name each file once, as source or target.")
            real_paths.add(real_path)


def _expand(name: str, folder: Path) -> list[Path]:
    """Return the files of a file name, folder or pattern."""
    path = folder / user_path(name)
    if os.path.isdir(path):  # noqa: PTH112
        matches = [file for file in path.iterdir() if not file.name.startswith(".")]
    elif any(sign in name for sign in "*?[") and not os.path.isfile(path):  # noqa: PTH113
        # Folders that exist are no patterns, whatever signs they have.
        start, parts = folder, [*user_path(name).parts]
        while os.path.isdir(start / parts[0]):  # noqa: PTH112
            start /= parts.pop(0)
        matches = [start / match for match in glob.glob(os.path.join(*parts), root_dir=start)]  # noqa: PTH118, PTH207
    else:
        return [path]
    files_of_labels = {labels_file(file) for file in matches}
    files = [file for file in matches if file not in files_of_labels]
    if not files:
        raise UserError(f"{folder / name}: no file there; expected files of documents.")
    return files


def labels_file(path: Path) -> Path | None:
    """Return the existing file of the labels of a matrix in an npz; None for any other file."""
    labels = path.with_suffix(".labels.txt")
    return labels if path.suffix.lower() == ".npz" and labels.is_file() else None
