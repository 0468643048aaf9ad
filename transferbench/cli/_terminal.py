"""Terminal output of the commands: data, messages and warnings."""

import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any

import click

from transferbench.messages import message_text, printable, shorten

#: Width of sentences.
WIDTH = 100
#: Key of click's `Context.meta`: true to print tracebacks.
DEBUG = "transferbench.debug"


def echo(message: Any = "", *, err: bool = False, nl: bool = True) -> None:
    """Print data to stdout, or a message without passwords to stderr; escape control characters."""
    # A message that cannot be printed is dropped, so that runs go on if stderr is full or closed.
    if not err:
        click.echo(printable(str(message)), nl=nl)
        return
    with suppress(OSError):
        click.echo(message_text(str(message)), err=True, nl=nl)


def echo_sentences(text: str) -> None:
    """Print text in lines of at most WIDTH characters; options stay whole, to be copied."""
    echo(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))


def echo_named(texts: Mapping[str, str]) -> None:
    """Print texts beside their names; a command stays in one line, to be copied."""
    left = max(map(len, texts)) + 6
    for name, text in texts.items():
        lines = [text]
        if not text.startswith("transferbench "):
            lines = textwrap.wrap(
                text, WIDTH - left, break_long_words=False, break_on_hyphens=False
            )
        echo(f"  {name:{left - 4}}" + ("\n" + " " * (left - 2)).join(lines))


def echo_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns; the first is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        echo("  ".join(map(str.ljust, row, widths)).rstrip())


def say(message: Any, *, err: bool = False) -> None:
    """Print a line without disturbing a progress bar."""
    from tqdm import tqdm

    # An interrupt while the block makes the lock would end in an AttributeError.
    tqdm.get_lock()  # type: ignore[no-untyped-call]
    with tqdm.external_write_mode():
        echo(message, err=err)


def echo_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON; NaN becomes null, other types become text."""
    import json

    value = json.loads(json.dumps(value, default=str), parse_constant=lambda name: None)
    echo(json.dumps(value, ensure_ascii=False, indent=indent))


def once_printer() -> Callable[[str], None]:
    """Return a function that prints a message to stderr, but every text only once."""
    return cache(partial(say, err=True))


def show_warnings() -> None:
    """Print each warning once, on one line, without file and line."""
    print_once = once_printer()
    warnings.showwarning = lambda message, *_, **__: print_once(f"warning: {shorten(str(message))}")
