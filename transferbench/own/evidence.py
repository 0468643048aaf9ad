"""Evidence for the choice of a model: roles of models, thresholds, and regrets.

The regrets are those of the committed results. A wheel lacks these results, so `transferbench
tables` writes the regrets to regrets.json, see `own.regrets`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

#: Family → the model that every other is compared with.
REFERENCE = {"transfer": "lr", "multilabel": "linear-svm"}
#: The model that is recommended, also a column of the experiment `choice`.
RECOMMENDED = "consensus"
#: Family → models that take seconds on some thousand documents, the quickest first.
QUICK = {
    "transfer": ("lr", "graph-only", "cocc", "svm", "dtl", "tsvm", RECOMMENDED),
    "multilabel": ("linear-svm", "tram", "ml-knn"),
}
#: Models of one view that are fitted on words and embeddings side by side, if there are both.
SIDE_BY_SIDE = (
    "lr", "svm", "tsvm", "graph-only", "lr-kmeans", "lr-self-training", "label-propagation",
)  # fmt: skip
#: Family without a recommendation → what its models predict, and an example of a model.
WITHOUT_RECOMMENDATION = {
    "multilabel": ("several labels", "linear-svm"),
    "clustering": ("clusters", "lskmtc"),
}
#: Models whose scores do not rank documents: on some tasks of the experiment `choice` the least
#: confident tenth is right more often. They get no confidence.
NO_CONFIDENCE = ("cocc",)
#: Largest numbers of documents in a domain, and of classes, in the tasks of the regrets.
MAX_EVIDENCE, MAX_CLASSES = 10_033, 4
#: Documents of each domain, drawn at random, on which a model is chosen if there are more than
#: MAX_EVIDENCE.
PART = 10_000
#: Number of labelled documents from which a recommendation by them is strong.
MANY_LABELS = 20
#: Largest share of entries above zero in a domain; the texts of these tasks have fewer.
MAX_DENSITY = 0.1


@dataclass(frozen=True)
class KnownRegret:
    """Points of accuracy by which the recommended model is below the best single one."""

    #: Property that the tasks have in common.
    where: str
    #: `tasks`, `corpora`: Numbers of tasks and of their corpora.
    tasks: int
    corpora: int
    #: Mean of the corpora's means.
    mean: float
    #: `low`, `high`: Ends of the 95 per cent bootstrap interval of the mean.
    low: float
    high: float
    #: The largest regret of a task.
    worst: float


#: Value of the variant `shares` of the experiment `choice` → what its tasks have in common.
WHERE = {
    "no shift": "where source and target look alike",
    "as they are": "where the target has about the source's class shares",
    "4:1": "where its first class is four times as large as each other",
    "1:5": "where its first class is a fifth of each other",
}
_known = json.loads(Path(__file__).with_name("regrets.json").read_text(encoding="utf-8"))
#: Value of `shares` → the regret there. "no shift" is of the experiment `choice`, the others are of
#: `choice-settings`, with settings chosen on other corpora.
REGRETS = {name: KnownRegret(WHERE[name], **line) for name, line in _known["shares"].items()}
#: Strength of a recommendation → mean over the corpora, and worst, of the regret of RECOMMENDED in
#: the experiment `choice`, on all its tasks.
BY_STRENGTH = {name: (line["mean"], line["worst"]) for name, line in _known["strength"].items()}
#: Number of labelled documents of a target → mean over the corpora, and least of a task, of the
#: points of accuracy of RECOMMENDED above logistic regression on all views, trained on source and
#: sample;
#: of the experiment `choice-labels`.
GAINS_BY_LABELS = {int(m): (line["mean"], line["worst"]) for m, line in _known["labels"].items()}
