"""HTML in the user's texts: find it, and strip it."""

import html
import re
from collections.abc import Sequence

#: A comment, a script or a style with its content, which end where the text ends if they are not
#: closed, or a tag. "a < b", "<3" and "<ann@example.org>" are none.
TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)"
    r"|</?[a-z][\w:-]*(?:\s[^<>]*)?/?>|<!doctype[^<>]*>",
    re.I | re.S,
)
#: A character by name or number, such as &nbsp; or &#160;.
ENTITY = re.compile(r"&(?:[a-z]\w+|#\d+|#x[0-9a-f]+);", re.I)


def strip_tags(text: str) -> str:
    """Return the text with a blank for each tag, and with the characters that entities name."""
    return html.unescape(TAG.sub(" ", text))


def share_with_tags(texts: Sequence[str]) -> float:
    """Return the share of texts that have a tag or an entity of HTML."""
    return sum(bool(TAG.search(text) or ENTITY.search(text)) for text in texts) / max(len(texts), 1)
