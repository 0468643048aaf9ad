"""Write the regrets that recommendations quote; `transferbench tables` calls it by entry point."""

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from transferbench.choose.evidence import RECOMMENDED, WHERE
from transferbench.evidence import labels, regret
from transferbench.evidence.pages import Evidence
from transferbench.evidence.regret import ELSEWHERE
from transferbench.evidence.thresholds import ADVISED, ANY

#: The file, relative to the folder of results of a checkout.
REGRETS = "../transferbench/choose/regrets.json"


def texts(results: Path, known: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the text of REGRETS; nothing outside a checkout, or if an experiment is missing."""
    regrets = known_regrets(known) if (results / REGRETS).is_file() else {}
    return {REGRETS: json.dumps(regrets, indent=2) + "\n"} if regrets else {}


def known_regrets(known: Mapping[str, Evidence]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the numbers of `choose.evidence`: regrets by shares and strength, gains by labels."""
    # Returns: Numbers with six digits; empty without one of the experiments.
    if not {"choice", "choice-settings", "choice-labels"} <= known.keys():
        return {}
    of_shares = {}
    for shares in WHERE:
        fitted = shares == "no shift"  # no setting is chosen there
        table = known["choice" if fitted else "choice-settings"].regrets
        strategy = f"{RECOMMENDED}, {ADVISED}" if fitted else ELSEWHERE
        columns = {"strategy": strategy, "documents": ANY, "shares": shares}
        (line,) = table[(table[[*columns]] == pd.Series(columns)).all(axis=1)].to_dict("records")
        numbers = {name: float(f"{line[name]:.6g}") for name in ("mean", "low", "high", "worst")}
        of_shares[shares] = {name: line[name] for name in ("tasks", "corpora")} | numbers
    of_labels = {}
    by_labels = known["choice-labels"]
    rival = labels.rivals(by_labels.experiment)[0]
    for m in labels.numbers(by_labels.experiment)[1:]:
        part = labels.differences(by_labels.experiment, by_labels.by_labels, m, rival)
        mean, worst = part.groupby("corpus")["difference"].mean().mean(), part["difference"].min()
        of_labels[f"{m}"] = {"mean": float(f"{mean:.6g}"), "worst": float(f"{worst:.6g}")}
    *_, (_, lines) = regret.by_warning(known["choice"].experiment, known["choice"].cells)
    of_strength = {
        strength: {name: float(f"{line[name]:.6g}") for name in ("tasks", "mean", "worst")}
        for strength, line in zip(("weak", "strong"), lines, strict=True)
        if line
    }
    return {"shares": of_shares, "strength": of_strength, "labels": of_labels}
