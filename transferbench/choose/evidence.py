"""Evidence for the choice of a model: roles of models, thresholds, and regrets.

The regrets are copied from the committed results, which a wheel lacks. A test compares both.
"""

from dataclasses import dataclass

#: Family → the model that every other is compared with.
REFERENCE = {"transfer": "lr", "multilabel": "linear-svm"}
#: The model that is recommended, also a column of the experiment `choice`.
RECOMMENDED = "consensus"
#: Family → models that take seconds on some thousand documents, the quickest first.
QUICK = {
    "transfer": ("lr", "graph-only", "cocc", "svm", "dtl", "tsvm", RECOMMENDED),
    "multilabel": ("linear-svm", "tram", "ml-knn"),
}
#: Family without a recommendation → what its models predict, and an example of a model.
WITHOUT_RECOMMENDATION = {
    "multilabel": ("several labels", "linear-svm"),
    "clustering": ("clusters", "lskmtc"),
}
#: Models whose scores do not rank documents: on some tasks of the experiment `choice` the least
#: confident tenth is right more often. They get no confidence.
NO_CONFIDENCE = ("cocc",)
#: Numbers of documents in a domain, and of classes, in the tasks of the regrets.
MIN_EVIDENCE, MAX_EVIDENCE, MAX_CLASSES = 500, 10_033, 4
#: Largest share of entries above zero in a domain; the texts of these tasks have fewer.
MAX_DENSITY = 0.1
#: In a table of regrets: the end of the name of a strategy that is judged only on rows where it is
#: advised, and the value of `documents` for all rows with MIN_EVIDENCE or more.
ADVISED, ANY = "if advised", "any"


@dataclass(frozen=True)
class Regret:
    """Points of accuracy by which the recommended model is below the best single one.

    Parameters
    ----------
    where
        What the tasks have in common.
    tasks, corpora
        Numbers of tasks and of their corpora.
    mean
        Mean of the corpora's means.
    low, high
        Its 95 per cent bootstrap interval.
    worst
        The largest regret of a task.
    """

    where: str
    tasks: int
    corpora: int
    mean: float
    low: float
    high: float
    worst: float


#: Value of the variant `shares` → the regret there. "no shift" is from results/choice/regret.csv,
#: the others are from results/choice-settings/regret.csv, with settings chosen on other corpora.
REGRETS = {
    "no shift": Regret(
        "where source and target look alike", 67, 6, 0.197681, 0.0704281, 0.321982, 1.2
    ),
    "as they are": Regret(
        "where the target has about the source's class shares",
        25, 6, 4.44556, 0.955556, 9.89444, 21.0,
    ),
    "4:1": Regret(
        "where its first class is four times as large as each other",
        24, 6, 5.53177, 1.26353, 10.858, 17.4,
    ),
    "1:5": Regret(
        "where its first class is a fifth of each other", 24, 6, 2.5207, -5.85278, 10.8194, 19.8
    ),
}  # fmt: skip
#: Number of labelled documents of a target → mean over the corpora, and worst, of the same points,
#: from results/choice-labels/labels.csv.
BY_SAMPLE = {20: (-0.286, 9.333), 50: (-1.472, 4.0), 100: (-1.856, 3.133)}
