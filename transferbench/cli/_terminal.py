"""The only ways from a command to the terminal: output, messages and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import click

from transferbench.messages import printable


def echo(message: Any = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a message to stdout or stderr, without control characters and passwords."""
    click.echo(printable(str(message)), err=err, nl=nl)


def format_warning(*arguments: Any, _format: Any = warnings.formatwarning, **options: Any) -> str:
    """Return the text of a warning as `warnings.formatwarning` does, for the terminal."""
    return printable(_format(*arguments, **options))
