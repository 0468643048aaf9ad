"""Docstrings of this project as Markdown, and the meaning of a model's parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: "name : text" or "name, other : text", the start of an entry of a list.
ENTRY = re.compile(r"(\w+(?:, \w+)*) *: +(.*)")
#: One name of a parameter, perhaps with the paper's letter: "lam (λ)".
NAME = r"\w+(?: \([^()]*\))?"
#: One or more names and a colon, at the start of a sentence or a line.
PARAMETERS = re.compile(rf"(?:^|(?<=[.;:\n] )|(?<=\n))({NAME}(?:(?:,| and) {NAME})*)\s*: ")


def to_markdown(text: str) -> str:
    """Return a docstring, without its indentation, as Markdown.

    Indented blocks become code, entries "name : text" and lines that begin with "- " become lists.
    """
    blocks = re.split(r"\n{2,}", text.strip("\n"))
    return "\n\n".join("\n".join(_block(block.splitlines())) for block in _joined(blocks))


def _joined(blocks: Iterable[str]) -> Iterator[str]:
    """Join indented blocks that follow each other: they are one piece of code."""
    code: list[str] = []
    for block in blocks:
        if block.startswith("    "):
            code.append(block)
            continue
        if code:
            yield "\n\n".join(code)
            code = []
        yield block
    if code:
        yield "\n\n".join(code)


def _block(lines: list[str]) -> Iterator[str]:
    """Yield the lines of one block as Markdown."""
    is_list = ENTRY.fullmatch(lines[0]) or lines[0].startswith("- ")
    if lines[0].startswith("    "):
        yield from ("```text", *(line.removeprefix("    ") for line in lines), "```")
    elif is_list:
        for line in lines:
            entry = ENTRY.fullmatch(line)
            if entry:
                names = ", ".join(f"`{name}`" for name in entry[1].split(", "))
                yield f"- {names}: {escape(entry[2])}"
            elif line.startswith("- "):
                yield "- " + escape(line[2:])
            else:
                yield "  " + escape(line.strip())
    else:
        yield from (escape(line.strip()) for line in lines)


def escape(text: str) -> str:
    """Return the text with the marks of Markdown escaped, except those inside `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*<>|{}\[\]_])", r"\\\1", part)
        for part in parts
    )


def cell(text: str) -> str:
    """Return text for a cell of a Markdown table."""
    return escape(" ".join(text.split())).replace("\n", " ")


def meanings(doc: str, names: Iterable[str]) -> dict[str, str]:
    """Return the meaning of each parameter that a docstring explains as "k: clusters. p: …".

    Names with a common explanation share it. A meaning ends at the next parameter, at the end of
    the paragraph, or before a sentence about errors.
    """
    known, found = set(names), {}
    for paragraph in re.split(r"\n{2,}", doc):
        hits = []
        for hit in PARAMETERS.finditer(paragraph):
            named = re.sub(r" \([^()]*\)", "", hit[1]).replace(" and ", ", ").split(", ")
            if known.issuperset(named):
                hits.append((hit, named))
        ends = [hit.start() for hit, _ in hits[1:]] + [len(paragraph)]
        for (hit, named), end in zip(hits, ends, strict=False):
            text = " ".join(paragraph[hit.end() : end].split())
            text = re.split(r" Raises? [A-Z]", text)[0].strip(" .")
            for name in named:
                found.setdefault(name, text)
    return found
