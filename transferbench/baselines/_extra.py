"""Import of optional libraries from the extra `modern`."""

from __future__ import annotations

import importlib
from typing import Any

from transferbench.errors import Unavailable


def need(name: str) -> Any:
    """Import a module by name. Raise Unavailable, with the remedy, if it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        remedy = "pip install 'transferbench[modern]'"
        raise Unavailable(f"{error.name} is not installed ({remedy})") from None
