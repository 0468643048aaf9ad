"""Objectives of models, as docstrings write them in Unicode, as HTML with MathML.

A docstring stays readable in an editor; browsers render MathML without a script or a font of ours.
Each line of an objective is a row: `min` or `s.t.`, then terms between which the browser may wrap.
"""

import re
import unicodedata
from collections.abc import Iterator
from html import escape

#: Operators that may begin a new line of a formula where no bracket is open.
BREAKS = "+−="
OPERATORS = "⊤+−=≥≤≠≡≈<>∈⪰⪯→·∘×/,;:…⋯"
OPENING, CLOSING = "([{", ")]}"
#: Words that are set as functions; other words of a formula are text.
FUNCTIONS = {
    "min", "max", "argmin", "log", "log-loss", "logit", "exp", "tr", "mean", "cut", "volume", "KL",
    "strength", "width",
}  # fmt: skip
RAISED = {"ᵀ": "⊤", "ᵖ": "p", "ˢ": "s", "ᴸ": "L", "ˡ": "l", "⁺": "+", "⁻": "−"}
RAISED |= {digit: str(i) for i, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
LOWERED = {digit: str(i) for i, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")}
HAT = "\u0302"
WORD = r"[A-Za-z]{2,}(?:-[a-z]{2,})?"
TOKEN = re.compile(
    r"(?P<aside>\((?:[a-z]{2,} ?)+\))"
    r"|argmin over (?P<under>\S+)"
    rf"|(?P<lower>_\{{[^}}]*\}}|_a\(i\)|_[^\W_{''.join(RAISED)}{''.join(LOWERED)}]+|[{''.join(LOWERED)}]+|_F\b)"
    rf"|(?P<upper>\^[a-z]|[{''.join(RAISED)}]+)"
    rf"|(?P<word>{WORD})"
    r"|(?P<number>\d+)"
    r"|(?P<space>\s+)"
    r"|(?P<one>.)"
)


def to_html(block: str) -> str:
    """Return an indented block of equations as rows of a grid."""
    lines: list[str] = []
    for line in block.splitlines():
        if lines and re.match(r"\s*\+ ", line):
            lines[-1] += " " + line.strip()
        else:
            lines += re.split(r"\s+(?=s\.t\.)", line.strip())
    rows = "".join(_row(line) for line in lines)
    return f'<div class="objective" tabindex="0" role="group" aria-label="Formula">{rows}</div>'


def _row(line: str) -> str:
    """Return the two cells of a line: what is sought or required, and the terms."""
    if line.startswith("s.t."):
        head, line = "s.t.", line[4:].strip()
    elif found := re.match(r"min over (.*?) {2,}(.*)", line):
        under = "".join(_math(found[1]))
        head = f"<math><munder><mo>min</mo><mrow>{under}</mrow></munder></math>"
        line = found[2]
    elif found := re.match(r"min\s+(.*)", line):
        head, line = "<math><mo>min</mo></math>", found[1]
    else:
        head = ""
    line = re.sub(r"(Σ_\w+) +", r"\1 ", line)
    parts = " ".join(
        f'<span class="part{" short" * (len(part) < 40)}">{_wrapped(part)}</span>'
        for part in re.split(r"\s{2,}", line)
    )
    return f'<div class="head">{head}</div><div class="terms">{parts}</div>'


def _wrapped(text: str) -> str:
    """Return formulas and words of a line; a browser may wrap between any two."""
    pieces: list[str] = []
    formula: list[str] = []
    depth, in_norm = 0, False

    def close() -> None:
        if text := "".join(formula).strip():
            body = "".join(_math(text))
            if pieces and text[0] in BREAKS:  # between two terms, not a sign
                body = body.replace("<mo>", '<mo form="infix">', 1)
            pieces.append(f'<math displaystyle="true">{body}</math>')
        formula.clear()

    for match in TOKEN.finditer(text):
        token = match[0]
        depth += (token in OPENING) - (token in CLOSING)
        if token == "‖" and depth == 0:
            in_norm = not in_norm
        is_word = match["word"] and token not in FUNCTIONS and not token.isupper()
        is_article = token == "a" and re.match(r" [a-z]{2,}", text[match.end() :])
        if match["aside"] or ((is_word or is_article) and depth == 0):
            close()
            pieces.append(escape(token))
            continue
        spaced = text[match.start() - 1 : match.start()] == text[match.end() : match.end() + 1]
        if token in BREAKS and depth == 0 and not in_norm and spaced and match.start():
            close()
        formula.append(token)
    close()
    # A comma or bracket after a word belongs to it.
    return re.sub(r" (<math[^>]*><mo[^>]*>[,;)])", r"\1", " ".join(pieces))


def _math(text: str) -> Iterator[str]:
    """Yield the elements of a formula in MathML."""
    tokens = [(str(match.lastgroup), match[0]) for match in TOKEN.finditer(text)]
    for i, (kind, _) in enumerate(tokens):
        if kind == "space" and "word" in {tokens[i - 1][0], tokens[(i + 1) % len(tokens)][0]}:
            tokens[i] = ("space", "  ")
    place = 0
    while place < len(tokens):
        element, place = _scripted(tokens, place)
        yield element


def _scripted(tokens: list[tuple[str, str]], place: int) -> tuple[str, int]:
    """Return one element with its subscript and superscript, and the place of the next."""
    kind, token = tokens[place]
    place += 1
    if token == "√":
        inner, place = _scripted(tokens, place)
        return f"<msqrt>{inner}</msqrt>", place
    if token == "[" and (end := _stacked(tokens, place)):
        text = "".join(token for _, token in tokens[place : end - 1])
        rows = "".join(
            f"<mtr><mtd>{''.join(_math(row.strip()))}</mtd></mtr>" for row in text.split(";")
        )
        return f'<mtable class="stacked">{rows}</mtable>', end
    base = _atom(kind, token)
    if place < len(tokens) and tokens[place][1] == HAT:
        base = f'<mover accent="true">{base}<mo>^</mo></mover>'
        place += 1
    lower = upper = ""
    while place < len(tokens) and tokens[place][0] in ("lower", "upper"):
        kind, script = tokens[place]
        if kind == "lower":
            letters = script.lstrip("_").strip("{}").translate(str.maketrans(LOWERED))
            lower = "".join(_atom(_kind(letter), letter) for letter in letters)
        else:
            letters = script.lstrip("^").translate(str.maketrans(RAISED))
            upper += "".join(_atom(_kind(letter), letter) for letter in letters)
        place += 1
    lower, upper = f"<mrow>{lower}</mrow>" * bool(lower), f"<mrow>{upper}</mrow>" * bool(upper)
    if token == "Σ" and lower:
        return f"<munder>{base}{lower}</munder>", place
    if lower and upper:
        return f"<msubsup>{base}{lower}{upper}</msubsup>", place
    if lower or upper:
        name = "msub" if lower else "msup"
        return f"<{name}>{base}{lower}{upper}</{name}>", place
    return base, place


def _stacked(tokens: list[tuple[str, str]], place: int) -> int:
    """Return the place behind the closing bracket of a column of matrices, 0 if it is none."""
    texts = [token for _, token in tokens[place:]]
    end = texts.index("]") if "]" in texts else 0
    return place + end + 1 if ";" in texts[:end] else 0


def _kind(letter: str) -> str:
    return "number" if letter.isdigit() else "one"


def _atom(kind: str, token: str) -> str:
    """Return the element of one token."""
    if kind == "space":
        return f'<mspace width="{0.15 * len(token):g}em"/>'
    if kind == "under":
        under = "".join(_math(token.removeprefix("argmin over ")))
        return f"<munder><mo>argmin</mo><mrow>{under}</mrow></munder>"
    if kind == "number":
        return f"<mn>{token}</mn>"
    if kind == "word":
        if token in FUNCTIONS:
            return f"<mi>{token}</mi>"
        if token.isupper():
            return "".join(f"<mi>{letter}</mi>" for letter in token)
        return f"<mtext>{token}</mtext>"
    if token == "Σ":
        return '<mo class="sum" largeop="true" movablelimits="false">∑</mo>'
    if token == "½":
        return '<mfrac displaystyle="false"><mn>1</mn><mn>2</mn></mfrac>'
    if token in OPENING + CLOSING + "‖|":
        form = "prefix" if token in OPENING else "postfix" if token in CLOSING else "infix"
        space = ' lspace="0.05em" rspace="0.05em"'
        return f'<mo form="{form}" stretchy="false"{space}>{token}</mo>'
    if token in OPERATORS:
        return f"<mo>{escape(token)}</mo>"
    letters = unicodedata.normalize("NFD", token)
    if letters[1:] == HAT:
        return f'<mover accent="true"><mi>{letters[0]}</mi><mo stretchy="false">^</mo></mover>'
    if token.isalpha():
        return f"<mi>{token}</mi>"
    raise ValueError(f"no MathML for {token!r} ({unicodedata.name(token, '?')})")
