"""Separators, quotes, encodings and columns of the user's tables."""

from __future__ import annotations

import csv
import io
import re
import warnings
from unittest.mock import ANY

import pytest
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


ORDERS = ["text label", "label text", "text", "id text", "id text label", "text empty"]
#: Columns around a text in row i.
AROUND = {
    "blank": ("text label", lambda i, text: [text, ""]),
    "blank first": ("label text", lambda i, text: ["", text]),
    "user": ("user text", lambda i, text: [f"user {i * 7 % 50}", text]),
    "0 or 1": ("text label", lambda i, text: [text, f"{i % 2}"]),
    "1 to 5": ("label text", lambda i, text: [f"{i % 5 + 1}", text]),
    "partly": ("text label", lambda i, text: [text, "ham" if i % 5 == 0 else ""]),
    "any": ("title text", lambda i, text: [" ".join(["The house"] * (i * i % 7 + 1)), text]),
}
#: Rows where a quote opens, and where it closes.
PAIRS = {"next": ([10], [11]), "ten": ([*range(0, 60, 6)], [*range(2, 60, 6)]),
         "all": ([*range(0, 60, 3)], [*range(2, 60, 3)])}  # fmt: skip
#: Paragraphs as in posts: quotations, lists, tables and lines that begin with a tab.
POSTS = (
    "In article <1@a>, Bob writes:\n> I like it, too\n>\n> Bob",
    "\tIndented, as it was\n\tin letters\n",
    "5, food\n4, drink\n3, sleep",
    "Breakfast:\nham, bacon and eggs\nspam, too",
    "It costs 2,5\n1,5 is enough",
    "Hi all,\nbye",
    "one line, of a post",
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
#: Files in quotes in which lines of a value look like rows: these have a warning. Where each line
#: of a file with tabs does, it is read as if it had no quoting, which the warning says.
WARNED = {
    ("letters", "\t"): ["text"], ("numbers", "\t"): ["text"], ("one", "\t"): ["text"],
    ("short", "\t"): ["text"], ("one", ","): ["text"], ("table", ","): ["text"],
    ("short", ","): ["text label", "text empty", "blank", "0 or 1", "partly"],
    ("posts", ","): [*ORDERS, *AROUND],
    ("posts", "\t"): ["text label", "text", "text empty", "blank", "0 or 1", "partly"],
}  # fmt: skip
MISREAD = ["label text", "id text", "blank first", "user", "1 to 5", "any"]


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


def cells_of(order: str, i: int, text: str) -> list[str]:
    """Return the header and row i of a table with columns of this order."""
    if order in AROUND:
        return AROUND[order][1](i, text)
    cells = {"text": text, "label": ("cat", "sea")[i % 2], "id": f"{i}", "empty": ""}
    return [cells[name] for name in order.split()]


def header(order: str) -> list[str]:
    return AROUND.get(order, (order,))[0].split()


@pytest.mark.parametrize("order", [*ORDERS, *AROUND])
@pytest.mark.parametrize("pairs", [*PAIRS, "open"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoted", [False, True])
def test_stray_quotes_are_never_passed_over(open_file, order, pairs, delimiter, quoted):
    """A text begins with a quote and a later one ends with one, or none; `quoted`: another has two.

    Files with tabs are read without quoting if that makes each line a row. Others are warned of or
    refused.
    """
    opening, closing = PAIRS.get(pairs, ([10], []))
    quoted = quoted and pairs != "all"  # where the last row closes a quote
    lines, texts = [delimiter.join(header(order))], []
    for i, (text, _) in enumerate(sentences(1, 60, 0)):
        text = '"' * (i in opening) + text + '"' * (i in closing)
        is_quoted = quoted and i == 59
        texts.append(f"a{delimiter} b" if is_quoted else text)
        lines.append(delimiter.join(cells_of(order, i, f'"{texts[-1]}"' if is_quoted else text)))
    content, name = "\n".join(lines) + "\n", "a.tsv" if delimiter == "\t" else "a.csv"
    found, (said,) = verdict(open_file, content, texts, name)
    first = opening[0] + 2
    if delimiter == "\t" and order != "text" and not quoted:
        assert found == "warned"
        assert f":{first}: " in f":{said}"
        assert (
            "so quotes are read as characters; if they enclose values, name quoting='minimal'"
            in said
        )
    elif pairs == "open":
        assert found == "refused"
        assert re.search(
            rf":{first}: .*name quoting='none' \(of sources alone: source_quoting='no", said
        )
    else:
        lost = sum(closing) - sum(opening)
        assert found == "misread"
        assert (
            f"in {len(opening)} place{'s' * (len(opening) > 1)}, first in lines {first} to " in said
        )
        assert f"{lost} row{'s' * (lost > 1)} would be lost: name quoting='none'" in said
        assert open_file(content, name, quoting="minimal") == (ANY, [])
    if not quoted:
        assert verdict(open_file, content, texts, name, quoting="none") == ("right", [])


@pytest.mark.parametrize("header", ["text,label", "text,label,,"])
@pytest.mark.parametrize("end", ["", ",,"])
def test_stray_quotes_are_seen_beside_blank_columns(open_file, header, end):
    _, (said,) = open_file(f'{header}\n"a b,x{end}\nc d,y{end}\ne f",x{end}\ng h,y{end}\n')
    assert "in 1 place, first in lines 2 to 4; " in said


@pytest.mark.parametrize("kind", PARAGRAPHS)
@pytest.mark.parametrize("order", [*ORDERS, *AROUND])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_paragraphs_in_quotes_are_read_and_warned_of_only_if_their_lines_are_like_rows(
    open_file, kind, order, delimiter
):
    file, texts = io.StringIO(newline=""), PARAGRAPHS[kind]
    rows = [cells_of(order, i, text) for i, text in enumerate(texts)]
    csv.writer(file, delimiter=delimiter).writerows([header(order), *rows])
    name = "a.csv" if delimiter == "," else "a.tsv"
    expected = "warned" if order in WARNED.get((kind, delimiter), ()) else "right"
    if (kind, delimiter) == ("table", "\t") and order in MISREAD:
        expected = "misread"
    found, _ = verdict(open_file, file.getvalue(), texts, name)
    assert found == expected
    assert verdict(open_file, file.getvalue(), texts, name, quoting="minimal") == ("right", [])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('text,label\n"a, b",x\n"hi" there,y\n', ":3: ',' expected after '\"'; put a value with"),
        ('text,label\na,b\n"a\nb" c,x\n', ":3: ',' expected after '\"' in line 4; put a value"),
        ('text,label\na,b\n"a\nb,x\n', ":3: a quote opens in this row and is not closed; put"),
        ("text,label\na,b,c\n", ":2: 3 values, but the first line has 2 names; put a value with"),
        ("text,label,id\na,b\n", ":2: 2 values, but the first line has 3 names; put a value"),
        ("text\nhello, you\n", ":2: 2 values, but the first line has 1 name; put a value with"),
        ("label,text,,\nx,a b,,\ny,c, d,\n", ":3: 4 values, but the first line has 2 names; put"),
        (",,text,label\n0,1,a b,x\n", ":2: 4 values, but the first line has 3 names"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_with_its_line_and_the_option(open_file, content, said):
    message = rf"a\.csv{said}.*if quotes are characters of the texts, name quoting='none'"
    with pytest.raises(UserError, match=message):
        open_file(content)


def test_without_quoting_a_line_is_a_row(open_file):
    assert open_file('text\nhello, "you\n', quoting="none")[0].content == ['hello, "you']
    with pytest.raises(UserError, match=r":3: 3 values, but .*double its quotes\.$"):
        open_file("text,label\na,b\na,b,c\n", quoting="none")


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


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_first_line_in_another_order_is_refused(open_file, name):
    content = "text,label\na,x\nlabel,text\ny,b\n".replace(",", "," if name == "a.csv" else "\t")
    message = (
        r":3: another header, as of joined files, in another order; give the files separately\.$"
    )
    with pytest.raises(UserError, match=message):
        open_file(content, name)


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


def test_a_separator_is_one_character(open_file):
    for name in ("ab", '"', "\n"):
        with pytest.raises(UserError, match="expected one character, or one of tab"):
            open_file("text,label\na,b\n", delimiter=name)


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
    "cp949": ["이 영화는 AI를 다룬 최고의 작품이다", "배송이 느리고 제품이 나빠요"],
    "cp932": ["これは日本語の文章です。とても良い映画でした", "ポジティブ レビュー レビュー"],
    "euc_jp": ["これは日本語の文章です。とても良い映画でした"],
    "gb18030": ["这是一个很好的产品，我非常喜欢它", "快递很慢，包装破损了，不会再来买了"],
    "cp950": ["這是一個很好的產品，我非常喜歡它", "快遞很慢，包裝破損了，不會再來買了"],
    "cp1251": ["Доставка была медленной", "Добре, це українська мова і вона гарна"],
    "cp1253": ["Αυτή είναι μια καλή ταινία, μου άρεσε πολύ"],
    "cp1255": ["זה סרט טוב מאוד, אהבתי אותו"], "cp1256": ["هذا فيلم جيد جدا، أحببته كثيرا"],
    "cp874": ["นี่คือหนังที่ดีมาก ฉันชอบมัน"],
    "cp1250": ["Zrób to jeszcze dziś, bo później będzie źle", "Čeština je krásný jazyk, že"],
    "cp1254": ["Bu çok güzel bir şehir, ışık ve yağmur", "Bugün hava soğuk, dışarı çıkmayacağız"],
    "cp1252": [
        "Le garçon a été à l'école", "« mangé\xa0! »", "“Quotes” – it’s fine…", "El niño ¿qué?",
        "Þetta er gott að vera hér í kvöld, á bók", "Päälle järjestää yötä", "Amanhã, ações",
    ],
}  # fmt: skip


@pytest.mark.parametrize("encoding", LANGUAGES)
def test_a_likely_encoding_is_named_and_reads_the_file(open_file, encoding):
    text = " ".join(LANGUAGES[encoding]).replace(",", "")
    content = f"text,label\na b,x\n{text},y\n".encode(encoding)
    with pytest.raises(UserError, match=r"it looks like .*; name its encoding: ") as error:
        open_file(content)
    found = re.search(r"encoding='(\w+)'", str(error.value))[1]
    assert open_file(content, encoding=found)[0].content == ["a b", text]
    assert open_file(content, encoding=encoding) == (ANY, [])


@pytest.mark.parametrize("named", ["cp1252", "latin-1"])
def test_another_script_that_is_read_as_latin_letters_is_warned_of(open_file, named):
    for encoding in ("cp949", "gb18030", "cp1251"):
        content = f"text,label\n{LANGUAGES[encoding][0].replace(',', '')},y\n".encode(encoding)
        _, (warning,) = open_file(content, encoding=named)
        assert f"but looks like {encoding.upper()}; if it is, name encoding='{encoding}'" in warning
    for text in LANGUAGES["cp1252"]:
        content = f"text,label\n{text.replace(',', '')},y\n".encode("cp1252")
        assert open_file(content, encoding=named)[1] == []
    # Few bytes may be damage.
    assert open_file("text,label\n긍정,y\n".encode("cp949"), encoding="cp1252")[1] == []


@pytest.mark.parametrize(("valid", "wrong"), [(5, 1), (2, 1), (5, 5), (5, 20)])
def test_some_bytes_of_another_encoding_among_utf_8_are_warned_of(open_file, valid, wrong):
    content = b"text,label\n" + "caf\u00e9 a,x\n".encode() * valid + b"caf\xe9 b,y\n" * wrong
    _, (warning,) = open_file(content, encoding="cp1252")
    assert f"{valid} characters of it are UTF-8" in warning
    assert open_file(b"text\n" + b"caf\xe9 b\n" * 9 + b"MEN\xdc\x93\n", encoding="cp1252")[1] == []


def test_damaged_bytes_are_warned_of(open_file):
    _, warned = open_file(HALF, encoding="cp1252")
    assert re.search("60 characters of it are UTF-8, 1 byte not, first in line 22", *warned)
    _, warned = open_file(b"text,label\na\0b,x\n")
    assert re.search("1 control character, first in line 2", *warned)


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
