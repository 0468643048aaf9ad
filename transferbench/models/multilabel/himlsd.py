"""HiMLSD: hierarchical multi-latent space learning (Yang, Davulcu, Zhu and He), divergence.

    min  Σ_i Σ_j D(X_ij‖R_i M_ij C_jᵀ) + α Σ_i D(Y_i‖R_iˢ M_iY C_Yᵀ) + β Σ_i Σ_j D(M_ij‖M_iY)
    s.t. R_i = R_i¹ ⋯ R_iᴸ,  C_j = C_j¹ ⋯ C_jᴸ,  all factors ≥ 0

The divergence is D(A‖B) = Σ A log(A/B) − A + B. The factors, their start, the training and the
prediction are those of HiMLS. X_ij (n_i, d_j) holds the documents × features of task i and view j.
Y_i (s_i, m) holds the labels of the seen documents of task i. R_iˡ (p_{l−1}, p_l) holds clusters of
documents, and R_iˢ holds the rows of R_i of seen documents. C_jˡ (q_{l−1}, q_l) holds clusters of
features, and C_Yˡ holds clusters of labels. M (p_L, q_L) associates both kinds of clusters. See
eqs. 3, 22, 23 and 32–43, and Algorithm 1.

Departures from the paper:
- The update of M_ij is the exact minimiser of the auxiliary function of lemma 6, so the objective
  cannot rise. The paper replaces log x by 1 − 1/x. This is exact for β D(M_iY‖M_ij), but it lets
  the objective of eq. 23 rise; `coupling` = paper does the same.
- Misprints are corrected. Eqs. 36 and 42 have R̃_i, which holds seen and unseen rows. All entries of
  E_i in eq. 37 are one. The denominators of eqs. 40 and 41 have R_i^(1:l) Ω(l) and Ω(l). Eq. 40
  uses all rows for l ≥ 2.
- The departures of HiMLS also apply, see `describe himls`.
"""

from typing import Literal

from transferbench.core.losses import Divergence
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
    coupling: Literal["exact", "paper"] = "exact",
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
    """Fit HiMLSD.

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
    coupling
        Update M by the exact minimiser, or by the equation of the paper.
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
    return fit_stack(problem, documents, Divergence(coupling), plan, weights, *options, watch)
