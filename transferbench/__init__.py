"""transferbench: nonnegative matrix tri-factorisation, from raw corpora to published tables.

problem, truth = transferbench.load_task("comp-vs-rec")
fit = transferbench.fit("gcmf", problem, seed=0, k=64)
transferbench.evaluate(fit, truth)
"""

from typing import TYPE_CHECKING, Any

__version__ = "3.0.0"
__all__ = [
    "Domain", "Fit", "Problem", "Truth", "check_model", "compare", "estimate_shares", "evaluate",
    "fit", "load_task", "results",
]  # fmt: skip

if TYPE_CHECKING:
    from transferbench.api import evaluate, fit, load_task, results
    from transferbench.contract import check_model
    from transferbench.core.priors import estimate_shares
    from transferbench.own.api import compare
    from transferbench.problem import Domain, Fit, Problem, Truth


if not TYPE_CHECKING:  # a type checker reports a name that is not among them

    def __getattr__(name: str) -> Any:
        """Import public names on first use, so that importing the package is fast."""
        if name not in __all__:
            raise AttributeError(f"module 'transferbench' has no attribute {name!r}")
        import importlib

        elsewhere = {
            "check_model": "contract", "compare": "own.api", "estimate_shares": "core.priors"
        }  # fmt: skip
        module = elsewhere.get(name, "problem" if name[0].isupper() else "api")
        return getattr(importlib.import_module(f"transferbench.{module}"), name)


def __dir__() -> list[str]:
    """Return the public names alone, for completion."""
    return __all__
