"""Former name of `userdata.doubts`."""

import warnings

from transferbench.userdata.doubts import check_data, check_fit, check_overlap

__all__ = ["check_data", "check_fit", "check_overlap"]

warnings.warn(
    "transferbench.choose.doubts is now transferbench.userdata.doubts.",
    FutureWarning,
    stacklevel=2,
)
