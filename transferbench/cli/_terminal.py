"""The only ways from a command to the terminal: output, messages and warnings."""

from __future__ import annotations

from functools import cache
from typing import Any

import click

from transferbench.messages import printable, shorten


def echo(message: Any = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a message to stdout or stderr, without control characters and passwords."""
    click.echo(printable(str(message)), err=err, nl=nl)


def show_once(message: object, *place: object, **file: object) -> None:
    """Print the text of a warning, without the place in the code, unless it was printed before."""
    _print_warning(shorten(str(message)))


@cache
def _print_warning(text: str) -> None:
    from tqdm import tqdm

    with tqdm.external_write_mode():
        click.echo(f"Warning: {text}", err=True)
