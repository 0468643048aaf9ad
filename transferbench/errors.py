"""Errors a user can act on, and the suggestions that go with them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """What the user can mend: one line that says what is wrong, what was expected, the remedy.

    The command line shows the message alone and exits with code 2.
    """


class Unavailable(UserError):
    """What cannot be had here: data whose every place was tried or is ruled out, or a library."""

    @property
    def brief(self) -> str:
        """What cannot be had, without the places of this machine that were tried."""
        return str(self).partition(";")[0]


class EngineLost(Exception):
    """A part of the world that broke away while it was used; what was done until then is kept.

    The command line shows the message alone and exits with code 1.
    """


def brief(name: str) -> str:
    """A name in quotes, as a message shows it: what is much too long is cut."""
    return repr(name if len(name) <= 200 else f"{name[:199]}…")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """' Did you mean …?' for the closest known name, or '' where none is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def unknown(what: str, name: str, known: Iterable[str], remedy: str = "") -> UserError:
    """The error for a name not among `known`; without a near miss the choices are listed."""
    known = sorted(known)
    hint = did_you_mean(name, known) or f" Known: {', '.join(known) or 'none'}."
    return UserError(f"unknown {what} {brief(name)}.{hint}{' ' + remedy if remedy else ''}")
