"""SA: align the principal subspace of the sources to that of the target, then logistic regression.

    min over M  ‖P_s M − P_t‖²_F

P_s, P_t (r, q) the principal components of the labelled documents and of a target, as coordinates
of a truncated SVD or sentence embeddings, centred in each domain. The solution is M = P_sᵀP_t: a
source vector z becomes (P_s M)ᵀz, a target's P_tᵀz. Fernando, Habrard, Sebban and Tuytelaars, ICCV
2013; implementation of skada. The paper chooses q by a bound and by cross-validation; 20 is a
common default of published code. If q were the number of coordinates, only the means would be
matched.

An extension of the paper: a labelled document of a target counts in both subspaces and trains the
regression. The weight of its label multiplies its loss there.
"""

from functools import partial

from transferbench.baselines import need
from transferbench.core.dense import Features, adapt, dense
from transferbench.core.documents import seen_rows
from transferbench.parameters import Count, Positive
from transferbench.problem import Fit, Problem


def fit(
    problem: Problem,
    *,
    features: Features = "svd",
    components: Count = 100,
    q: Count = 20,
    C: Positive = 1.0,
) -> Fit:
    """Fit SA.

    Parameters
    ----------
    features
        Truncated SVD of the first view, or embeddings in the second view.
    components
        Coordinates of the SVD.
    q
        Dimensions of the subspaces, at most the coordinates and the documents of each.
    C
        Inverse regularisation of the logistic regression.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every target, and the labels of sources.

    Raises
    ------
    Unavailable
        Without the extra `modern`, or if there are no embeddings.
    """
    alignment = need("skada").SubspaceAlignment
    vectors = dense(problem, features, components)
    X, _ = seen_rows(vectors)
    most = min(q, *X.shape, *(len(domain.seen) for domain in vectors.targets))
    return adapt(vectors, C, partial(alignment, n_components=most, random_state=0))
