"""HiMLSD: hierarchical multi-latent space learning (Yang, Davulcu, Zhu and He), divergence.

    min  Σ_i Σ_j D(X_ij‖R_i M_ij C_jᵀ) + α Σ_i D(Y_i‖R_iˢ M_iY C_Yᵀ) + β Σ_i Σ_j D(M_ij‖M_iY)
    s.t. R_i = R_i¹ ⋯ R_iᴸ,  C_j = C_j¹ ⋯ C_jᴸ,  all factors ≥ 0

D(A‖B) = Σ A log(A/B) − A + B. The factors, their start, training and prediction are those of HiMLS:
X_ij (n_i, d_j) documents × features of task i and view j; Y_i (s_i, m) labels of its seen
documents; R_iˡ (p_{l−1}, p_l) clusters of documents, R_iˢ rows of seen ones; C_jˡ (q_{l−1}, q_l) of
features and C_Yˡ of labels; M (p_L, q_L). Eqs. 3, 22, 23 and 32–43, Algorithm 1.

Departures from the paper:
- M_ij is updated by the exact minimiser of the auxiliary function of lemma 6, so that the objective
  cannot rise. The paper puts 1 − 1/x for log x in it, which is exact for β D(M_iY‖M_ij) and lets
  the objective of eq. 23 rise: `coupling` = paper.
- Misprints: R̃_i, seen and unseen rows, in eqs. 36 and 42; E_i of all entries one in eq. 37;
  R_i^(1:l) Ω(l) and Ω(l) in the denominators of eqs. 40 and 41; all rows in eq. 40 for l ≥ 2.
- The others that `describe himls` lists.
"""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Gt, Lt

from transferbench.core.losses import Divergence
from transferbench.core.multilabel import Columns, Documents, Join, Plan, Start
from transferbench.core.multilabel import fit as fit_stack
from transferbench.parameters import Count, Weight
from transferbench.problem import Fit, Problem, Watch


def fit(
    problem: Problem,
    *,
    p: tuple[Count, ...] = (200, 40),
    q: tuple[Count, ...] = (100, 20),
    alpha: tuple[Weight, ...] = (0.01, 0.1, 1.0),
    beta: tuple[Weight, ...] = (1.0,),
    hidden: Annotated[float, Gt(0), Lt(1)] = 0.2,
    pretrain: Count = 50,
    finetune: Count = 50,
    coupling: Literal["exact", "paper"] = "exact",
    start: Start = "plsa",
    start_iter: Count = 50,
    columns: Columns = "length",
    tasks: Join = "given",
    views: Join = "given",
    top1: bool = False,
    dtype: Literal["float32", "float64"] = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Scores F (n, m) of every task, and the objective after each sweep of the last phase.

    p and q, document and feature clusters of each layer; alpha (α) and beta (β), one value each, or
    several of which a hidden share of the seen labels chooses by example-based F₁; sweeps of
    pretrain for each layer, then of finetune for all, if there are several: the last phase is this
    or else the former. start of R and C, by start_iter iterations of PLSA or at random; columns of
    C of that length or sum; tasks and views as given or joined to one; top1: a document without a
    score of 0.5 gets its best label. Raises ValueError where p and q differ in length or no label
    is seen.
    """
    plan = Plan(p, q, pretrain, finetune, start, start_iter, columns, seed)
    documents = Documents.of(problem, tasks, views, dtype)
    return fit_stack(
        documents,
        Divergence(coupling),
        plan,
        alpha=alpha,
        beta=beta,
        hidden=hidden,
        top1=top1,
        watch=watch,
    )
