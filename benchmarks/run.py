"""Run the benchmarks of suite/ with this Python: `make bench`.

    python benchmarks/run.py [--machine NAME] [options of `asv run`, such as --bench iteration]

Results of this commit are written to results/NAME/, by default `local`, which git ignores. Those
that are committed are of the machine `reference`. They have no paths, so that the name of the
environment is the same everywhere, and `asv show`, `compare` and `publish` find one history.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from asv import machine
from asv.main import main

HERE = Path(__file__).parent
LIBRARIES = ("numpy", "scipy", "scikit-learn")


def asv(*arguments: str) -> None:
    """Run a command of asv in this process."""
    sys.argv = ["asv", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def without_paths(file: Path) -> None:
    """Write the results of a file to one whose name and content have no paths."""
    results = json.loads(file.read_text(encoding="utf-8"))
    python = ".".join(platform.python_version_tuple()[:2])
    results |= {"env_name": "existing", "python": python}
    results["params"]["python"] = python
    results["requirements"] = {name: version(name) for name in LIBRARIES}
    file.unlink()
    name = f"{results['commit_hash'][:8]}-existing.json"
    file.with_name(name).write_text(json.dumps(results) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--machine", default="local", help="name in results/")
    given, others = parser.parse_known_args()
    os.chdir(HERE)
    own = HERE / ".asv" / "machines.json"  # in place of a file in the user's home folder
    own.parent.mkdir(exist_ok=True)
    machine.MachineCollection.get_machine_file_path = staticmethod(lambda: str(own))
    described = machine.Machine.get_defaults() | {"machine": given.machine, "os": platform.system()}
    machine.MachineCollection.save(given.machine, described)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = ["--environment", f"existing:{sys.executable}"]
    try:
        asv("run", *environment, "--machine", given.machine, "--set-commit-hash", head, *others)
    finally:
        for file in (HERE / "results" / given.machine).glob("*-existing-*.json"):
            without_paths(file)
