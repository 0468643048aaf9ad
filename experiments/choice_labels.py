"""Regret of a choice by labelled documents of the target, on tasks of the experiment `choice`.

    python experiments/choice_labels.py                 # about half an hour of one core
    python experiments/choice_labels.py 100 --minutes 5 # one size; tasks in the file are kept

A line of results/choice/labels.csv is a task with a number of labelled documents, a mean over draws
of the sample: the regret of the model that is chosen (`choose.sample.judge`), and of consensus at
the shares of the sample; the accuracy to expect, as it is printed, the true one, and how often the
95 % interval has it. Without labels the choice is consensus. labels.md sums it up.
"""

import argparse
import hashlib
import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
from tqdm import tqdm

from transferbench import experiments, settings, tasks
from transferbench.artefacts import Memory
from transferbench.choose import sample
from transferbench.choose.evidence import QUICK, RECOMMENDED
from transferbench.choose.fits import fit_plan, plan
from transferbench.problem import Fit, Problem, Truth

FILE = Path(__file__).parent.parent / "results" / "choice" / "labels.csv"
LABELS = (20, 50, 100)
DRAWS = 3
#: Left out: further tasks of the same corpora.
FURTHER = (
    "rec vs talk", "comp / sci / talk", "comp vs sci of MTC", "sci vs talk of Zhuang",
    "orgs vs places", "texas to washington", "inbox 1 to 2", "dvd to kitchen",
)  # fmt: skip
#: Rows of disasters that have all shares of the classes.
DISASTERS = (
    "sandy to west texas", "west texas to boston", "boston to queensland", "queensland to oklahoma",
)  # fmt: skip


def lines(problem: Problem, truth: Truth) -> list[dict[str, float]]:
    """Return the values of the columns for each number of labels."""
    plans = plan("transfer", QUICK["transfer"], {})
    memory: Memory = {}  # what the models share
    entries = [fit_plan(problem, planned, memory) for planned in plans]
    fits = {entry.model: Fit(entry.fits[0].scores[-1:]) for entry in entries if entry.fits}
    # Of equally good models the first is chosen.
    fits = {RECOMMENDED: fits.pop(RECOMMENDED), **fits}
    Y, whole = truth.Y[-1], truth.scored[-1]
    alone = replace(truth, names=truth.names[-1:], Y=(Y,), scored=(whole,))
    decide = sample.by_shares(problem, problem.domains[-1])

    def accuracy(fit: Fit) -> float:
        return float(np.mean(fit.scores[0][whole].argmax(axis=1) == Y[whole].argmax(axis=1)))

    found = fits[RECOMMENDED]
    best = max(accuracy(fit) for model, fit in fits.items() if model != RECOMMENDED)
    values = [{"labels": 0, "regret": 100 * (best - accuracy(found))}]
    for m in LABELS:
        drawn = list[dict[str, float]]()
        for draw in range(DRAWS if 2 * m <= whole.sum() else 0):
            rows = np.zeros(len(Y), bool)
            rows[np.random.default_rng([draw, m]).choice(np.flatnonzero(whole), m, False)] = True
            scores = sample.at_sample(found.scores[0], Y, rows, decide)
            by_model = fits | {RECOMMENDED: Fit((scores,))}
            judged = sample.judge(by_model, replace(alone, scored=(rows,)))
            right = accuracy(by_model[next(iter(judged.right))])
            low, high = sample.wilson(judged.accuracy, m)
            drawn.append(
                {
                    "regret": 100 * (best - right),
                    "consensus": 100 * (best - accuracy(by_model[RECOMMENDED])),
                    "expected": 100 * judged.accuracy,
                    "accuracy": 100 * right,
                    "covered": float(low <= right <= high),
                }
            )
        if drawn:
            values.append({"labels": m} | {k: fmean(one[k] for one in drawn) for k in drawn[0]})
    return values


def page(table: pd.DataFrame) -> str:
    """Return the means over the corpora and the worst tasks by documents, shares and corpus."""
    heads = {0: "without", **{m: f"{m} labels" for m in LABELS}}

    def row(name: str, part: pd.DataFrame) -> str:
        cells = []
        for m in heads:
            of_tasks = part[part.labels == m]
            mean = of_tasks.groupby("corpus").regret.mean().mean()
            cells.append(
                f"{round(mean, 6):.1f} / {of_tasks.regret.max():.1f} ({len(of_tasks)})"
                if len(of_tasks)
                else "–"
            )
        return f"| {name} | {' | '.join(cells)} |"

    table = table.sort_values(["documents", "corpus"], kind="stable")
    sampled = table[table.labels > 0]
    bias = (sampled.expected - sampled.accuracy).groupby(sampled.labels).mean()
    covered = sampled.groupby("labels").covered.mean()
    return "\n".join(
        [
            "# choice: choosing a method by labelled documents of the target",
            "",
            "Regret: accuracy of the best of six single methods on a task less that of the chosen "
            "one, in points; 0 is best, and consensus at the right shares can be better than each. "
            f"Each cell: the mean over the corpora / the worst task, a mean over {DRAWS} draws "
            "(tasks). At most half of the documents are labelled.",
            "",
            f"| tasks | {' | '.join(heads.values())} |",
            f"|{'---|' * (len(heads) + 1)}",
            row("all", table),
            *(
                row(f"{documents} documents, {shares}", part)
                for (documents, shares), part in table.groupby(["documents", "shares"], sort=False)
            ),
            *(row(name, part) for name, part in table.groupby("corpus")),
            "",
            "The accuracy to expect is above the true one by "
            + ", ".join(f"{value:.1f} points ({m} labels)" for m, value in bias.items())
            + " on average; its 95 % interval has the true one in "
            + ", ".join(f"{100 * value:.0f} %" for value in covered)
            + " of the draws.",
            "",
            "[All numbers](labels.csv), computed by `experiments/choice_labels.py`",
            "",
        ]
    )


def main() -> None:
    """Compute the tasks that the file lacks, those of different corpora in turn."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("documents", nargs="*", default=["100", "500"])
    parser.add_argument("--minutes", type=float, default=60.0)
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    table = pd.read_csv(FILE) if FILE.is_file() else pd.DataFrame({"task": []})
    configuration = settings.load()
    experiment = experiments.load("choice", configuration.results)
    planned = [
        (name, row)
        for name, row in experiment.spec.rows.items()
        if row.variant["documents"] in asked.documents
        and not name.startswith(FURTHER)
        and (row.group != "disasters" or name.startswith(DISASTERS))
        and name not in set(table["task"])
    ]
    # In an order by which a part is from all corpora.
    planned.sort(key=lambda each: hashlib.sha256(each[0].encode()).digest())
    for name, row in tqdm(planned):
        if time.monotonic() > end:
            break
        problem, truth = tasks.load(row.data(), configuration)
        where = {"task": name, "corpus": experiment.corpus(name), **row.variant}
        table = pd.concat([table, pd.DataFrame(where | line for line in lines(problem, truth))])
        table.to_csv(FILE, index=False, float_format="%.4g", lineterminator="\n")
    FILE.with_suffix(".md").write_text(page(pd.read_csv(FILE)), encoding="utf-8")


if __name__ == "__main__":
    main()
