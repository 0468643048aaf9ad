"""Outputs of tutorials as they were printed.

A kernel sends the output of a command in pieces of 100 characters. myst-nb joins them with line
ends, in the middle of words. Here pieces that follow each other are joined as they are.
"""

from __future__ import annotations

from typing import Any

from myst_nb.core import render

_coalesce = render.coalesce_streams


def joined(outputs: list[Any]) -> list[Any]:
    """Return the outputs of a cell, with one stream in place of its pieces."""
    found: list[Any] = []
    for output in outputs:
        last = found[-1] if found else {}
        if output["output_type"] == "stream" == last.get("output_type") and (
            output["name"] == last["name"]
        ):
            last["text"] += output["text"]
        else:
            found.append(output)
    return list(_coalesce(found))


def setup(app: Any) -> dict[str, bool]:
    """Let myst-nb use `joined`."""
    render.coalesce_streams = joined
    return {"parallel_read_safe": True}
