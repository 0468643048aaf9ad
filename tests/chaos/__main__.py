"""Break things on purpose and print what happened: `make chaos`, or some scenarios by name.

    PYTHONPATH=tests python -m chaos [--times N] [NAME …]

Exit code 1 if a property did not hold.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from chaos import contracts, damage, fuzzing, reproducing, signals, soak
from transferbench import models

SCENARIOS = {
    "kills": reproducing.kills,
    "kills in writes": reproducing.kills_in_writes,
    "file size limit": reproducing.disk_full,
    "full disk": reproducing.small_disk,
    "full output": reproducing.full_output,
    "read-only results": reproducing.read_only,
    "two at once": reproducing.two_at_once,
    "clock": reproducing.clock,
    "signals": signals.signals,
    "soak": soak.soak,
    **{f"bits of {kind}": damage.bits(kind) for kind in damage.KINDS},
    "archives": damage.archives,
    **{f"fuzz {name}": fuzzing.scenario(name) for name in fuzzing.READERS},
    **{f"contract of {family}": contracts.scenario(family) for family in models.FAMILIES},
}


def main() -> int:
    """Print the table, a line as each scenario ends."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"or parts of names: {', '.join(SCENARIOS)}"
    )
    parser.add_argument("--times", type=int, help="kills, flips or inputs of each scenario")
    given = parser.parse_args()
    parts = [name for name in given.names if name not in SCENARIOS]
    chosen = [
        name
        for name in SCENARIOS
        if not given.names or name in given.names or any(part in name for part in parts)
    ]
    for number in (signal.SIGINT, signal.SIGHUP):  # ignored if this runs in the background
        signal.signal(number, signal.SIG_DFL)
    print("| scenario | what happened | seconds | holds |\n|---|---|---|---|", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        for name in chosen:
            start = time.monotonic()
            try:
                times = {"times": given.times} if given.times else {}
                holds, summary = SCENARIOS[name](Path(folder) / name.replace(" ", "-"), **times)
            except Exception as error:
                traceback.print_exc()
                holds, summary = False, f"{type(error).__name__}: {error}".splitlines()[0][:200]
            failed += not holds
            seconds = time.monotonic() - start
            print(
                f"| {name} | {summary} | {seconds:.0f} | {'yes' if holds else 'NO'} |", flush=True
            )
    return 1 if failed else 0


if __name__ == "__main__":  # child processes import this file, too
    sys.exit(main())
