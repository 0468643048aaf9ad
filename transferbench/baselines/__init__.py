"""Current methods from other libraries, as models and tasks; they need the extra `modern`.

They are a plug-in: pyproject.toml declares them as entry points, as another package would, and the
rest of transferbench does not import them. Names and parameters are available without the extra.
"""

import importlib
from typing import Any

from transferbench.errors import Unavailable
from transferbench.messages import install_hint


def need(name: str) -> Any:
    """Import an optional module.

    Raises
    ------
    Unavailable
        With the remedy, if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        library = (error.name or name).partition(".")[0]
        raise Unavailable(f"{library} is not installed", f"{install_hint('modern')}.") from None
