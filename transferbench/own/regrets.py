"""Write the regrets that recommendations quote; `transferbench tables` calls it by entry point."""

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from transferbench.evidence import groups, labels, regret
from transferbench.evidence.pages import Evidence
from transferbench.evidence.regret import ELSEWHERE
from transferbench.evidence.thresholds import ADVISED, ANY
from transferbench.own.evidence import RECOMMENDED, WHERE

#: The file, relative to the folder of results of a checkout.
REGRETS = "../transferbench/own/regrets.json"


def texts(results: Path, known: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the text of REGRETS; nothing outside a checkout, or if an experiment is missing."""
    regrets = known_regrets(known) if (results / REGRETS).is_file() else {}
    return {REGRETS: json.dumps(regrets, indent=2) + "\n"} if regrets else {}


def known_regrets(known: Mapping[str, Evidence]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the numbers of `own.evidence`: regrets by shares and strength, gains by labels."""
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
        counts = {name: line[name] for name in ("tasks", "corpora")}
        of_shares[shares] = counts | _six_digits(line, "mean", "low", "high", "worst")
    warned = regret.by_warning(known["choice"].experiment, known["choice"].cells)
    of_strength = {
        {"with it": "weak", "without": "strong"}[line["given"]]: _six_digits(
            line, "tasks", "mean", "worst"
        )
        for line in warned[warned["warning"] == regret.ANY_WARNING].to_dict("records")
    }
    by_labels = known["choice-labels"]
    above = labels.advantages(by_labels.experiment, by_labels.by_labels)
    rival = above[above["method"] == above["method"].iloc[0]]
    gains = groups.over_corpora(rival, ["labels"], "above", "idxmin")
    of_labels = {
        f"{line['labels']}": _six_digits(line, "mean", "worst") for line in gains.to_dict("records")
    }
    return {"shares": of_shares, "strength": of_strength, "labels": of_labels}


def _six_digits(line: Mapping[Hashable, Any], *names: str) -> dict[str, float]:
    return {name: float(f"{line[name]:.6g}") for name in names}
