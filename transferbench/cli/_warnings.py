"""Warnings of libraries as users see them."""

from __future__ import annotations

from functools import cache

import click

from transferbench.excerpt import shorten


def show_once(message: object, *place: object, **file: object) -> None:
    """Print the text of a warning, without the place in the code, unless it was printed before."""
    _print(shorten(str(message)))


@cache
def _print(text: str) -> None:
    from tqdm import tqdm

    with tqdm.external_write_mode():
        click.echo(f"Warning: {text}", err=True)
