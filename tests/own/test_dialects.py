"""Separators, quotes, encodings and columns of the user's tables."""

from __future__ import annotations

import csv
import re
import warnings

import pandas as pd
import pytest
from user_documents import sentences, write_csv, write_jsonl

from transferbench.errors import UserError
from transferbench.own.dialect import Dialect
from transferbench.own.documents import ReadOptions
from transferbench.own.read import read
from transferbench.own.tables import read_table


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


def unquoted(order: str, delimiter: str, *, first: int = 10, last: int = 40) -> str:
    """Return a table without quoting; one text begins with a quote, a later one ends with one."""
    rows = [order.replace(" ", delimiter)]
    for i, (text, label) in enumerate(sentences(1, 60, 0)):
        text = f'"{text}' if i == first else f'{text}"' if i == last else text
        cells = {"text": text, "label": label, "id": f"{i}", "empty": ""}
        rows.append(delimiter.join(cells[name] for name in order.split()))
    return "\n".join(rows) + "\n"


ORDERS = ["text label", "label text", "text", "id text", "id text label", "text empty"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_rows_that_stray_quotes_join_are_named_with_their_lines(open_file, order, delimiter):
    content = unquoted(order, delimiter)
    documents, (warning,) = open_file(content)
    assert len(documents) == 30
    assert warning.startswith("quotes join lines 12 to 42, which look like rows, to one row; ")
    assert "if quotes are characters of the texts, use --quoting none; " in warning
    assert warning.endswith("if they enclose a value, use --quoting minimal")
    documents, warned = open_file(content, quoting="none")
    assert (len(documents), warned) == (60, [])
    assert documents.content[10].startswith('"')
    documents, warned = open_file(content, quoting="minimal")
    assert (len(documents), warned) == (30, [])


@pytest.mark.parametrize("order", [order for order in ORDERS if order != "text"])
def test_tabs_are_read_without_quoting_if_only_that_makes_each_line_a_row(open_file, order):
    closed = unquoted(order, "\t")
    for content in (closed, unquoted(order, "\t", last=-1), re.sub('"(\\w+)', r'"\1"', closed)):
        documents, (warning,) = open_file(content, "a.tsv")
        assert re.match(
            r"quotes were read as characters: (with quoting line 12 is no row|quoting would join "
            r"lines 12 to \d+(, and \d+ more groups? of lines)?); if "
            "quotes enclose values, use --quoting minimal$",
            warning,
        ), warning
        assert (len(documents), documents.dialect.quoted) == (60, False)
        assert documents.content[10].startswith('"')


#: Columns of tables whose texts have stray quotes: a heading, and the cells of row i around a text.
AROUND = {
    "blank": ("text label", lambda i, text: [text, ""]),
    "blank first": ("label text", lambda i, text: ["", text]),
    "user": ("user text", lambda i, text: [f"user {i * 7 % 50}", text]),
    "0 or 1": ("text label", lambda i, text: [text, f"{i % 2}"]),
    "1 to 5": ("label text", lambda i, text: [f"{i % 5 + 1}", text]),
    "partly": ("text label", lambda i, text: [text, "ham" if i % 5 == 0 else ""]),
    "any": ("title text", lambda i, text: [" ".join(["The house"] * (i * i % 7 + 1)) + "!", text]),
}
#: Rows where a quote opens, and where it closes.
PAIRS = {"next": ([10], [11]), "ten": ([*range(0, 60, 6)], [*range(2, 60, 6)]),
         "all": ([*range(0, 60, 3)], [*range(2, 60, 3)])}  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("quoted", [False, True])
def test_stray_quotes_are_named_however_many_there_are(open_file, around, pairs, delimiter, quoted):
    """A single other row has a value in quotes, as it should, if `quoted`."""
    heading, cells = AROUND[around]
    opening, closing = PAIRS[pairs]
    lines = [heading.replace(" ", delimiter)]
    for i, (text, _) in enumerate(sentences(1, 60, 0)):
        text = f'"a{delimiter} b"' if quoted and i == 59 and pairs != "all" else text
        text = '"' * (i in opening) + text + '"' * (i in closing)
        lines.append(delimiter.join(cells(i, text)))
    name = "a.csv" if delimiter == "," else "a.tsv"
    documents, (warning,) = open_file("\n".join(lines) + "\n", name)
    lost = sum(closing) - sum(opening)
    if warning.startswith("quotes were read as characters"):
        assert (len(documents), delimiter) == (60, "\t")
    else:
        assert len(documents) == 60 - lost
        assert f"; {lost} row{'s are' if lost > 1 else ' is'} lost; " in warning


def test_stray_quotes_in_a_file_of_one_column_are_named(open_file):
    for opening, closing in (PAIRS["ten"], ([10, 20], [11, 21])):
        lines = ["text"]
        for i, (text, _) in enumerate(sentences(1, 60, 0)):
            lines.append('"' * (i in opening) + text + '"' * (i in closing))
        documents, (warning,) = open_file("\n".join(lines) + "\n")
        assert len(documents) == 60 - sum(closing) + sum(opening)
        assert "quotes join lines" in warning


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


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_posts_that_pandas_writes_are_no_joined_rows(tmp_path, around, name):
    heading, cells = AROUND[around]
    rows = [cells(i, POSTS[i % len(POSTS)]) for i in range(200)]
    rows = [[cell.replace("house!", "house") for cell in row] for row in rows]
    table = pd.DataFrame(rows, columns=heading.split())
    table.to_csv(tmp_path / name, index=False, sep="," if name == "a.csv" else "\t")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        documents = read(tmp_path / name)
    assert documents.content == [POSTS[i % len(POSTS)] for i in range(200)]


def test_a_quote_that_is_not_closed_is_named_where_it_opens(open_file):
    content = unquoted("label text", ",", last=-1)
    with pytest.raises(UserError, match=r"a.csv:12: a quote opens .* not closed; name --quoting"):
        open_file(content)
    assert len(open_file(content, quoting="none")[0]) == 60
    with pytest.raises(
        UserError, match=r":3: ',' expected.*; put a value with quotes in '\"', and"
    ):
        open_file('text,label\n"a, b",x\n"hi" there,y\n')
    with pytest.raises(UserError, match=r":2: ',' expected after '\"'; name --quoting none if"):
        open_file('text,label\n"hi" there,y\n')
    with pytest.raises(UserError, match=r":3: 3 columns.*; without quoting no value can contain"):
        open_file("text,label\na,b\na,b,c\n", quoting="none")
    message = r":2: 2 columns, but the first line has 1; .* --quoting none if each line is one text"
    with pytest.raises(UserError, match=message):
        open_file("text\nhello, you\n")
    assert open_file('text\nhello, "you\n', quoting="none")[0].content == ['hello, "you']


def paragraphs(i: int, kind: str) -> str:
    texts = {
        "letters": f"Dear {i},\nplease come, or not\n\nyours, me",
        "short": "Hello,\nthanks" if i % 5 == 0 else f"hi {i}, you",
        "numbers": f"Prices:\n{i},5 euros\n1,2\n",
        "one": "well\nand good" if i == 7 else "so it is",
        "table": f"a table\n{i}\tb\n{i + 1}\tc",
    }
    return texts[kind]


@pytest.mark.parametrize("kind", ["letters", "short", "numbers", "one", "table"])
@pytest.mark.parametrize("order", [*ORDERS, "user text", "title text", "partly text"])
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_paragraphs_in_quotes_are_no_joined_rows(tmp_path, kind, order, delimiter):
    rows = []
    for i in range(60):
        cells = {"text": paragraphs(i, kind), "label": "ab"[i % 2], "id": i, "user": f"u{i}"}
        cells |= {"title": f"no {i}", "empty": "", "partly": "a" if i % 3 == 0 else ""}
        rows.append([cells[name] for name in order.split()])
    name = "a.csv" if delimiter == "," else "a.tsv"
    path = write_csv(tmp_path / name, rows, order.split(), delimiter)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        documents = read(path)
    assert [text.replace("\r\n", "\n") for text in documents.content] == [
        paragraphs(i, kind) for i in range(60)
    ]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("label,text,,,\nx,a b,,,\ny,c d,,,\n", ["label", "text"]),
        ("label,text,,\nx,a b\ny,c d\n", ["label", "text"]),
        ("label,text\nx,a b,,\ny,c d,,\n", ["label", "text"]),
        ("label;text;;\nx;a b;;\ny;c d;;\n", ["label", "text"]),
        ("text, ,label\na b,,x\nc d,,y\n", ["text", "label"]),
        (",text,label\n0,a b,x\n1,c d,y\n", ["", "text", "label"]),
        (",,text,label,\n0,1,a b,x,\n1,1,c d,y,\n", ["", "Unnamed: 1", "text", "label"]),
        ("text, Label\na b,x\nc d,y\n", ["text", " Label"]),
        ("sep=;\ntext;label\na b;x\nc d;y\n", ["text", "label"]),
    ],
)
def test_columns_without_name_and_value_are_left_out(open_file, content, names):
    documents, warned = open_file(content)
    assert (list(documents.content), documents.labels) == (["a b", "c d"], ["x", "y"])
    assert ([*documents.table], warned) == (names, [])


def test_values_without_a_name_and_repeated_first_lines_are_warned_of(open_file):
    documents, (warning,) = open_file("label,text,,\nx,a b,,\ny,c, d,\ny,c, d,e\n")
    assert (
        "columns without a name have values that are not read as texts (2 rows, first in line 3)"
        in warning
    )
    assert [*documents.table] == ["label", "text", "", "Unnamed: 3"]
    for mark in ("", "\ufeff"):
        documents, warned = open_file(f"text,label\na,x\n{mark}text,label\nb,y\n")
        assert (documents.labels, len(documents.table)) == (["x", "y"], 2)
        assert warned == ["the first line is repeated in line 3 and skipped there"]
    with pytest.raises(UserError, match=r"a.csv:3: another header.*; give the files separately"):
        open_file("text,label\na,x\nlabel,text\ny,b\n")


@pytest.mark.parametrize("line", ["Text,Label", " text , label ", "\ufeffTEXT,LABEL"])
def test_a_first_line_is_repeated_in_any_case(open_file, line):
    documents, (warning,) = open_file(f"text,label\na b,x\n{line}\nc d,y\n")
    assert documents.content == ["a b", "c d"]
    assert "the first line is repeated in line 3 and skipped there" in warning


def test_many_columns_without_names_are_read_in_linear_time(tmp_path):
    (tmp_path / "a.csv").write_text(f"text,label{',' * 30_000}\na b,x{',1' * 30_000}\n")
    with pytest.warns(UserWarning, match="columns without a name have values"):
        table = read_table(tmp_path / "a.csv")
    assert table.shape == (1, 30_002)
    assert [*table][:4] == ["text", "label", "", "Unnamed: 3"]


def test_numbers_that_are_names_of_columns_are_no_repeated_first_line(tmp_path):
    path = tmp_path / "view.csv"
    path.write_text("0,1\n0,1\n1,0\n")
    table = read_table(path)
    assert ([*table], table.to_numpy().tolist()) == (["0", "1"], [["0", "1"], ["1", "0"]])


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.tsv", "text\tlabel\tn (a, b, c, d)\na, b\tx\t1\n", {}),
        ("a.tsv", 'text,label\n"a, b",x\n', {}),
        ("a.csv", "text;label;n (a, b, c, d)\na, b;x;1\n", {}),
        ("a.csv", 'text,label,n;m;o;p\n"a, b",x,1\n', {}),
        ("a.csv", "text\tlabel\tn, m, o, p\na, b\tx\t1\n", {}),
        ("a.csv", "text|label\na, b|x\n", {}),
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
        (TEXT.encode("utf-16-le"), "utf-16", "utf-16-le", ""),
        (TEXT.encode("utf-16-be"), "utf-16", "utf-16-be", ""),
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
        (TEXT.encode("utf-16-le"), "utf-8", r"NUL bytes .* not UTF-8; .*--encoding utf-16-le\.$"),
        (TEXT.encode("utf-16-be"), "cp1252", r" is not CP1252; name .*--encoding utf-16-be\.$"),
        (TEXT.encode("utf-32-le"), "utf-16", r" is not UTF-16; name .*--encoding utf-32-le\.$"),
        (b"text,label\nM\x81,x\n", "utf-8", r":2: byte 2 is not UTF-8; .*latin-1 reads every byte"),
        (b"text,label\nM\x81,x\n", "cp1252", r":2: byte 2 is not CP1252; .*\(latin-1 reads ever"),
        (TEXT.encode("cp1252"), "ascii", r":2: byte 2 is not ASCII; .*\(Excel: --encoding cp1"),
        (b"text,label\rM\xe9,x\r", "utf-8", r":2: byte 2 is not UTF-8; .*\(Excel: --encoding cp"),
        (HALF, "utf-8", r":22: byte 1 is not UTF-8, but 60 other characters are; correct"),
        (b"\xef\xbb\xbftext,label\nM\xfc,x\n", "cp1252", r":2: byte 2 is not UTF-8, whose byte"),
    ],
)  # fmt: skip
def test_a_wrong_encoding_has_a_remedy_that_is_not_the_named_one(
    open_file, content, named, message
):
    with pytest.raises(UserError, match=message) as error:
        open_file(content, encoding=named)
    assert f"--encoding {named})" not in str(error.value)


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
    "cp1254": ["Bu çok güzel bir şehir, ışık ve yağmur"],
    "cp1252": [
        "Le garçon a été à l'école", "« mangé\xa0! »", "“Quotes” – it’s fine…", "El niño ¿qué?",
        "Þetta er gott að vera hér í kvöld, á bók", "Päälle järjestää yötä", "Amanhã, ações",
    ],
}  # fmt: skip


@pytest.mark.parametrize("encoding", LANGUAGES)
def test_a_likely_encoding_is_recommended_and_reads_the_file(open_file, encoding):
    for text in (each.replace(",", "") for each in LANGUAGES[encoding]):
        content = f"text,label\na b,x\n{text},y\n".encode(encoding)
        with pytest.raises(UserError, match=f"--encoding {encoding}, as its letters look "):
            open_file(content)
        documents, warned = open_file(content, encoding=encoding)
        assert (list(documents.content), warned) == (["a b", text], [])


@pytest.mark.parametrize("named", ["cp1252", "latin-1"])
def test_another_script_that_is_read_as_latin_letters_is_warned_of(open_file, named):
    for encoding in ("cp949", "gb18030", "cp1251"):
        content = f"text,label\n{LANGUAGES[encoding][0].replace(',', '')},y\n".encode(encoding)
        _, (warning,) = open_file(content, encoding=named)
        assert re.search(
            f"but its letters look .*; if they are, name --encoding {encoding}$", warning
        )
    for text in LANGUAGES["cp1252"]:
        content = f"text,label\n{text.replace(',', '')},y\n".encode("cp1252")
        assert open_file(content, encoding=named)[1] == []
    # Few bytes may be damage.
    assert open_file("text,label\n긍정,y\n".encode("cp949"), encoding="cp1252")[1] == []


def test_the_cause_of_a_csv_error_does_not_depend_on_texts_of_python(open_file):
    """If this fails with a new Python, see `_CsvError.of_lines`."""
    for row, message in (
        ('"a,x', ":3: a quote opens in this row and is not closed"),
        ('"a\nb,x\nc,y', ":3: a quote opens in this row and is not closed"),
        ('"a" b,x\nc,y', ":3: ',' expected after '\"'; "),
        ('"a" b,"x', ":3: a quote opens in this row and is not closed"),
        ('"a" b,"x\nc,y', ":3: ',' expected after '\"'; "),
        ('"a\nb" c,x\nc,y', ":4: ',' expected after '\"' in the row that begins in line 3; "),
    ):
        with pytest.raises(UserError, match=re.escape(message)):
            open_file(f"text,label\na,b\n{row}\n")


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
    assert re.search("1 NUL character, first in line 2", *warned)


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
        (
            '{"doc": [{"body": "a"}]}',
            ":2: doc.body: expected an object with the key 'body', got a li",
        ),
        ('{"doc": "a"}', ":2: doc.body: expected an object with the key 'body', got 'a'"),
        ('{"doc": {"other": "a"}}', ":2: no 'doc.body'; expected it in every row"),
        ('{"doc": {"body": 5}}', ":2: doc.body: expected text, got '5'"),
    ],
)
def test_a_path_that_ends_elsewhere_is_refused(open_file, row, message):
    with pytest.raises(UserError, match=re.escape(message)):
        open_file(f'{{"doc": {{"body": "a"}}}}\n{row}\n', "a.jsonl", text="doc.body")
    with pytest.raises(UserError, match=r"no column 'doc\.none' among 'doc'"):
        open_file('{"doc": {"body": "a"}}\n', "a.jsonl", text="doc.none")


def test_sources_are_read_by_their_own_options():
    options = ReadOptions(text="body", quoting="none", source_text="v2", source_encoding="cp1252")
    assert options.of_sources() == ReadOptions(text="v2", quoting="none", encoding="cp1252")
    for given, used in (({}, ","), ({"source_delimiter": ";"}, ";")):
        assert ReadOptions(delimiter=",", **given).of_sources() == ReadOptions(delimiter=used)


def test_rows_of_unequal_length_are_refused(open_file):
    for content in ("text,label\na,b,c\n", "text,label,id\na,b\n"):
        with pytest.raises(UserError, match=r"a.csv:2: \d columns, but the first line has \d; put"):
            open_file(content)


def test_csv_accepts_quotes_of_every_style(tmp_path):
    rows = [("a, b", "x"), ('say ""', "y")]
    for quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC):
        with (tmp_path / "a.csv").open("w", newline="") as file:
            csv.writer(file, quoting=quoting).writerows([("text", "label"), *rows])
        assert list(read(tmp_path / "a.csv").content) == [text for text, _ in rows]
