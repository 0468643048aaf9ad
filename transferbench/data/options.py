"""Types of dataset options that several datasets share."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Lt

#: Weights of term counts; see `text.weight`.
Weighting = Literal["tf", "log-tf", "tf-idf"]
StopWords = Literal["english", "none"]
#: Views of a multi-label text dataset: weighted terms, topics, or both.
Views = Literal["both", "tf-idf", "topics"]
#: What assigns the documents of a multi-label dataset to tasks; see `rcv1`.
TasksFrom = Literal["labels", "train-labels", "random"]
#: Fraction of the documents whose labels a model sees.
TrainFraction = Annotated[float, Gt(0), Lt(1)]
#: Domains whose classes the option `class_sizes` cuts; see `_class_sizes.cut`.
UnequalIn = Literal["target", "both"]
#: Integer of 0 or more.
Natural = Annotated[int, Ge(0)]
