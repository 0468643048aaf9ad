"""HTML pages that need no other file: templates, pictures in them, and their security policy."""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

from jinja2 import Environment
from markupsafe import Markup, escape

from transferbench.evidence import figures, page
from transferbench.evidence.claims import Outcome
from transferbench.evidence.page import Page, Value, anchor
from transferbench.messages import printable

SCRIPT = (Path(__file__).parent / "templates" / "page.js").read_text(encoding="utf-8")
_DIGEST = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
#: What a page may do: it loads nothing, and runs SCRIPT alone. Matplotlib writes style attributes.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "img-src data:",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{_DIGEST}'",
    )
)


#: Words of scripts that are written from right to left, such as Hebrew and Arabic. Signs between
#: them, such as commas and slashes, would be drawn in their direction, and so reverse their order.
_LETTERS = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]+"
RIGHT_TO_LEFT = re.compile(f"{_LETTERS}(?:[ -]{_LETTERS})*")


def render(shown: Page, images: Mapping[str, str], written_by: str) -> str:
    """Return a page with its pictures, which are SVG texts by name of the file."""
    # `written_by`: The sentences below it.
    return fill("page.html.j2", page=shown, images=images, written_by=written_by)


def fill(template: str, **context: Any) -> str:
    """Return the text of a template."""
    return _environment().get_template(template).render(context)


def address(value: object, row: object, head: str) -> str:
    """Return the id of a cell of a table on its page."""
    cell = value.cell if isinstance(value, Value) else None
    return anchor(cell.row, cell.column, cell.x) if cell else anchor(row, head)


@cache
def _environment() -> Environment:
    # Control characters of a text that someone else wrote are escaped as in the terminal.
    environment = page.environment().overlay(
        finalize=lambda value: printable(value) if type(value) is str else value
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters |= {
        "address": address, "code": _code, "inline": _inline, "isolated": _isolated, "slug": _slug
    }  # fmt: skip
    environment.tests["of"] = lambda block, name: type(block).__name__ == name
    environment.globals |= {
        "dark_rules": Markup(figures.dark_rules(".picture ")),
        "outcomes": get_args(Outcome),
        "policy": Markup(POLICY),
        "script": Markup(SCRIPT),
    }
    return environment


def _isolated(text: object) -> Markup:
    """Return HTML in which each run of right-to-left words has its own direction."""
    return Markup(RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", str(escape(printable(str(text))))))


def _code(text: str) -> Markup:
    """Return HTML with the text in backticks as code, and that between asterisks as emphasis."""
    marked = re.sub("`([^`]+)`", r"<code>\1</code>", str(_isolated(text)))
    return Markup(re.sub(r"(?<![\w*])\*(\w[^*<]*)\*(?![\w*])", r"<em>\1</em>", marked))


def _slug(text: str) -> str:
    """Return a text as a name of a class, or as a part of an id."""
    return re.sub(r"\W+", "-", text)


def _inline(svg: str, name: str, words: str) -> Markup:
    return Markup(figures.inline(svg, _slug(name), printable(words)))
