"""Former name of `own.doubts`, with the former names of its functions."""

import warnings

from transferbench.own.doubts import data_doubts as check_data
from transferbench.own.doubts import fit_doubts as check_fit
from transferbench.own.doubts import overlap_doubts as check_overlap

__all__ = ["check_data", "check_fit", "check_overlap"]

warnings.warn(
    "transferbench.choose.doubts is now transferbench.own.doubts; its functions are "
    "data_doubts, fit_doubts and overlap_doubts.",
    FutureWarning,
    stacklevel=2,
)
