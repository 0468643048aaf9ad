"""Text for people: escaped, shortened, without passwords; extras, and how to install them."""

import importlib
import math
import re
import sysconfig
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from transferbench.errors import Unavailable

#: Largest number of characters of a label in a sentence, a table or a picture.
MAX_LABEL = 48
#: Length of an excerpt, in bytes.
EXCERPT_BYTES = 2**14
#: Largest number of characters of a reason.
MAX_REASON = 500
#: Names in sysconfig of the folders of Python's own modules and of installed ones.
LIBRARY_PATHS = ("stdlib", "platstdlib", "purelib", "platlib")
#: Largest number of characters of a message in a traceback, so that its frames are kept.
MAX_MESSAGE = 2000
#: Control characters and surrogates.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Also characters that change how a terminal shows text: marks that reorder it, line separators.
_UNPRINTABLE = re.compile(CONTROL.pattern[:-1] + "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
#: First characters of what a spreadsheet runs as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_USERINFO = re.compile(r"(://)[^/\s'\"]*@")


def printable(text: str) -> str:
    """Return text with control characters escaped, such as \\u001b."""
    # JSON remains valid, with the same content.
    return _UNPRINTABLE.sub(
        lambda match: match[0] if match[0] in "\t\n" else f"\\u{ord(match[0]):04x}", text
    )


def no_formula(value: Any) -> Any:
    """Return a value; put ' before text that a spreadsheet would run as a formula."""
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


def hide_passwords(text: str) -> str:
    """Return a message without the user names and passwords of its addresses."""
    # `text`: Not data: a label may look like an address.
    return _USERINFO.sub(r"\1", text)


def message_text(text: str) -> str:
    """Return a printable message without passwords."""
    return printable(hide_passwords(text))


def counted(count: float, noun: str) -> str:
    """Return a whole number with its noun: "1 run", "2 runs"."""
    return f"{count:.0f} {noun}{'' if count == 1 else 's'}"


def short_number(value: float) -> str:
    """Return a number with two decimals, or none from 10 on; "" for NaN."""
    if math.isnan(value):
        return ""
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def duration(seconds: float) -> str:
    """Return a time in words: "40 seconds", "12 minutes", "3.4 hours"."""
    if seconds < 90:
        return counted(round(seconds), "second")
    return (
        counted(round(seconds / 60), "minute") if seconds < 5400 else f"{seconds / 3600:.1f} hours"
    )


def short_label(name: str) -> str:
    """Return the beginning and the end of a label that is longer than MAX_LABEL."""
    end = MAX_LABEL // 3
    return name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - end - 1]}…{name[-end:]}"


def install_hint(extra: str) -> str:
    """Return how to add an extra to this copy of transferbench."""
    # Outside a checkout this is no command, because the name on a package index may be another's.
    root = Path(__file__).parent.parent
    if (root / "pyproject.toml").is_file():
        return f"run `pip install -e '.[{extra}]'` in {root}"
    return f"install transferbench again from where it came, with its extra [{extra}]"


def need(name: str) -> Any:
    """Import a module of the extra `modern`; skada finds scikit-learn's metadata routing on."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        library = (error.name or name).partition(".")[0]
        raise Unavailable(f"{library} is not installed", f"{install_hint('modern')}.") from None
    if name == "skada":  # its import turns routing on once, in one thread
        from sklearn import set_config

        set_config(enable_metadata_routing=True)
    return module


def reason(error: BaseException) -> str:
    """Return the type and the first line of an error, and where a user's code raised it."""
    # Of several errors in a group the first is described, too. Return the type alone if the text
    # cannot be obtained.
    kind = type(error).__name__
    try:
        lines = str(error)[: 2 * MAX_REASON].strip().splitlines()
        text = f"{kind}: {lines[0]}" if lines else kind
    except BaseException:  # `__str__` of an error may raise anything
        text = f"{kind}, whose text cannot be shown"
    if isinstance(error, BaseExceptionGroup):
        text = f"{shorten(text, MAX_REASON // 2)}, first {reason(error.exceptions[0])}"
    has_place = isinstance(error, SyntaxError) and error.filename  # in its text
    place = "" if has_place else user_place(error)
    end = f" ({place})" if place else ""
    return shorten(text, MAX_REASON - len(end)) + end


def user_place(error: BaseException) -> str:
    """Return file and line of the innermost frame of an error in a user's code, "" without one."""
    # A user's code is in no library: neither in this package, nor installed, nor of Python. The
    # file is relative to the current folder, or its name alone: a message shows no path of a
    # machine.
    paths = sysconfig.get_paths()
    libraries = [Path(__file__).parent, *(Path(paths[name]) for name in LIBRARY_PATHS)]
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = Path(frame.f_code.co_filename)
        is_pseudo = file.name.startswith("<")
        installed = {"site-packages", "dist-packages"}.intersection(file.parts)
        if not (is_pseudo or installed or any(map(file.is_relative_to, libraries))):
            short = file.name if file.is_absolute() else str(file)
            with suppress(OSError, ValueError):
                short = str(file.relative_to(Path.cwd()))
            place = f"{short}:{line}"
    return message_text(place)


def format_traceback(error: BaseException) -> str:
    """Return the end of the traceback of an error, in EXCERPT_BYTES; long messages are cut."""
    parts = traceback.format_exception(error)
    cut = (p if len(p) <= MAX_MESSAGE else f"{p[: MAX_MESSAGE - 2]}…\n" for p in parts)
    return excerpt("".join(cut).encode("utf-8", "backslashreplace"))


def shorten(text: str, most: int = MAX_REASON) -> str:
    """Return a message as one printable line of at most `most` characters, no passwords."""
    line = message_text(" ".join(text[: 2 * MAX_REASON].split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def excerpt(content: bytes) -> str:
    """Return the last EXCERPT_BYTES bytes of a text, printable and without passwords."""
    return message_text(content[-EXCERPT_BYTES:].decode("utf-8", "backslashreplace"))
