"""Docstrings of this project as Markdown, and the meaning of a model's parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: "name : text" or "name, other : text", the start of an entry of a list.
ENTRY = re.compile(r"(\w+(?:, \w+)*) *: +(.*)")
#: One name of a parameter, perhaps with the paper's letter: "lam (λ)".
NAME = r"\w+(?: \([^()]*\))?"
#: One or more names and a colon, at the start of a sentence.
PARAMETERS = re.compile(rf"(?:^|(?<=[.;:] ))({NAME}(?:(?:,| and) {NAME})*) ?: ")


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
    if lines[0].startswith("    "):
        yield from ("```text", *(line.removeprefix("    ") for line in lines), "```")
        return
    # The first entry of a list has a space before its colon; prose has none.
    entries = re.match(r"\w+(, \w+)* +: ", lines[0])
    inside = False
    for line in lines:
        entry = ENTRY.fullmatch(line) if entries else None
        if entry or line.startswith("- "):
            if not inside:
                yield ""
            inside = True
            names = ", ".join(f"`{name}`" for name in entry[1].split(", ")) if entry else ""
            yield f"- {names}: {escape(entry[2])}" if entry else "- " + escape(line[2:])
        else:
            inside = inside and line.startswith(" ")
            yield ("  " if inside else "") + escape(line.strip())


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


def meanings(doc: str, names: Iterable[str], more: str = "") -> dict[str, str]:
    """Return the meaning of each parameter that a docstring explains as "k: clusters. p: …".

    Names with a common explanation share it. A meaning ends at the next parameter, at the end of
    the paragraph, or before a sentence about errors. A parameter that is only mentioned, in the
    docstring or in `more`, has the sentence that mentions it.
    """
    known: set[str] = {*names}
    found: dict[str, str] = {}
    paragraphs = [" ".join(block.split()) for block in re.split(r"\n{2,}", doc)]
    for paragraph in paragraphs:
        hits = _hits(paragraph, known | {"seed", "watch"})
        ends = [start for start, _, _ in hits[1:]] + [len(paragraph)]
        for (_, start, named), end in zip(hits, ends, strict=False):
            text = re.split(r" Raises? [A-Z]", paragraph[start:end])[0].strip(" .")
            found |= {name: text for name in named if name in known and name not in found}
    for name in known - found.keys():
        for sentence in re.split(r"(?<=\.) ", " ".join([*paragraphs, *more.split()])):
            if re.search(rf"\b{name}\b", sentence):
                found[name] = sentence.strip(" .")
                break
    return found


def _hits(paragraph: str, known: set[str]) -> list[tuple[int, int, list[str]]]:
    """Return start, end and names of each "name, name:" of known parameters."""
    hits = []
    for hit in PARAMETERS.finditer(paragraph):
        named = re.sub(r" \([^()]*\)", "", hit[1]).replace(" and ", ", ").split(", ")
        if known.issuperset(named):
            hits.append((hit.start(), hit.end(), named))
    return hits


def without_parameters(doc: str, names: Iterable[str]) -> str:
    """Return the paragraphs of a docstring that explain no parameter, and what it raises."""
    known = set(names)
    blocks = re.split(r"\n{2,}", doc)
    kept = [block for block in blocks if not _hits(" ".join(block.split()), known)]
    raised = re.search(r"Raises? [A-Z].*", " ".join(doc.split()))
    if raised and raised[0] not in " ".join(" ".join(kept).split()):
        kept.append(raised[0])
    return "\n\n".join(kept)
