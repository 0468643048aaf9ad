"""Load every file of experiments/: `python tests/experiment_files.py`, in `make check`.

Print the file and the line of each fault. No data are needed.
"""

from __future__ import annotations

import sys

from transferbench import experiments
from transferbench.errors import UserError

if __name__ == "__main__":
    faults = []
    for name in experiments.names():
        try:
            experiments.load(name)
        except UserError as error:
            faults.append(str(error))
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    sys.exit(bool(faults))
