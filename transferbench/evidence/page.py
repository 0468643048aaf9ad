"""A page of results, typed, and its texts in Markdown and LaTeX; `report` makes HTML of it.

Texts may have `code` in backticks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from transferbench.evidence.frame import Cell
from transferbench.evidence.verdict import LOOKS

if TYPE_CHECKING:
    from jinja2 import Environment

#: Greek letters that tables may have, by their commands in LaTeX.
GREEK = (
    "αalpha βbeta γgamma δdelta εvarepsilon ζzeta ηeta θtheta κkappa λlambda μmu µmu νnu ξxi πpi "
    "ρrho σsigma τtau φvarphi χchi ψpsi ωomega ΔDelta ΛLambda ΣSigma ΦPhi ΨPsi ΩOmega"
)
#: What LaTeX writes for a sign, by its code; commands such as \blacktriangle are of amssymb.
LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_"},
        "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
        **{sign: f"${sign}$" for sign in "<>|"},
        **{word[0]: f"$\\{word[1:]}$" for word in GREEK.split()},
        **{sign: f"$_{i}$" for i, sign in enumerate("₀₁₂₃₄₅₆₇₈₉")},
        **{sign: f"$^{i}$" for i, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "≈": r"$\approx$", "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$",
        "●": r"$\bullet$", "○": r"$\circ$", "◆": r"$\blacklozenge$", "★": r"$\bigstar$",
        "▶": r"$\blacktriangleright$", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$",
        "−": "$-$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$", "∞": r"$\infty$",
        "–": "--", "—": "---", "‑": "-", "…": r"\ldots{}", "°": r"$^\circ$", "′": "$'$",
        "‘": "`", "’": "'", "“": "``", "”": "''", "\u00a0": "~", "\u202f": "~",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Value:
    """A number in a table; `str` gives its text."""

    #: The number, or why there is none.
    text: str = ""
    detail: str = ""
    #: The number that a paper prints.
    published: str = ""
    #: Verdict on the number beside the published one, see `verdict`.
    verdict: str = ""
    #: The cell of the number, if it has runs.
    cell: Cell | None = None
    #: Target of a link, relative to the Markdown file.
    address: str = ""

    def __str__(self) -> str:
        """Return text, detail, published value and verdict, on one line."""
        published = f"/ {self.published}" if self.published else ""
        return " ".join(filter(None, (self.text, self.detail, published, self.sign)))

    @property
    def sign(self) -> str:
        """The sign of the verdict, with a word or the number of runs where it needs one."""
        if not self.verdict:
            return ""
        sign, cell = LOOKS[self.verdict].text, self.cell
        is_part = self.verdict == "unavailable" and cell and cell.runs
        return f"{sign} {cell.runs} of {cell.planned} runs" if cell and is_part else sign


#: A label, then the cells.
TableRow = Sequence[str | Value]


@dataclass(frozen=True)
class Table:
    """A table."""

    label: str
    #: Heads of the labels and of each column.
    heads: Sequence[str]
    rows: Sequence[TableRow]
    foot: Sequence[TableRow] = ()
    #: True for the values of an experiment, False for a table of other numbers.
    wide: bool = False

    @cached_property
    def numeric(self) -> list[bool]:
        """True for each column of numbers; they are aligned on the right."""
        # Never the first one. A number is a value, or a text without words.
        _, *columns = zip(self.heads, *self.rows, *self.foot, strict=True)
        word = re.compile(r"[^\W\d_]{2}")
        return [
            False,
            *(all(isinstance(v, Value) or not word.search(v) for v in of[1:]) for of in columns),
        ]

    @property
    def ours(self) -> Table:
        """The table without published values and verdicts."""
        rows, foot = (
            [
                [replace(v, published="", verdict="") if isinstance(v, Value) else v for v in row]
                for row in part
            ]
            for part in (self.rows, self.foot)
        )
        return replace(self, rows=rows, foot=foot)

    def texts(self) -> list[list[str]]:
        """Return the heads, then every row, as texts."""
        return [[str(cell) for cell in row] for row in (self.heads, *self.rows, *self.foot)]


@dataclass(frozen=True)
class Picture:
    """An SVG file beside the page, and what it shows."""

    file: str
    words: str
    #: Where its values are, too, for those who cannot point at a mark; "" if nowhere.
    values: str = "the values are in the table"


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    blocks: Sequence[Block]
    #: `outcome`, `origin`: Outcome and origin of the claim that it is about.
    outcome: str = ""
    origin: str = ""
    #: True if a browser shows only the title until the reader opens the part.
    folded: bool = False


#: A paragraph, a list of sentences, and so on.
Block = str | list[str] | Picture | Section | Table


@dataclass(frozen=True)
class Page:
    """A page."""

    name: str
    title: str
    blocks: Sequence[Block]
    #: Addresses by text, relative to its Markdown file.
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        """The tables of values, also those inside sections."""
        parts = [part.blocks if isinstance(part, Section) else [part] for part in self.blocks]
        return [b for blocks in parts for b in blocks if isinstance(b, Table) and b.wide]


@cache
def environment() -> Environment:
    """Return the environment of the templates."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=lambda name: bool(name) and str(name).endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["looks"] = LOOKS
    return found


def anchor(row: object, column: str, x: float = math.nan) -> str:
    """Return the id of a cell of a table, or of a point of a figure, on its page."""
    # A space is "-". What has a meaning in an id is "~" and its code, so no two cells share one.
    at = [] if math.isnan(x) else [repr(float(x)).removesuffix(".0")]
    parts = (str(row), column, *at)
    names = (re.sub(r"[^\S ]|[-~/]", lambda found: f"~{ord(found[0]):X}", part) for part in parts)
    return "/".join(names).replace(" ", "-")


def words(name: str, *values: object) -> str:
    """Return sentences of words.j2."""
    return str(getattr(environment().get_template("words.j2").module, name)(*values)).strip()


def markdown(page: Page) -> str:
    """Return the text of a page's Markdown file."""
    links = " · ".join(f"[{_text(text)}]({address})" for text, address in page.links.items())
    blocks = [f"# {_text(f'{page.name}: {page.title}')}", *map(_markdown, page.blocks), links]
    return "\n\n".join(filter(None, blocks)) + "\n"


def markdown_blocks(blocks: Sequence[Block]) -> str:
    """Return blocks in Markdown, without the title and the links of a page."""
    return "\n\n".join(map(_markdown, blocks))


def _markdown(block: Block) -> str:
    match block:
        case list():
            return "\n".join(f"- {_text(item)}" for item in block)
        case Picture(file, words, _):
            return f"![{_text(words)}]({file})"
        case Section(title, blocks, outcome, origin):
            judged = f"{outcome.capitalize()}: " if outcome else ""
            opening = [f"## {judged}{_text(title)}", f"*{_text(origin)}*" * bool(origin)]
            return "\n\n".join(filter(None, [*opening, *map(_markdown, blocks)]))
        case Table(_, heads, rows, foot):
            lines = "".join("|---:" if is_number else "|---" for is_number in block.numeric)
            texts = [f"| {' | '.join(map(_cell, row))} |" for row in (heads, *rows, *foot)]
            return "\n".join([texts[0], f"{lines}|", *texts[1:]])
    return _text(block)


def _cell(value: str | Value) -> str:
    """Return a value for a cell of a Markdown table, without what would end the cell."""
    return " ".join(_text(value).splitlines()).replace("|", "\\|")


def _text(value: str | Value) -> str:
    """Return a value in Markdown, whose only links and pictures are our own, without HTML."""
    # Labels and sentences may be from a file that someone else wrote.
    text = str(value).replace("\\", "\\\\").replace("<", "&lt;")
    if isinstance(value, Value):
        return f"[{text}]({value.address})" if value.address else text
    # A link has "](" or "][", and a link target is a line that begins with "[".
    return re.sub(r"(?m)(?<=\])(?=[(\[])|^\s*(?=\[)", r"\g<0>\\", text)


def latex(table: Table) -> str:
    """Return a table as a LaTeX tabular, for the packages booktabs and amssymb."""
    # A comment before it has the table's label. pdflatex accepts it: signs become commands of
    # LaTeX, and ± and marks are mathematics. Letters with accents stay as they are.
    import pandas as pd

    heads, *rows = table.texts()
    form = f"l{'r' * (len(heads) - 1)}"
    frame = pd.DataFrame(rows, columns=heads).map(latex_text)
    frame.columns = [latex_text(head) for head in heads]
    text = frame.to_latex(index=False, escape=False, column_format=form)
    # Without {} it would be an argument of the line before.
    text = re.sub(r"(?m)^(?=[\[*])", "{}", text)
    values = (v for row in (*table.rows, *table.foot) for v in row if isinstance(v, Value))
    verdicts = {value.verdict for value in values}
    legend = (
        f"% {latex_text(look.text)}: {look.words}" for v, look in LOOKS.items() if v in verdicts
    )
    label = f"% {' '.join(table.label.split())}; packages booktabs and amssymb"
    return "\n".join([label, *legend, text])


def latex_text(text: str) -> str:
    """Return a text for LaTeX: its signs by the commands of LATEX."""
    return text.translate(LATEX)
