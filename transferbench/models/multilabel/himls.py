"""HiMLS: hierarchical multi-latent space learning (Yang, Davulcu, Zhu and He), least squares.

    min  Σ_i Σ_j ‖X_ij − R_i M_ij C_jᵀ‖² + α Σ_i ‖Y_i − R_iˢ M_iY C_Yᵀ‖² + β Σ_i Σ_j ‖M_ij − M_iY‖²
    s.t. R_i = R_i¹ ⋯ R_iᴸ,  C_j = C_j¹ ⋯ C_jᴸ,  all factors ≥ 0

X_ij (n_i, d_j) holds the documents × features of task i and view j. Y_i (s_i, m) holds the labels
of the seen documents of task i. R_iˡ (p_{l−1}, p_l) holds clusters of documents, which the views
share; R_iˢ holds the rows of R_i of seen documents. C_jˡ (q_{l−1}, q_l) holds clusters of features,
which the tasks share, and C_Yˡ holds clusters of labels. M (p_L, q_L) associates both kinds of
clusters. Scores are the mean over layers of R_i¹⋯R_iˡ M_iYˡ (C_Y¹⋯C_Yˡ)ᵀ, and the threshold is ½.
See eqs. 3–5 and 10–21. Algorithm 1 trains the layers one by one, then all together.

With one layer the model is the paper's MLS. With one layer and `pool_views` it is MLS-T, with
`pool_tasks` it is MLS-V, and with both it is MLS-S.

Departures from the paper:
- For l ≥ 2, eq. 16 uses all rows, also unseen ones. They share R_iˡ, and the objective requires
  this.
- A single layer is not fine-tuned, because fine-tuning would repeat the same updates.
- Columns of C start at length one, so that β has the same effect in every view; the paper does not
  give a scale.
- The start of M uses a ridge, because the inverses of step 3 may not exist. It is then made
  positive.
- PLSA treats weights as counts.
- Several values of α and β are tried once, on a held-out fraction of the seen documents. The paper
  tunes them by "cross-validation" without details.

With α = 1, seen documents memorise their labels, because their rows of R are free. With two layers
the F1 of unseen documents hardly changes from α = .01 on. With one layer it rises up to α = 1, from
.793 to .840 (`himls-figure2a`). The coupling does not fix a scale. Over thousands of sweeps M
shrinks and R grows. So the coupling vanishes at no cost, and the factors do not converge.
"""

from transferbench.core.losses import Squares
from transferbench.models.multilabel._layers import Columns, Documents, LayerPlan, Start, fit_stack
from transferbench.parameters import Count, Fraction, Precision, Weight
from transferbench.problem import Fit, Problem, Watch

#: For `--device`, see `core.device`.
DEVICES = ("cpu", "cuda")


def fit(
    problem: Problem,
    *,
    p: tuple[Count, ...] = (200, 40),
    q: tuple[Count, ...] = (100, 20),
    alpha: tuple[Weight, ...] = (0.01, 0.1, 1.0),
    beta: tuple[Weight, ...] = (1.0,),
    validation_fraction: Fraction = 0.2,
    pretrain: Count = 50,
    finetune: Count = 50,
    start: Start = "plsa",
    start_iter: Count = 50,
    columns: Columns = "length",
    pool_tasks: bool = False,
    pool_views: bool = False,
    ensure_one_label: bool = False,
    dtype: Precision = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit HiMLS.

    Parameters
    ----------
    p, q
        Clusters of documents and of features, a number for each layer.
    alpha, beta
        Values of α and β. If there are several, the pair with the best example-based F₁ on held-out
        documents is used.
    validation_fraction
        Fraction of the seen documents that is held out to choose alpha and beta.
    pretrain
        Number of sweeps for each layer.
    finetune
        Number of sweeps for all layers together. This is the last phase if there are several
        layers.
    start
        R and C start from `start_iter` iterations of PLSA, or at random.
    start_iter
        Number of iterations of PLSA for the start.
    columns
        Columns of C start with Euclidean length one or with sum one.
    pool_tasks
        Treat all tasks as one task.
    pool_views
        Put all views side by side as one view.
    ensure_one_label
        Give each document without a label its best label.
    dtype
        Precision of the matrices and factors during the fit.

    Returns
    -------
    Fit
        Scores F (n, m) of every task, and the objective after each sweep of the last phase.

    Raises
    ------
    ValueError
        If p and q differ in length or no label is seen.
    FloatingPointError
        If the objective is not finite.
    """
    plan = LayerPlan(p, q, pretrain, finetune, start, start_iter, columns, seed)
    documents = Documents.from_problem(problem, pool_tasks, pool_views, dtype)
    weights, options = (alpha, beta), (validation_fraction, ensure_one_label)
    return fit_stack(problem, documents, Squares(), plan, weights, *options, watch)
