"""The documents 0, 9 and last of each collection are the right ones, counted by other parsers."""

from __future__ import annotations

import pytest
from conftest import originals

from transferbench import datasets

COUNTS = {"weighting": "tf", "unit_length": False}
EVERY = COUNTS | {"min_df": 1}
#: Task → its options and, by domain, class and number of words of the documents 0, 9 and last.
ITEMS = {
    "reuters/orgs-vs-people": (COUNTS, {
        "source": "orgs 48, orgs 71, people 201", "target": "orgs 94, orgs 76, people 43"}),
    "reuters/orgs-vs-places": (COUNTS, {
        "source": "places 52, places 362, orgs 46", "target": "places 294, places 82, orgs 54"}),
    "reuters/people-vs-places": (COUNTS, {
        "source": "places 52, places 342, people 201",
        "target": "places 290, places 82, people 43"}),
    "mtc/webkb4-linqs": (COUNTS, {
        "cornell": "student 71, project 151, course 93",
        "texas": "course 54, course 91, project 83",
        "washington": "project 31, course 38, project 121",
        "wisconsin": "project 94, project 1, faculty 179"}),
    "email-spam/inbox-0-to-1": (EVERY, {
        "source": "ham 370, ham 220, spam 174", "target": "ham 271, spam 43, spam 224"}),
    "crisislex/sandy-vs-boston": (EVERY, {
        "source": "off-topic 8, off-topic 13, on-topic 20",
        "target": "off-topic 22, on-topic 11, on-topic 18"}),
    "germeval/training-vs-test": (EVERY, {
        "source": "other 15, offense 14, other 22", "target": "other 20, offense 34, other 18"}),
    "germeval/fine-test-vs-training": (EVERY, {
        "source": "other 20, abuse 34, other 18", "target": "other 15, abuse 14, other 22"}),
}  # fmt: skip


@pytest.mark.parametrize("name", ITEMS)
def test_documents_0_9_and_the_last_are_the_right_ones(name):
    options, expected = ITEMS[name]
    problem, truth = datasets.module(name).build(name, originals(name), **options)
    items = {
        domain.name: ", ".join(
            f"{problem.classes[Y[i].argmax()]} {domain.X[[i]].sum():.0f}" for i in (0, 9, -1)
        )
        for domain, Y in zip(problem.domains, truth.Y, strict=True)
    }
    assert items | expected == items
