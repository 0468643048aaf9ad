"""The only ways from a command to the terminal: output, messages and warnings."""

from __future__ import annotations

from typing import Any

import click

from transferbench.messages import printable, shorten


def echo(message: Any = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a message to stdout or stderr, without control characters and passwords."""
    click.echo(printable(str(message)), err=err, nl=nl)


class WarningPrinter:
    """Prints warnings in one line each, without the place in the code, and each text once."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def __call__(self, message: object, *place: object, **file: object) -> None:
        """Print a warning; the arguments are those of `warnings.showwarning`."""
        from tqdm import tqdm

        text = shorten(str(message))
        if text not in self._printed:
            self._printed.add(text)
            with tqdm.external_write_mode():
                click.echo(f"warning: {text}", err=True)
