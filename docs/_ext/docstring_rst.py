"""Docstrings as reStructuredText."""

import re

import formulas


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
        blocks.append("".join(parts))
    return "\n\n".join(blocks)
