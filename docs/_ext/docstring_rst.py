"""Docstrings as reStructuredText."""

import re

import formulas

#: A letter with an index or an exponent, as in U_π, c'_l or W^u.
SYMBOL = re.compile(r"(?<![\w\\])([^\W\d_]'?)([_^])([^\W_]{1,2})(?![\w^])")


def restructured(text: str, equations: bool = False) -> str:
    """Mark lists and special characters; indented blocks are formulas, or code."""
    blocks = []
    for block in text.split("\n\n"):
        if block.startswith("    "):
            html = f".. raw:: html\n\n    {formulas.to_html(block)}" if equations else ""
            blocks += [html] if equations else [".. code-block:: text", block]
            continue
        block = re.sub(r"(?m)^(?!- |  )(.*)\n- ", r"\1\n\n- ", block)
        parts = re.split(r"(?m)(`[^`]*`|^\*\*\w+$)", block)
        parts[::2] = [re.sub(r"(?<=[\w*])_(?=\W)|[*|]", r"\\\g<0>", part) for part in parts[::2]]
        parts[::2] = [SYMBOL.sub(_with_role, part) for part in parts[::2]]
        blocks.append("".join(parts))
    return "\n\n".join(blocks)


def _with_role(symbol: re.Match[str]) -> str:
    role = "sub" if symbol[2] == "_" else "sup"
    return rf"{symbol[1]}\ :{role}:`{symbol[3]}`\ "
