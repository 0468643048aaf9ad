"""Errors and doubts that a user can act on; suggestions for misspelt names."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Most names that a message lists if it can name a command that lists all.
MAX_LISTED = 12


class UserError(ValueError):
    """A mistake that the user can correct; the message is one line."""

    # The message states what was wrong, what was expected and what to do. The command line shows
    # only the message and exits with code 2.


class SeveralErrors(UserError):
    """Several mistakes; each argument is the message of one."""

    def __str__(self) -> str:
        return "\n".join(self.args)

    @classmethod
    def combine(cls, errors: Sequence[UserError]) -> UserError:
        """Return one error for several, without repetitions; a single one as it is."""
        messages = dict.fromkeys(
            message
            for error in errors
            for message in (error.args if isinstance(error, SeveralErrors) else [str(error)])
        )
        return errors[0] if len(messages) == 1 else cls(*messages)


class Unavailable(UserError):
    """A required file or optional library is unavailable."""

    # `brief`: What is unavailable, without paths and addresses of this machine.

    def __init__(self, brief: str, remedy: str = "") -> None:
        super().__init__(brief, remedy)
        self.brief = brief

    def __str__(self) -> str:
        return "; ".join(filter(None, self.args))


class Failure(Exception):
    """A failure that is no mistake of the user, such as label-free criteria against a result."""

    # The command line shows only the message and exits with code 1.


@dataclass(frozen=True)
class Doubt:
    """A reason to doubt a result, with its remedy."""

    #: One sentence for the user.
    text: str
    #: True if the result should not be used.
    worthless: bool = False
    #: Name of the file or domain; "" for all.
    target: str = ""

    def __str__(self) -> str:
        return f"{self.target}: {self.text}" if self.target else self.text


def brief(name: str) -> str:
    """Return a name in quotes, cut to 200 characters."""
    return repr(name if len(name) <= 200 else f"{name[:199]}…")


def closest(name: str, names: Iterable[str]) -> str:
    """Return the closest known name, "" if none is close."""
    by_folded = {other.casefold(): other for other in names}
    close = difflib.get_close_matches(name.casefold(), list(by_folded), n=1, cutoff=0.5)
    return by_folded[close[0]] if close else ""


def unknown(what: str, name: str, known: Iterable[str], remedy: str = "") -> UserError:
    """Return the error for a name that is not known."""
    # `known`: The message shows the closest. If none is close, it shows the names if they are few,
    # else their number and the remedy.
    known = sorted(known)
    few = len(known) <= MAX_LISTED or not remedy
    quoted = (repr(one) if "," in one or " " in one else one for one in known)
    names = f" Known: {', '.join(quoted) or 'none'}." if few else f" {len(known)} are known."
    close = closest(name, known)
    hint = f" Did you mean {close!r}?" if close else names
    return UserError(f"unknown {what} {brief(name)}.{hint}{' ' + remedy if remedy else ''}")
