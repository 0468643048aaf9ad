"""Separators, quotes, encodings and columns of the user's tables."""

from __future__ import annotations

import csv
import io
import re
import warnings
from unittest.mock import ANY

import pytest
from conftest import slow_unless
from user_documents import sentences, write_jsonl

from transferbench.errors import UserError
from transferbench.own.dialect import Dialect
from transferbench.own.documents import ReadOptions
from transferbench.own.read import read


@pytest.fixture
def open_file(tmp_path):
    """Return a function that reads content and returns the documents and the warnings."""

    def read_content(content: str | bytes, name: str = "a.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            documents = read(path, ReadOptions(**options), "any")
        return documents, [str(each.message).removeprefix(f"{path}: ") for each in caught]

    return read_content


#: Names of columns, and the cells of row i with a text.
COLUMNS = {
    "text label": lambda i, text: [text, ("cat", "sea")[i % 2]],
    "text number": lambda i, text: [text, f"{i % 2}"],
    "text empty": lambda i, text: [text, ""],
    "text": lambda i, text: [text],
    "label text": lambda i, text: [f"{i % 5 + 1}", text],
    "empty text": lambda i, text: ["", text],
    "user text": lambda i, text: [f"user {i * 7 % 50}", text],
    "id text label": lambda i, text: [f"{i}", text, "ham" if i % 5 == 0 else ""],
    "title text": lambda i, text: [" ".join(["The house"] * (i * i % 7 + 1)), text],
}
#: Those of the quick tests.
QUICK = {"text", "label text"}
#: Rows where a quote opens, and where it closes.
PAIRS = {"next": ([10], [11]), "ten": ([*range(0, 60, 6)], [*range(2, 60, 6)]), "open": ([10], [])}
#: Paragraphs as in posts: quotations, lists, tables and lines that begin with a tab.
POSTS = (
    "In article <1@a>, Bob writes:\n> I like it, too\n>\n> Bob",
    "\tIndented, as it was\n\tin letters\n",
    "5, food\n4, drink\n3, sleep",
    "Breakfast:\nham, bacon and eggs\nspam, too",
    'He said "no"\nand left',
    "a\tb\n1\t2\n1\t3\n1\t4",
)
#: Texts of 60 documents.
PARAGRAPHS = {
    "letters": [f"Dear {i},\nplease come, or not\n\nyours, me" for i in range(60)],
    "short": ["Hello,\nthanks" if i % 5 == 0 else f"hi {i}, you" for i in range(60)],
    "numbers": [f"Prices:\n{i},5 euros\n1,2\n" for i in range(60)],
    "one": ["well\nand good" if i == 7 else "so it is" for i in range(60)],
    "table": [f"a table\n{i}\tb\n{i + 1}\tc" for i in range(60)],
    "posts": [POSTS[i % len(POSTS)] for i in range(60)],
}


def verdict(open_file, content, texts, name="a.csv", **options) -> tuple[str, list[str]]:
    """Return "right", "warned", "misread" (with a warning) or "refused", and what is said."""
    try:
        documents, said = open_file(content, name, **options)
    except UserError as error:
        return "refused", [str(error)]
    if [*documents.content] == texts:
        return ("warned" if said else "right"), said
    assert said, "silently wrong"
    return "misread", said


@pytest.mark.parametrize("columns", slow_unless(QUICK.__contains__, COLUMNS))
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoted", [False, True])
def test_stray_quotes_are_never_passed_over(open_file, columns, pairs, delimiter, quoted):
    """A text begins with a quote and a later one ends with one, or none; `quoted`: another has two.

    Files with tabs are read without quoting if that makes each line a row. Others are warned of or
    refused.
    """
    opening, closing = PAIRS[pairs]
    lines, texts = [delimiter.join(columns.split())], []
    for i, (text, _) in enumerate(sentences(1, 60, 0)):
        text = '"' * (i in opening) + text + '"' * (i in closing)
        is_quoted = quoted and i == 59
        texts.append(f"a{delimiter} b" if is_quoted else text)
        lines.append(delimiter.join(COLUMNS[columns](i, f'"{texts[-1]}"' if is_quoted else text)))
    content, name = "\n".join(lines) + "\n", "a.tsv" if delimiter == "\t" else "a.csv"
    found, (said,) = verdict(open_file, content, texts, name)
    first = opening[0] + 2
    if delimiter == "\t" and columns != "text" and not quoted:
        assert found == "warned"
        assert f":{first}: " in f":{said}"
        assert "so quotes are read as characters; if they enclose values, name quoting=" in said
    elif pairs == "open":
        assert found == "refused"
        remedy = r"name quoting='none' \(of sources alone: source_quoting='no"
        assert re.search(f":{first}: .*{remedy}", said)
    else:
        places = f"in {len(opening)} place{'s' * (len(opening) > 1)}, first in lines {first} to "
        lost = sum(closing) - sum(opening)
        assert found == "misread"
        assert places in said
        assert f"{lost} row{'s' * (lost > 1)} would be lost: name quoting='none'" in said
        assert open_file(content, name, quoting="minimal") == (ANY, [])
    if not quoted:
        assert verdict(open_file, content, texts, name, quoting="none") == ("right", [])


@pytest.mark.parametrize("header", ["text,label", "text,label,,"])
@pytest.mark.parametrize("end", ["", ",,"])
def test_stray_quotes_are_seen_beside_blank_columns(open_file, header, end):
    _, (said,) = open_file(f'{header}\n"a b,x{end}\nc d,y{end}\ne f",x{end}\ng h,y{end}\n')
    assert "in 1 place, first in lines 2 to 4; " in said


def is_like_rows(cells: list[str], delimiter: str) -> bool:
    """Return True if the first, the last and most lines have as many separators as the row."""
    fits = [line.count(delimiter) == len(cells) - 1 for line in delimiter.join(cells).split("\n")]
    return len(fits) > 1 and fits[0] and fits[-1] and 2 * sum(fits) > len(fits)


@pytest.mark.parametrize("kind", PARAGRAPHS)
@pytest.mark.parametrize("columns", slow_unless(QUICK.__contains__, COLUMNS))
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_paragraphs_in_quotes_are_read_and_warned_of_only_if_their_lines_are_like_rows(
    open_file, kind, columns, delimiter
):
    file, texts = io.StringIO(newline=""), PARAGRAPHS[kind]
    rows = [COLUMNS[columns](i, text) for i, text in enumerate(texts)]
    csv.writer(file, delimiter=delimiter).writerows([columns.split(), *rows])
    name = "a.csv" if delimiter == "," else "a.tsv"
    found, _ = verdict(open_file, file.getvalue(), texts, name)
    assert (found == "right") == (not any(is_like_rows(row, delimiter) for row in rows))
    # Each line of this file is a row, so it is read as if it had no quoting.
    divided = (kind, delimiter) == ("table", "\t") and columns in (
        *("label text", "empty text", "user text", "title text"),
    )
    assert (found == "misread") == divided
    assert verdict(open_file, file.getvalue(), texts, name, quoting="minimal") == ("right", [])


LONGER = r"; put a value with .*if quotes are characters of the texts, name quoting='none'"


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ('text,label\n"a, b",x\n"hi" there,y\n', {}, ":3: ',' expected after '\"'" + LONGER),
        ('text,label\na,b\n"a\nb" c,x\n', {}, ":3: ',' expected after '\"' in line 4" + LONGER),
        (
            'text,label\na,b\n"a\nb,x\n',
            {},
            ":3: a quote opens in this row and is not cl.*" + LONGER,
        ),
        ("text,label\na,b,c\n", {}, ":2: 3 values, but the first line has 2 names" + LONGER),
        ("text,label,id\na,b\n", {}, ":2: 2 values, but the first line has 3 names" + LONGER),
        ("text\nhello, you\n", {}, ":2: 2 values, but the first line has 1 name" + LONGER),
        ("label,text,,\nx,a b,,\ny,c, d,\n", {}, ":3: 4 values, but .* has 2 names" + LONGER),
        (",,text,label\n0,1,a b,x\n", {}, ":2: 4 values, but the first line has 3 names"),
        ("text,label\na,b,c\n", {"quoting": "none"}, r":2: 3 values, but .*double its quotes\.$"),
        ("text,label\na,x\nlabel,text\ny,b\n", {}, r":3: another .*; give the files separately\.$"),
        ("text\tlabel\na\tx\nlabel\ttext\ny\tb\n", {}, ":3: another header, .* in another order"),
        ("text,label\na,b\n", {"delimiter": "ab"}, "expected one character, or one of tab"),
        ("text,label\na,b\n", {"delimiter": '"'}, "expected one character, or one of tab"),
        ("text,label\na,b\n", {"delimiter": "\n"}, "expected one character, or one of tab"),
    ],
)
def test_a_row_or_separator_that_does_not_fit_is_refused_with_the_option(
    open_file, content, options, said
):
    with pytest.raises(UserError, match=said):
        open_file(content, **options)


def test_without_quoting_a_line_is_a_row(open_file):
    assert open_file('text\nhello, "you\n', quoting="none")[0].content == ['hello, "you']


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("label,text,,,\nx,a b,,,\ny,c d,,,\n", ["label", "text"]),
        ("label,text,,\nx,a b\ny,c d\n", ["label", "text"]),
        ("label,text\nx,a b,,\ny,c d,,\n", ["label", "text"]),
        ("label;text;;\nx;a b;;\ny;c d;;\n", ["label", "text"]),
        ("text, ,label\na b,,x\nc d,,y\n", ["text", "label"]),
        (",text,label\n0,a b,x\n1,c d,y\n", ["", "text", "label"]),
        ("text, Label\na b,x\nc d,y\n", ["text", " Label"]),
        ("sep=;\ntext;label\na b;x\nc d;y\n", ["text", "label"]),
    ],
)
def test_columns_without_name_and_value_are_left_out(open_file, content, names):
    documents, warned = open_file(content)
    assert (list(documents.content), documents.labels) == (["a b", "c d"], ["x", "y"])
    assert ([*documents.table], warned) == (names, [])


@pytest.mark.parametrize("line", ["text,label", "Text,Label", " text , label ", "\ufeffTEXT,LABEL"])
def test_a_repeated_first_line_is_left_out_with_a_warning(open_file, line):
    documents, (warning,) = open_file(f"text,label\na b,x\n{line}\nc d,y\n")
    assert (documents.content, len(documents.table)) == (["a b", "c d"], 2)
    assert "the first line is repeated 1 time, first in line 3; these lines are skipped" in warning


def test_numbers_that_are_names_of_columns_are_no_repeated_first_line(open_file):
    documents, said = open_file("0,1\n0,1\n1,0\n", text="0", label="1")
    assert (documents.content, documents.labels, said) == (["0", "1"], ["1", "0"], [])


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.tsv", "text\tlabel\tn (a, b, c, d)\na, b\tx\t1\n", {}),
        ("a.tsv", 'text,label\n"a, b",x\n', {}),
        ("a.csv", "text;label;n (a, b, c, d)\na, b;x;1\n", {}),
        ("a.csv", 'text,label,n;m;o;p\n"a, b",x,1\n', {}),
        ("a.csv", 'text,label,"n (a; b; c; d)"\n"a, b",x,1\n', {}),
        ("a.csv", "text\tlabel\tn, m, o, p\na, b\tx\t1\n", {}),
        ("a.csv", "text|label\na, b|x\n", {}),
        ("a.csv", '\ufeff"id";"text";"label"\n"7";"a, b";"x"\n', {}),
        ("a.tsv", '"label"\t"text"\n"x"\t"a, b"\n', {}),
        ("a.csv", "body;topic;n, m, o, p\na, b;x;1\n", {"text": "body", "label": "topic"}),
        ("a.csv", "text^label\na, b^x\n", {"delimiter": "^"}),
        ("a.csv", "text;n\tlabel\na, b\tx\n", {"delimiter": "tab", "text": "text;n"}),
    ],
)
def test_the_first_line_decides_what_the_separator_is(open_file, name, content, options):
    documents, warned = open_file(content, name, **options)
    assert (list(documents.content), documents.labels, warned) == (["a, b"], ["x"], [])


TEXT = "text,label\nMüller é,x\n"


@pytest.mark.parametrize(
    ("content", "named", "used", "said"),
    [
        (TEXT.encode("utf-16"), "utf-8", "utf-16-le", ""),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16", "utf-16-be", ""),
        (TEXT.encode("utf-32"), "cp1252", "utf-32-le", "mark of UTF-32-LE .* not as CP1252"),
        (TEXT.encode("utf-8-sig"), "cp1252", "utf-8", "byte order mark of UTF-8 .* not as CP1252"),
        (TEXT.encode("utf-16-le"), "utf-16-le", "utf-16-le", ""),
        (TEXT.encode("utf-16-be"), "utf-16-be", "utf-16-be", ""),
        (TEXT.encode(), "cp1252", "utf-8", "valid UTF-8 and is read so, not as CP1252"),
        (TEXT.encode(), "utf-16", "utf-8", "valid UTF-8 and is read so, not as UTF-16"),
        (TEXT.encode("cp1252"), "cp1252", "cp1252", ""),
        (TEXT.replace("\n", "\r").encode("cp1252"), "cp1252", "cp1252", ""),
    ],
)  # fmt: skip
def test_each_file_has_its_encoding_and_another_one_is_said(open_file, content, named, used, said):
    documents, warned = open_file(content, encoding=named)
    assert (list(documents.content), documents.dialect.encoding) == (["Müller é"], used)
    assert re.search(said, *warned) if said else not warned


HALF = ("text,label\n" + "éöü,x\n" * 20).encode() + b"\xe9,y\n"


@pytest.mark.parametrize(
    ("content", "named", "message"),
    [
        (TEXT.encode("utf-16-le"), "utf-8", r"UTF-8; it looks like UTF-16-LE; .*='utf-16-le' \("),
        (TEXT.encode("utf-16-be"), "utf-16", r"no byte order mark of UTF-16; .*='utf-16-le' .*be"),
        (TEXT.encode("utf-32-le"), "utf-8", r"UTF-8; it looks like UTF-32-LE; .*='utf-32-le' \("),
        ("text,label\na b,x\n".encode("utf-16-le"), "cp1252", ":3: 1 value, but the first line"),
        (b"text,label\nM\x81,x\n", "cp1252", r":2: byte 2 is not CP1252; .*name its encoding: enc"),
        (TEXT.encode("cp1252"), "ascii", r":2: byte 2 is not ASCII; it looks like CP125\d; name"),
        (b"text,label\rM\xe9,x\r", "utf-8", r":2: byte 2 is not UTF-8; it looks like CP125\d; na"),
        (HALF, "utf-8", r":22: byte 1 is not UTF-8, but 60 other characters are; correct"),
        (b"\xef\xbb\xbftext,label\nM\xfc,x\n", "cp1252", r":2: byte 2 is not UTF-8, whose byte"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*control characters, first in line 1")
def test_a_byte_that_is_not_in_the_encoding_is_refused_with_its_place(
    open_file, content, named, message
):
    with pytest.raises(UserError, match=message):
        open_file(content, encoding=named)


LANGUAGES = {
    "cp949": "이 영화는 AI를 다룬 최고의 작품이다 배송이 느리고 제품이 나빠요",
    "cp932": "これは日本語の文章です。とても良い映画でした ポジティブ レビュー レビュー",
    "euc_jp": "これは日本語の文章です。とても良い映画でした",
    "gb18030": "这是一个很好的产品，我非常喜欢它 快递很慢，包装破损了，不会再来买了",
    "cp950": "這是一個很好的產品，我非常喜歡它 快遞很慢，包裝破損了，不會再來買了",
    "cp1251": "Доставка была медленной Добре це українська мова і вона гарна",
    "cp1253": "Αυτή είναι μια καλή ταινία μου άρεσε πολύ",
    "cp1255": "זה סרט טוב מאוד אהבתי אותו",
    "cp1256": "هذا فيلم جيد جدا، أحببته كثيرا",
    "cp874": "นี่คือหนังที่ดีมาก ฉันชอบมัน",
    "cp1250": "Zrób to jeszcze dziś bo później będzie źle Čeština je krásný jazyk že",
    "cp1254": "Bu çok güzel bir şehir ışık ve yağmur Bugün hava soğuk dışarı çıkmayacağız",
    "cp1252": "Le garçon a été à l'école « mangé\xa0! » “Quotes” – it’s fine… El niño ¿qué?",
}


def in_encoding(encoding: str, text: str = "") -> bytes:
    """Return a table in an encoding, by default with a text of its language."""
    return f"text,label\na b,x\n{text or LANGUAGES[encoding]},y\n".encode(encoding)


@pytest.mark.parametrize("encoding", LANGUAGES)
def test_a_likely_encoding_is_named_and_reads_the_file(open_file, encoding):
    content = in_encoding(encoding)
    with pytest.raises(UserError, match=r"it looks like .*; name its encoding: ") as error:
        open_file(content)
    found = re.search(r"encoding='(\w+)'", str(error.value))[1]
    assert open_file(content, encoding=found)[0].content == ["a b", LANGUAGES[encoding]]
    assert open_file(content, encoding=encoding) == (ANY, [])


def with_utf_8(valid: int, wrong: int) -> bytes:
    return b"text,label\n" + "café a,x\n".encode() * valid + b"caf\xe9 b,y\n" * wrong


@pytest.mark.parametrize(
    ("content", "named", "said"),
    [
        *[
            (in_encoding(other), named, f"looks like .*; if it is, name encoding='{other}'")
            for named in ("cp1252", "latin-1")
            for other in ("cp949", "gb18030", "cp1251")
        ],
        (with_utf_8(5, 1), "cp1252", "5 characters of it are UTF-8, 1 byte not, first in line 7"),
        (with_utf_8(2, 1), "cp1252", "2 characters of it are UTF-8"),
        (with_utf_8(5, 20), "cp1252", "5 characters of it are UTF-8"),
        (HALF, "cp1252", "60 characters of it are UTF-8, 1 byte not, first in line 22"),
        (b"text,label\na\0b,x\n", "utf-8", "1 control character, first in line 2"),
        *[
            (in_encoding("cp1252", text), "cp1252", "")
            for text in ("", "Þetta er gott að vera", "Päälle järjestää yötä", "Amanhã ações")
        ],
        (in_encoding("cp949", "긍정"), "cp1252", ""),  # few bytes may be damage
        (b"text\n" + b"caf\xe9 b\n" * 9 + b"MEN\xdc\x93\n", "cp1252", ""),
    ],
)
def test_damage_and_another_encoding_than_the_named_one_are_warned_of(
    open_file, content, named, said
):
    _, warned = open_file(content, encoding=named)
    assert re.search(said, *warned) if said else not warned


def test_the_dialect_of_a_file(open_file):
    def dialect(content, name="a.csv"):
        return open_file(content, name)[0].dialect

    assert dialect("text;label\r\na;x\r\n") == Dialect(delimiter=";", line_end="\r\n")
    content = b"\xff\xfe" + "text\tlabel\r\nMüller\tx\r\n".encode("utf-16-le")
    assert dialect(content) == Dialect("utf-16-le", True, "\t", True, "\r\n")
    assert dialect('{"text": "a"}\n', "a.jsonl") == Dialect()


@pytest.mark.parametrize(
    ("row", "name", "value"),
    [
        ({"doc": {"body": "in"}}, "doc.body", "in"),
        ({"Doc": {"Body": "in"}}, "doc.body", "in"),
        ({"doc": {"body": "in"}, "doc.body": "top"}, "doc.body", "top"),
        ({"doc": {"a.b": "key", "a": {"b": "in"}}}, "doc.a.b", "key"),
        ({"a.b": {"c": "key"}, "a": {"b": {"c": "in"}}}, "a.b.c", "key"),
    ],
)
def test_a_path_of_keys_is_a_column(tmp_path, row, name, value):
    path = write_jsonl(tmp_path / "a.jsonl", [row.values()], [*row])
    options = ReadOptions(text=name, label=name)
    documents = read(path, options, "all")
    assert (list(documents.content), documents.labels) == ([value], [value])
    assert [*documents.table] == [*row]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"doc": [{"body": "a"}]}', ":2: doc.body: expected an object with the key 'body', got a"),
        ('{"doc": "a"}', ":2: doc.body: expected an object with the key 'body', got 'a'"),
        ('{"doc": {"other": "a"}}', ":2: no 'doc.body'; expected it in every row"),
        ('{"doc": {"body": 5}}', ":2: doc.body: expected text, got '5'"),
    ],
)
def test_a_path_that_ends_elsewhere_is_refused(open_file, row, message):
    with pytest.raises(UserError, match=re.escape(message)):
        open_file(f'{{"doc": {{"body": "a"}}}}\n{row}\n', "a.jsonl", text="doc.body")


def test_a_missing_column_is_sought_among_the_keys_of_objects(open_file):
    content = '{"id": 1, "doc": {"head": {"by": "b"}, "body": "a"}}\n{"doc": {"date": null}}\n'
    for name in ("body", "doc.none"):
        first = "'doc.body', 'id', " if name == "body" else "'id', "
        with pytest.raises(UserError, match=f":1: no column '{name}' among {first}") as error:
            open_file(content, "a.jsonl", text=name)
        assert all(f"'doc.{key}'" in str(error.value) for key in ("head.by", "body", "date"))


def test_sources_are_read_by_their_own_options():
    options = ReadOptions(text="body", quoting="none", source_text="v2", source_encoding="cp1252")
    used = options.of_sources()
    assert (used.text, used.quoting, used.encoding) == ("v2", "none", "cp1252")
    for given, delimiter in (({}, ","), ({"source_delimiter": ";"}, ";")):
        assert ReadOptions(delimiter=",", **given).of_sources().delimiter == delimiter
