"""The ledger of equal code: proofs that two versions of a model's code give equal results.

Each line of equal_code.jsonl is a proof by `verify --base`. It has the two commits, and for each
model the fingerprint of its lines, the equal fingerprint, and the number of runs that were
repeated by both. A test reads the fingerprints of these commits from their code.
"""

import json
import re
from functools import cache
from pathlib import Path

from transferbench.errors import UserError

EQUAL_CODE = Path(__file__).with_name("equal_code.jsonl")
COMMIT = re.compile("[0-9a-f]{12}")


def first_equal(model: str, code: str) -> str:
    """Return the fingerprint that stands for all code of a model that was proved equal to this."""
    return _equal_code().get((model, code), code)


@cache
def _equal_code() -> dict[tuple[str, str], str]:
    """Return the first of equal fingerprints by model and fingerprint."""
    # A proof says that two are equal, so the order of the lines does not matter but for which of
    # them is the first: branches may be merged.
    parents: dict[tuple[str, str], str] = {}

    def root(model: str, code: str) -> str:
        while (model, code) in parents:
            code = parents[model, code]
        return code

    for number, line in enumerate(EQUAL_CODE.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            proof = json.loads(line)
            if not all(COMMIT.fullmatch(proof[name]) for name in ("base", "commit")):
                raise ValueError("no commits")
            for model, proved in proof["models"].items():
                if proved["runs"] < 1:
                    raise ValueError("no run was repeated")
                first, equal = root(model, proved["code"]), root(model, proved["equal"])
                if first != equal:
                    parents[model, equal] = first
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = "restore it by git checkout, or remove the line"
            why = f"{type(error).__name__}: {error}"
            raise UserError(f"{EQUAL_CODE}:{number}: not a proof ({why}); {remedy}.") from None
    return {(model, code): root(model, code) for model, code in parents}
