"""Libraries of the extra `modern`, imported where they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from transferbench.errors import Unavailable


def need(name: str) -> Any:
    """The module of that name. Raises Unavailable, with the remedy, where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        remedy = "pip install 'transferbench[modern]'"
        raise Unavailable(f"{error.name} is not installed ({remedy})") from None
