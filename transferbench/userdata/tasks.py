"""Former name of `own.tasks`."""

import warnings

from transferbench.own.tasks import build, read_yaml, user_files

__all__ = ["build", "read_yaml", "user_files"]

warnings.warn(
    "transferbench.userdata.tasks is now transferbench.own.tasks.", FutureWarning, stacklevel=2
)
