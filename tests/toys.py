"""A dataset and models for tests of running: one that is good, and the ways to go wrong."""

from __future__ import annotations

from pathlib import Path

#: Files of a package, for the fixture `plugin`.
FILES = {
    "own.py": """
        import os, time
        from pathlib import Path
        from conftest import make_problem
        from transferbench.errors import Unavailable
        FILES = {}
        TASKS = {
            "own/small": "made up",
            "own/lost": "not to be had",
            "own/waits": "there as soon as two runs are recorded",
        }
        FACTS = {}
        def build(task, files):
            if task == "own/lost":
                raise Unavailable("own/lost: not to be had; bring it.")
            results = Path(os.environ["RUN_LOG"]).with_name("results")
            deadline = time.monotonic() + 20
            while task == "own/waits" and len(list(results.glob("records/*/*.json"))) < 2:
                assert time.monotonic() < deadline, "what has ended was not written"
                time.sleep(0.1)
            return make_problem()
    """,
    "good.py": """
        import os, time
        from transferbench.problem import Fit
        def fit(problem, *, pause: float = 0.0, seed: int, watch=None):
            with open(os.environ["RUN_LOG"], "a") as log:
                log.write(f"{seed} {os.getpid()}\\n")
            time.sleep(pause)
            return Fit(tuple(d.Y + 0.5 for d in problem.domains))
    """,
    "raises.py": """
        def fit(problem, *, watch=None):
            raise ZeroDivisionError("by the model")
    """,
    "sleeps.py": """
        import time
        def fit(problem, *, watch=None):
            time.sleep(600)
    """,
    "dies.py": """
        import os
        def fit(problem, *, watch=None):
            os.kill(os.getpid(), 9)
    """,
}


def points(files: dict[str, str]) -> str:
    """The entry points of a package of these files, of which own.py is the dataset."""
    models = "".join(
        f"{name} = plugged.{name}\n"
        for name in (file.removesuffix(".py") for file in files)
        if name != "own"
    )
    return f"[transferbench.datasets]\nown = plugged.own\n[transferbench.models.transfer]\n{models}"


class Log:
    """What runs of the model `good` note when they begin; use it before they do."""

    def __init__(self, path: Path, monkeypatch) -> None:
        self.path = path
        monkeypatch.setenv("RUN_LOG", str(path))

    def begun(self) -> list[tuple[int, int]]:
        """Seed and process of every run so far."""
        if not self.path.is_file():
            return []
        return [tuple(map(int, line.split())) for line in self.path.read_text().splitlines()]

    def seeds(self) -> list[int]:
        """Seeds of the runs so far, as they began."""
        return [seed for seed, _ in self.begun()]


def worker_of(pid: int) -> int:
    """The worker of dask that a run's process belongs to, by way of warm process and server."""
    for _ in range(3):
        stat = Path(f"/proc/{pid}/stat").read_text()
        pid = int(stat.rpartition(")")[2].split()[1])
    return pid
