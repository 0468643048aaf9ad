"""The only ways from a command to the terminal: output, messages, colours and warnings."""

import json
import os
from collections.abc import Sequence
from typing import Any

import click

from transferbench.messages import aligned, message_text, printable, shorten

#: Colour of a verdict by its mark or first word.
VERDICTS = {
    **dict.fromkeys(("=", "within", "done"), "green"),
    **dict.fromkeys(("NO", "below", "▼", "to run"), "red"),
    **dict.fromkeys(("–", "above", "▲"), "yellow"),
}


def echo(message: Any = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print data to stdout, or a message without passwords to stderr; no control characters.

    style: as for `click.style`, such as bold=True; see `colour` for where it is used.
    """
    text = (message_text if err else printable)(str(message))
    if style:
        text = click.style(text, **style)
    click.echo(text, err=err, nl=nl, color=colour())


def echo_marked(line: str, word: str = "") -> None:
    """Print a line whose verdict, a mark or word at its start or the given one, has a colour."""
    word = word or line.partition(" ")[0]
    before, found, after = printable(line).partition(word)
    marked = click.style(found, fg=VERDICTS[word]) if word in VERDICTS else found
    click.echo(before + marked + after, color=colour())


def echo_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns below the first, the header; colour a verdict at a start."""
    header, *lines = aligned(rows)
    echo(header, bold=True)
    for line in lines:
        echo_marked(line)


def say(message: Any, *, err: bool = False) -> None:
    """Print a line without disturbing a progress bar."""
    from tqdm import tqdm

    with tqdm.external_write_mode():
        echo(message, err=err)


def echo_json(value: Any) -> None:
    """Print a value as one JSON document; what JSON lacks is written as text."""
    echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def colour() -> bool | None:
    """Return False if NO_COLOR is set, True if FORCE_COLOR is, else None: only on a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


class WarningPrinter:
    """Prints warnings in one line each, without the place in the code, and each text once."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def __call__(self, message: object, *place: object, **file: object) -> None:
        """Print a warning; the arguments are those of `warnings.showwarning`."""
        text = shorten(str(message))
        if text not in self._printed:
            self._printed.add(text)
            say(f"warning: {text}", err=True)
