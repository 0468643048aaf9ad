"""Texts from outside (errors and output of a model) as short texts that are safe to print."""

from __future__ import annotations

#: Bytes of a long text that are kept at its start and at its end.
KEPT = 8192
#: Characters of a reason.
MAX_REASON = 500


def printable(text: str) -> str:
    """Return the text with control characters and lone surrogates as backslash escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode()
        for char in text
    )


def reason(error: BaseException) -> str:
    """Return type and first line of an error, also if its text cannot be obtained."""
    try:
        text = f"{type(error).__name__}: {error}"[: 2 * MAX_REASON].splitlines()[0]
    except BaseException:  # `__str__` of an error may raise anything
        text = f"{type(error).__name__}, whose text cannot be shown"
    return shorten(text)


def shorten(text: str) -> str:
    """Return the text on one printable line of at most MAX_REASON characters."""
    line = printable(" ".join(text[: 2 * MAX_REASON].split()))
    return line if len(line) <= MAX_REASON else line[: MAX_REASON - 1] + "…"


class Excerpt:
    """First and last KEPT bytes of a text that arrives in parts."""

    def __init__(self) -> None:
        self.size = 0
        self._head = self._tail = b""

    def add(self, part: bytes) -> None:
        """Append a part."""
        room = KEPT - len(self._head)
        self.size += len(part)
        self._head += part[:room]
        self._tail = (self._tail + part[room:])[-KEPT:]

    def __str__(self) -> str:
        left_out = self.size - len(self._head) - len(self._tail)
        middle = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
        content = self._head + middle + self._tail
        return printable(content.decode("utf-8", "backslashreplace"))


def excerpt(text: str) -> str:
    """Return the first and last KEPT bytes of a text; printable."""
    kept = Excerpt()
    kept.add(text.encode("utf-8", "backslashreplace"))
    return str(kept)
