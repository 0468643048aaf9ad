"""HiMLS: hierarchical multi-latent space learning (Yang, Davulcu, Zhu and He), least squares.

    min  Σ_i Σ_j ‖X_ij − R_i M_ij C_jᵀ‖² + α Σ_i ‖Y_i − R_iˢ M_iY C_Yᵀ‖² + β Σ_i Σ_j ‖M_ij − M_iY‖²
    s.t. R_i = R_i¹ ⋯ R_iᴸ,  C_j = C_j¹ ⋯ C_jᴸ,  all factors ≥ 0

X_ij (n_i, d_j) documents × features of task i and view j; Y_i (s_i, m) labels of its seen
documents; R_iˡ (p_{l−1}, p_l) their clusters, shared by the views, R_iˢ the rows of seen documents;
C_jˡ (q_{l−1}, q_l) clusters of features, shared by the tasks, and C_Yˡ of labels; M (p_L, q_L) how
they go together. Labels are predicted by the mean over layers of R_i¹⋯R_iˡ M_iYˡ (C_Y¹⋯C_Yˡ)ᵀ and
read at 0.5. Eqs. 3–5 and 10–21, Algorithm 1: layers are trained one by one, then all together.

One layer is the paper's MLS; with `views` joined side by side its MLS-T, with `tasks` joined its
MLS-V, with both MLS-S.

Departures from the paper:
- Eq. 16 for l ≥ 2 is over all rows, unseen ones too, as they share R_iˡ and the objective demands.
- A single layer is not fine-tuned: that would be the same updates again.
- Columns of C start at length one, so that β means the same for every view; the paper says nothing.
- M starts with a ridge, as the inverses of step 3 need not exist, and positive.
- PLSA reads weights as counts. How the paper tunes α and β beyond "cross-validation" it does not
  say; here several values are tried once, on a hidden share of the seen labels.

α = 1 lets seen documents learn their labels by heart, as their R is free; the F1 of unseen ones,
read at 0.5, hardly changes from α = .01 on (`himls-figure2a`). The coupling has no scale: in
thousands of sweeps M shrinks and R grows, which makes it vanish at no cost, so that the factors do
not come to rest.
"""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Gt, Lt

from transferbench.core.losses import Squares
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
        documents, Squares(), plan, alpha=alpha, beta=beta, hidden=hidden, top1=top1, watch=watch
    )
