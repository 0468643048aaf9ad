"""The models as scikit-learn estimators, see `own.estimators`."""

from transferbench.own.estimators import (
    MultiLabelClassifier,
    MultiTaskClusterer,
    SentenceEmbeddings,
    TransductiveSplit,
    TransferClassifier,
)
from transferbench.own.fitted_documents import FittedDocuments as FittedDocuments  # in old pickles

__all__ = [
    "MultiLabelClassifier",
    "MultiTaskClusterer",
    "SentenceEmbeddings",
    "TransductiveSplit",
    "TransferClassifier",
]
