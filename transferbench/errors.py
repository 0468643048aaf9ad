"""Errors a user can act on, with suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake that the user can correct; the message is one line.

    It states what was wrong, what was expected and what to do. The command line shows the message
    alone and exits with code 2.
    """


class Unavailable(UserError):
    """A required file or optional library is unavailable."""

    @property
    def brief(self) -> str:
        """The first part of the message, without paths and addresses of this machine."""
        return str(self).partition(";")[0]


class EngineLost(Exception):
    """An external scheduler was lost; finished runs are saved.

    The command line shows the message alone and exits with code 1.
    """


class Worthless(Exception):
    """A result should not be used, by signs that need no labels; nothing was written.

    The command line shows the message alone and exits with code 1.
    """


def brief(name: str) -> str:
    """Return a name in quotes, cut to 200 characters."""
    return repr(name if len(name) <= 200 else f"{name[:199]}…")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ' Did you mean …?' for the closest known name, or '' if none is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def unknown(what: str, name: str, known: Iterable[str], remedy: str = "") -> UserError:
    """Return the error for a name that is not in `known`; list them all if none is close."""
    known = sorted(known)
    hint = did_you_mean(name, known) or f" Known: {', '.join(known) or 'none'}."
    return UserError(f"unknown {what} {brief(name)}.{hint}{' ' + remedy if remedy else ''}")
