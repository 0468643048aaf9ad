"""Make a problem of a user's files: read the documents, compute their features, build."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal
from unicodedata import category, normalize

import numpy as np
import scipy.sparse as sp

from transferbench import settings
from transferbench.core.documents import with_view
from transferbench.core.scale import safe_scale
from transferbench.data import text
from transferbench.data.problems import split_by_domain
from transferbench.errors import UserError, brief
from transferbench.files import user_path
from transferbench.measures import ALL
from transferbench.own.documents import (
    Documents,
    DomainFiles,
    Labels,
    ReadOptions,
    check_kind,
    check_unique,
    stop_words_file,
)
from transferbench.own.labels import difference, like, warn_of_alike
from transferbench.own.markup import strip_tags
from transferbench.own.multilabel import SEPARATOR, check_single, split_labels
from transferbench.own.read import read_domain, stack, warn_of_numbering, with_labels
from transferbench.own.vectors import Features, choose_features, embeddings, read_vectors
from transferbench.parameters import Count, CountOrZero, Params, resolve
from transferbench.problem import Family, Matrix, Problem, Truth
from transferbench.settings import Settings
from transferbench.user_files import check_files, read_text

MAX_CLASSES = 1000
#: The features of a text; "auto" means characters if most of them are of a script without spaces
#: between words, see `used_options`.
Tokens = Literal["auto", "words", "characters"]
#: What to do with tags, comments, scripts and entities of HTML.
Html = Literal["keep", "strip"]
#: Remedy for texts without a feature.
TEXT_REMEDY = (
    "a word has two or more letters or digits, and is in min_df documents. Set the option "
    "tokens=characters (pairs of characters), token_pattern=\\S+ (all that is between blanks), "
    "min_df=1 or stop_words=none"
)
#: Number of documents of a file, and of characters of a document, that the script is detected from.
SAMPLE_SIZE = 1000
#: Signs inside words that are no letters (a soft hyphen, and signs that forbid a line break), and a
#: capital letter whose lower case in Python has a separate accent, with what they are read as.
SPELLINGS = {"\u00ad": "", "\u2060": "", "\ufeff": "", "\u0130": "i"}


@dataclass(frozen=True)
class Loaded:
    """The problem of the user's files, and their documents."""

    problem: Problem
    _: KW_ONLY
    #: The labels of the targets that are scored, None if there are none. They add measures and
    #: change nothing else.
    truth: Truth | None = None
    #: `sources`, `targets`: The user's documents, if the problem is made of files.
    sources: Sequence[Documents] = ()
    targets: Sequence[Documents] = ()
    #: All options by which the documents became features.
    options: dict[str, Any] = field(default_factory=dict)
    features: Features = "words"


def load(
    sources: Sequence[DomainFiles],
    targets: Sequence[DomainFiles],
    *,
    family: Family,
    labels: Labels,
    options: Params,
    read_options: ReadOptions = ReadOptions(),
    name: str = "own",
    clusters: int = 0,
    label_file: Path | None = None,
    using: Settings | None = None,
) -> Loaded:
    """Read the files of the domains, and build their problem."""
    # `labels`: Documents of the targets that must have a label.
    # `using`: Settings that name the model of embeddings and the folder where they are stored. By
    # default the environment decides.
    more = [label_file] if label_file else []
    labelled, unlabelled = _read(sources, targets, read_options, ("all", labels), more)
    separator, usual = read_options.separator, SEPARATOR if family == "multilabel" else ""
    if labelled and separator is None:
        check_single(_names(labelled, usual), labelled[0].path, usual, read_options)
    if label_file:
        classes = _names(labelled, "") if family == "transfer" else ()
        unlabelled = with_labels(unlabelled, label_file, read_options, classes)
    documents = [*labelled, *unlabelled]
    used = used_options(documents, options)
    features, dense = _dense_view(documents, read_options, used, using)
    if features == "embeddings":
        used = {} if read_options.vectors else {"html": used["html"]}
    separator = usual if separator is None else separator
    problem, truth = documents_problem(
        labelled, unlabelled, used, name=name, clusters=clusters,
        separator=separator if family == "multilabel" else None,
        dense=dense, words=features != "embeddings",
    )  # fmt: skip
    return Loaded(
        problem, truth=truth, sources=labelled, targets=unlabelled, options=used, features=features
    )


def _read(
    sources: Sequence[DomainFiles],
    targets: Sequence[DomainFiles],
    read_options: ReadOptions,
    labels: tuple[Labels, Labels] = ("none", "none"),
    more: Sequence[Path] = (),
) -> tuple[list[Documents], list[Documents]]:
    """Read the documents of sources and targets, whose files and `more` are checked first."""
    check_unique([*sources, *targets])
    check_files([*(file for domain in (*sources, *targets) for file in domain.files), *more])
    labelled = [read_domain(domain, read_options.of_sources(), labels[0]) for domain in sources]
    unlabelled = [read_domain(domain, read_options, labels[1]) for domain in targets]
    warn_of_numbering([*labelled, *unlabelled])
    return labelled, unlabelled


def load_unlabelled(
    sources: Sequence[DomainFiles],
    targets: Sequence[DomainFiles],
    options: Params,
    read_options: ReadOptions = ReadOptions(),
) -> Loaded:
    """Read files without their labels, and build a problem of their words."""
    if read_options.vectors or read_options.features not in (None, "words"):
        features = read_options.setting("features", "words")
        raise UserError(f"topics are made of words; leave out vectors and give {features}.")
    documents = [*chain.from_iterable(_read(sources, targets, read_options))]
    used = used_options(documents, options)
    # A problem has two classes or more; topics do not use them.
    problem, _ = documents_problem([], documents, used, clusters=2)
    used.pop("characters", None)  # n-grams are no topics
    return Loaded(problem, targets=documents, options=used)


def _dense_view(
    files: Sequence[Documents],
    read_options: ReadOptions,
    used: dict[str, Any],
    using: Settings | None,
) -> tuple[Features, np.ndarray | None]:
    """Return what models see of documents, and vectors (n, d), or None if they see only words."""
    paths = [user_path(name) for name in read_options.vectors]
    features = choose_features(read_options.features, paths, files[0].kind)
    if paths:
        return features, read_vectors(paths, files)
    if features == "words":
        return features, None
    return features, embeddings([*_texts(files, used["html"])], using or settings.load())


def documents_problem(
    sources: Sequence[Documents],
    targets: Sequence[Documents],
    options: Params,
    *,
    name: str = "own",
    clusters: int = 0,
    separator: str | None = None,
    dense: np.ndarray | None = None,
    words: bool = True,
) -> tuple[Problem, Truth]:
    """Return the problem of documents, and its truth."""
    # It is a transfer problem, or a clustering problem if there is no source. Classes are the
    # labels of the sources in alphabetical order. Without sources they are the labels of the
    # targets, or the numbers from 1 to `clusters`. Labelled documents of the targets are scored.
    # `separator`: Text between the labels of a document in a multi-label problem; "" if each
    # document has one label. None makes a problem with one label for each document.
    # `dense`: Vectors (n, d) of all documents with rows of length one, or None. They are the last
    # view, or the only one.
    family: Family = "transfer" if separator is None else "multilabel"
    family = family if sources else "clustering"
    classes = [str(i + 1) for i in range(clusters)] or _classes(sources or targets, separator)
    files = [*sources, *targets]
    warn_of_alike(_label_counts(files, separator), files[0].path)
    if clusters:
        files = [replace(file, labels=[""] * len(file)) for file in files]
    has_label = np.array([bool(label) for file in files for label in file.labels])
    Y = np.vstack([_indicator(file, classes, separator) for file in files])
    of_file = np.repeat(np.arange(len(files)), [len(file) for file in files])
    views, features = _word_views(files, options, family) if words else ([], np.array(()))
    names = _domain_names(files, [ALL] if family == "multilabel" else [])
    views += [] if dense is None else [dense]
    seen = of_file < len(sources)
    try:
        problem, truth = split_by_domain(
            name, family, classes, names, of_file, views, Y, seen, scored=~seen & has_label,
            signed=not words, features=features,
        )  # fmt: skip
        if dense is not None:  # a file of vectors may be named for both domains
            with_view(problem, [domain.views[-1] for domain in problem.domains])
        return problem, truth
    except ValueError as error:
        raise UserError(f"{error}".removeprefix("own: ")) from error


def _domain_names(files: Sequence[Documents], reserved: Sequence[str]) -> list[str]:
    """Return a name for each domain, with a number after a repeated or reserved one."""
    names = list(reserved)
    for file in files:
        first = file.name or file.path.stem
        candidates = (first, *(f"{first}-{i}" for i in range(2, len(files) + 3)))
        names.append(next(candidate for candidate in candidates if candidate not in names))
    return names[len(reserved) :]


def _word_views(
    files: Sequence[Documents], options: Params, family: Family
) -> tuple[list[Matrix], np.ndarray]:
    """Return the words (n, d) of all files and, for transfer, their n-grams, and the words (d,)."""
    used = used_options(files, options)
    X, features = feature_function(files[0].kind)(files, **used)
    ends = X.indptr[np.cumsum([0, *map(len, files)])]
    if not np.diff(ends).all():
        raise _no_features(files[int(np.diff(ends).argmin())])
    views: list[Matrix] = [X]
    if family == "transfer" and used.get("characters") and used["tokens"] == "words":
        texts = _texts(files, used["html"])
        ngrams = text.character_view(texts, used["characters"], "log-tf-idf", True)
        views += [ngrams] if ngrams.shape[1] else []
    return views, features


@cache
def word_pattern() -> str:
    """Return the pattern of a word of any script: two or more letters, digits and their marks."""
    # Python's \w has no marks, such as vowel signs, and no joiners of letters. All marks of Unicode
    # are in the planes 0, 1 and 14. Those beyond plane 0 are compared one by one, and only with
    # characters beyond it, because Python's `re` has no table for them.
    codes = chain(range(0x20000), range(0xE0000, 0xF0000))
    marks = "".join(chr(code) for code in codes if category(chr(code)).startswith("M"))
    basic = "".join(mark for mark in marks if mark <= "\uffff")
    beyond = marks.removeprefix(basic)
    return rf"\w(?:[\u200c\u200d]*(?:[\w{basic}]+|[^\0-\uffff](?<=[{beyond}])))+"


def feature_function(kind: str) -> Callable[..., tuple[sp.csr_array, np.ndarray]]:
    """Return the function that makes weighted features (n, d) and their names (d,) from files."""
    # Its keyword-only arguments are the options.
    return text_features if kind == "texts" else _matrix_features


def used_options(files: Sequence[Documents], options: Params) -> dict[str, Any]:
    """Return every option of the features with its value: the given one or the default."""
    # The value "auto" of `tokens` becomes "characters" or "words". It becomes "characters" if no
    # `token_pattern` is given, and if most characters of the first documents of all files are of
    # scripts without spaces between words. Matrices of whole numbers are counts, and have the
    # defaults of texts. Other matrices are not weighted.
    check_kind(files)
    values: dict[str, Any] = {**resolve(feature_function(files[0].kind), options, "the documents")}
    if values.get("tokens") == "auto":
        first = (islice(_texts([file], values["html"]), SAMPLE_SIZE) for file in files)
        starts = (document[:SAMPLE_SIZE] for document in chain.from_iterable(first))
        words = values["token_pattern"] is not None or text.has_spaces(starts)
        values["tokens"] = "words" if words else "characters"
    if files[0].kind != "texts":
        counts = not any((sp.csr_array(file.content).data % 1).any() for file in files)
        defaults = {"weighting": "log-tf-idf" if counts else "tf", "unit_length": counts}
        values |= {name: value for name, value in defaults.items() if values[name] is None}
    return values


def _texts(files: Iterable[Documents], html: Html) -> Iterator[str]:
    """Yield the texts of files as they are split into words: accents and letters are composed."""
    for file in files:
        assert not sp.issparse(file.content)
        texts = map(strip_tags, file.content) if html == "strip" else file.content
        yield from map(_composed, texts)


def _composed(document: str) -> str:
    """Return a text with accents and letters composed."""
    document = normalize("NFC", document)
    for sign, spelling in SPELLINGS.items():
        document = document.replace(sign, spelling)
    return document


def _classes(files: Sequence[Documents], separator: str | None) -> list[str]:
    """Return the labels of the documents in alphabetical order."""
    classes, path = sorted(_names(files, separator)), files[0].path
    if len(classes) < 2:
        present = f"the one label {brief(classes[0])}" if classes else "no label"
        raise UserError(f"{path}: {present}; expected documents of two classes or more.")
    labelled = sum(bool(label) for file in files for label in file.labels)
    if len(classes) > MAX_CLASSES or (len(classes) > 10 and 2 * len(classes) > labelled):
        raise UserError(
            f"{path}: {len(classes)} different labels of {labelled} documents, expected several "
            f"documents of each class, at most {MAX_CLASSES} classes; is it the right column of "
            "labels?"
        )
    return classes


def _names(files: Sequence[Documents], separator: str | None) -> set[str]:
    """Return the labels of the documents."""
    return {name for name, _ in _label_counts(files, separator)}


def _label_counts(files: Sequence[Documents], separator: str | None) -> Counter[tuple[str, str]]:
    """Return the numbers of documents by label and file."""
    return Counter(
        (name, path)
        for file in files
        for label, path in zip(file.labels, file.table.index.get_level_values("file"), strict=True)
        for name in split_labels(label, separator)
    )


def _indicator(file: Documents, classes: Sequence[str], separator: str | None) -> np.ndarray:
    """Return the labels (n, c) 0/1 of a file, zero for documents without a label."""
    index = {label: i for i, label in enumerate(classes)}
    Y = np.zeros((len(file), len(classes)))
    for row, label in enumerate(file.labels):
        for name in split_labels(label, separator):
            if name not in index:
                first = ", ".join(map(brief, classes[:10]))
                why = f"label {brief(name)} is none of the source's ({first})"
                remedy = "remove such documents or labels"
                if other := like(name, classes):
                    remedy = f"{difference(name, other)}: write it so"
                raise UserError(f"{file.path}: {why}; {remedy}.")
            Y[row, index[name]] = 1
    return Y


def text_features(
    files: Sequence[Documents],
    *,
    tokens: Tokens = "auto",
    stop_words: str = "none",
    token_pattern: str | None = None,
    min_df: Count = 2,
    max_features: CountOrZero = 0,
    weighting: text.Weighting = "log-tf-idf",
    unit_length: bool = True,
    html: Html = "keep",
    characters: CountOrZero = 40_000,
) -> tuple[sp.csr_array, np.ndarray]:
    """Return the weighted token counts (n, d) of the texts of all files, and the tokens (d,)."""
    # `stop_words`: "none", "english", or a text file of words to leave out.
    # `token_pattern`: None for words, see `word_pattern`.
    # `characters` is the largest number of features in a view of its own, see
    # `text.character_view`.
    pattern = text.PAIRS if tokens == "characters" else token_pattern or word_pattern()
    try:
        counts, vocabulary = text.count(_texts(files, html), pattern)
    except ValueError as error:
        if pattern != token_pattern:
            raise _no_features(files[0]) from None
        raise UserError(f"{files[0].path}: {error}; see the option token_pattern.") from None
    if left_out := _stop_words(stop_words, pattern):
        kept = np.array([token not in left_out for token in vocabulary], bool)
        counts, vocabulary = counts[:, kept], vocabulary[kept]
    columns = text.select(
        counts, vocabulary, stop_words="none", min_df=min_df, max_features=max_features or None
    )
    if not columns.size:
        raise _no_features(files[0])
    counts = counts[:, columns]  # frees the counts of all tokens
    return text.weight(counts, weighting, unit_length), vocabulary[columns]


def _stop_words(name: str, pattern: str) -> Collection[str]:
    """Return the words of a list or of a file, split as the texts are."""
    if (path := stop_words_file(name)) is None:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS) if name == "english" else ()
    check_files([path], content="words")
    return {*re.findall(pattern, _composed(read_text(path)).lower())}


def _matrix_features(
    files: Sequence[Documents],
    *,
    min_df: Count = 1,
    weighting: text.Weighting | None = None,
    unit_length: bool | None = None,
) -> tuple[sp.csr_array, np.ndarray]:
    """Return the weighted features (n, d) of the matrices of all files, and their numbers (d,)."""
    # `weighting`, `unit_length`: See `text.weight`; None, which `used_options` replaces, leaves the
    # matrices as they are.
    X = stack(files)
    columns = np.flatnonzero(text.document_frequency(X) >= min_df)
    if not columns.size:
        raise _no_features(files[0])
    X = X[:, columns]
    if weighting != "log-tf":
        X = safe_scale([X], f"{files[0].path}")[0]
    what, first = ("feature", 1) if files[0].kind == ".svm" else ("column", 0)
    names = np.array([f"{what} {column + first}" for column in columns], dtype=object)
    return text.weight(X, weighting or "tf", bool(unit_length)), names


def _no_features(file: Documents) -> UserError:
    """Return the error for a file of which no document has a feature."""
    remedy = "set the option min_df=1" if file.kind != "texts" else TEXT_REMEDY
    return UserError(f"{file.path}: no feature is left of its documents; {remedy}.")
