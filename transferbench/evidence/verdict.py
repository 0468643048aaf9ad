"""The one verdict on a number of ours beside the printed one: its signs and its words.

Tables, pictures, badges, LaTeX, CSV and sentences take them from here.
"""

import math
from typing import Literal, NamedTuple

from transferbench import stats

Verdict = Literal["same", "better", "worse", "cannot tell", "within", "outside", "unavailable"]


class Look(NamedTuple):
    """Sign, text and words of a verdict."""

    sign: str
    #: What a cell shows: signs that two verdicts share stand with a word.
    text: str
    words: str


LOOKS: dict[str, Look] = {
    "same": Look("●", "●", "the same"),
    "better": Look("▲", "▲", "different, ours is better"),
    "worse": Look("▼", "▼", "different, ours is worse"),
    "cannot tell": Look("◆", "◆", "cannot tell"),
    "within": Look("○", "○ within", "one run, within the tolerance"),
    "outside": Look("○", "○ outside", "one run, outside the tolerance"),
    "unavailable": Look("–", "–", "unavailable"),
}
#: Verdicts of a test, and those that call a number different.
TESTED = ("same", "better", "worse", "cannot tell")
DIFFERENT = ("better", "worse")


def judge(difference: float, margin: float, tolerance: float, *, is_ahead: bool) -> Verdict:
    """Return the verdict on a difference and half its 90 per cent interval, NaN if not known."""
    # Without a known error nothing is tested. Otherwise the two numbers are the same if the whole
    # interval lies within ± tolerance, and different if all of it lies outside.
    if math.isnan(margin):
        return "within" if stats.is_equivalent(difference, 0.0, tolerance) else "outside"
    if stats.is_equivalent(difference, margin, tolerance):
        return "same"
    if abs(difference) - margin <= tolerance:
        return "cannot tell"
    return "better" if is_ahead else "worse"
