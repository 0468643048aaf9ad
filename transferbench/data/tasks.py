"""Old module of `Facts`, which tests of datasets in other packages import from here."""

import warnings

from transferbench.data.facts import Facts

__all__ = ["Facts"]

warnings.warn(
    "transferbench.data.tasks is gone; import Facts from transferbench.data.facts.",
    FutureWarning,
    stacklevel=2,
)
