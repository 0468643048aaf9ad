"""The models as scikit-learn estimators, see `own.estimators`."""

from transferbench.own.estimators import (
    FittedDocuments,
    MultiLabelClassifier,
    MultiTaskClusterer,
    SentenceEmbeddings,
    TransductiveSplit,
    TransferClassifier,
)

__all__ = [
    "FittedDocuments",  # named by pickles
    "MultiLabelClassifier",
    "MultiTaskClusterer",
    "SentenceEmbeddings",
    "TransductiveSplit",
    "TransferClassifier",
]
