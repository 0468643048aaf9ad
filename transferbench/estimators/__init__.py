"""The models as scikit-learn estimators; domains are given by `sample_domain`, as in skada.

    classifier = TransferClassifier("gcmf", k=32)
    classifier.fit(X, y, sample_domain=domain)     # y of targets (domain < 0) is ignored
    classifier.transduction_[domain < 0]

The models are transductive: they label only the documents they are fitted on. X (n, d) is
nonnegative, sparse or dense (an array or a DataFrame), documents × features. Each integer in
`sample_domain` is a domain: 0 and above are sources, negative ones are targets.
"""

from transferbench.estimators._base import MASKED, SOURCE, TARGET
from transferbench.estimators.clusterer import MultiTaskClusterer
from transferbench.estimators.multilabel import MultiLabelClassifier
from transferbench.estimators.transfer import TransferClassifier

__all__ = [
    "MASKED",
    "SOURCE",
    "TARGET",
    "MultiLabelClassifier",
    "MultiTaskClusterer",
    "TransferClassifier",
]
