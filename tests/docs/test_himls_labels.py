"""The page of the HiMLS paper has the distances of label sets to print that the runs give."""

from statistics import fmean

import numpy as np
import pytest
from conftest import ROOT

from transferbench import experiments, stats
from transferbench.evidence.pages import Evidence
from transferbench.evidence.triples import position

PAGE = (ROOT / "docs" / "papers" / "himls.md").read_text(encoding="utf-8")
MEASURES = ("F1", "accuracy", "Hamming loss")
METHODS = ("HiMLS", "MLS", "MLS-V", "TRAM")

Values = dict[tuple[str, str], dict[int, float]]


def values(name: str) -> Values:
    """Return the value of each split, by row and column."""
    experiment = experiments.load(name)
    cells = Evidence.read(experiment, ROOT / "results" / name).cells
    return {(cell.row, cell.column): dict(cell.by_seed) for cell in cells}


def four_tops(subset: int) -> Values:
    """Return the declared readings of the methods in the subset's tables."""
    tables = values(f"himls-table{subset + 1}") | values(f"himls-table{subset + 5}")
    names = [f"{method} ≥ 1 label" for method in METHODS[:3]] + ["TRAM raw topics"]
    return {(m, c): tables[m, n] for m in MEASURES for c, n in zip(METHODS, names, strict=True)}


def distances(found: Values, subset: int, rows: str = "") -> np.ndarray:
    """Return D of each split: the mean of |ours - print| over methods and measures."""
    variants = experiments.load(f"himls-table{subset + 1}").spec.published
    others = experiments.load(f"himls-table{subset + 5}").spec.published
    printed = {
        (m, c): (others if c == "TRAM" else variants)[m][c][0] for m in MEASURES for c in METHODS
    }
    splits = sorted(found[MEASURES[0] + rows, METHODS[0]])
    return np.array([
        fmean(abs(found[m + rows, c][split] - value) for (m, c), value in printed.items())
        for split in splits
    ])  # fmt: skip


def test_the_page_has_the_distances_on_subset_1():
    found = values("himls-label-sets")
    spec = experiments.load("himls-label-sets").spec
    sets = [row.removeprefix("F1") for row in spec.rows if row.startswith("F1")]
    every = {name: distances(found, 1, name).mean() for name in sets}
    for name, distance in every.items():
        assert f"| {name.removeprefix(', ')} | {distance:.4f} |" in PAGE
    tried = [name for name in every if name != ", four tops" and "topics" not in name]
    assert min(tried, key=lambda name: every[name]) == ", 4 most frequent, no empty stories"
    np.testing.assert_allclose(
        distances(four_tops(1), 1)[:3], distances(found, 1, ", four tops"), atol=1e-9
    )


@pytest.mark.parametrize("subset", [2, 3, 4])
def test_the_page_has_the_test_on_the_other_subsets(subset):
    ours = distances(values("himls-labels-chosen"), subset, f", subset {subset}")
    tops = distances(four_tops(subset), subset)
    assert len(ours) == len(tops) == 10
    p = min(1.0, 2 * min(stats.sign_flip_p(tops - ours), stats.sign_flip_p(ours - tops)))
    line = f"| {subset} | {tops.mean():.4f} | {ours.mean():.4f} | {p:.2g} |"
    assert line in PAGE, line


def test_the_page_has_the_place_of_the_chosen_labels_in_the_plane():
    found = values("himls-labels-chosen")
    places = [
        position(*(fmean(found[f"{m}, subset {subset}", method].values()) for m in MEASURES))
        for subset in (2, 3, 4)
        for method in ("HiMLS", "MLS", "MLS-T", "MLS-V", "MLS-S", "HiMLSD")
    ]
    x, y = np.mean(places, axis=0)
    assert f"x is {x:.3f} and y is {y:.3f}".replace("0.", ".") in PAGE
