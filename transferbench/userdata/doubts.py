"""Former name of `own.doubts`."""

import warnings

from transferbench.own.doubts import data_doubts, fit_doubts, overlap_doubts

__all__ = ["data_doubts", "fit_doubts", "overlap_doubts"]

warnings.warn(
    "transferbench.userdata.doubts is now transferbench.own.doubts.", FutureWarning, stacklevel=2
)
