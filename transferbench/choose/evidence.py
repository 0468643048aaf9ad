"""Evidence for the choice of a model: roles, thresholds, and the experiment `choice`.

The regrets are those of results/choice/regret.csv; a test compares them.
"""

from dataclasses import dataclass

#: Family → the model that every other is compared with.
REFERENCE = {"transfer": "lr", "multilabel": "linear-svm"}
#: The model that is recommended, also a column of the experiment `choice`.
RECOMMENDED = "consensus"
#: Family → models that take seconds on some thousand documents, the quickest first.
QUICK = {
    "transfer": ("lr", "graph-only", "cocc", "svm", "tsvm", RECOMMENDED),
    "multilabel": ("linear-svm", "tram", "ml-knn"),
}
#: Family without a recommendation → what its models give, and one of them.
UNADVISED = {"multilabel": ("several labels", "linear-svm"), "clustering": ("clusters", "lskmtc")}
#: Models without transfer.
NO_TRANSFER = ("lr", "svm")
#: Models whose scores do not rank documents: on some tasks of the experiment `choice` the least
#: confident tenth is right more often. They get no confidence.
NO_CONFIDENCE = ("cocc",)
#: Agreement (see `consensus`) below which its members say little about a target.
WEAK_AGREEMENT = 0.7
#: Documents of a domain, and classes, of the tasks that the regrets are from.
MIN_EVIDENCE, MAX_EVIDENCE, MAX_CLASSES = 500, 10_033, 4
#: In a table of regrets: the end of a strategy's name that keeps to the rows where it is advised,
#: and the value of `documents` for all with MIN_EVIDENCE or more.
ADVISED, ANY = "if advised", "any"


@dataclass(frozen=True)
class Regret:
    """Points of accuracy by which the recommended model is below the best single one, if advised.

    Parameters
    ----------
    where
        What the tasks have in common.
    mean
        Of the means of the corpora, with its 95 per cent t interval, low to high.
    worst
        Of a task.
    """

    where: str
    tasks: int
    corpora: int
    mean: float
    low: float
    high: float
    worst: float


#: Value of the variant `shares` of the experiment `choice` → the regret there.
REGRETS = {
    "no shift": Regret(
        "where source and target look alike", 67, 6, 0.197681, 0.0176685, 0.377693, 1.2
    ),
    "as they are": Regret(
        "where the target has about the source's class shares",
        87, 6, 1.58527, -0.266936, 3.43747, 11.2,
    ),
    "4:1": Regret(
        "where its first class is four times as large as each other",
        63, 6, 2.58108, -0.692955, 5.85511, 24.9696,
    ),
    "1:5": Regret(
        "where its first class is a fifth of each other", 60, 6, 3.79601, -7.83797, 15.43, 26.6297
    ),
}  # fmt: skip
