"""A dataset and models for tests of the runner: a good one, and one for each way to fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import transferbench

#: Files of a plug-in package, for the fixture `plugin`.
FILES = {
    "own.py": """
        from conftest import make_problem
        from transferbench.errors import Unavailable
        FILES = {}
        TASKS = {
            "own/small": "made up",
            "own/lost": "unavailable",
        }
        FACTS = {}
        def build(task, files):
            if task == "own/lost":
                raise Unavailable("own/lost: unavailable; bring it.")
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
    """Entry points of a package with these files; own.py is the dataset."""
    models = "".join(
        f"{name} = plugged.{name}\n"
        for name in (file.removesuffix(".py") for file in files)
        if name != "own"
    )
    return f"[transferbench.datasets]\nown = plugged.own\n[transferbench.models.transfer]\n{models}"


class Shell:
    """Runs commands in processes of their own, with the files of a plug-in package installed."""

    def __init__(self, plugin, files: dict[str, str], home, tmp_path: Path, monkeypatch) -> None:
        site = plugin(files, points(files))
        paths = [site, Path(__file__).parent, Path(transferbench.__file__).parents[1]]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
        self.folder = tmp_path / "caller"  # not the one of workers
        self.folder.mkdir()
        self.data, self.results = home.data, home.results
        self.log = Log(tmp_path / "log", monkeypatch)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "transferbench", "--offline", "--data", str(self.data)]
        program += ["--results", str(self.results), *arguments]
        return subprocess.Popen(
            program, cwd=self.folder, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err


class Log:
    """The log that runs of the model `good` write when they start; create it before them."""

    def __init__(self, path: Path, monkeypatch) -> None:
        self.path = path
        monkeypatch.setenv("RUN_LOG", str(path))

    def started(self) -> list[tuple[int, int]]:
        """Seed and process of each run that started, in this order."""
        if not self.path.is_file():
            return []
        return [tuple(map(int, line.split())) for line in self.path.read_text().splitlines()]

    def seeds(self) -> list[int]:
        """Seeds of the runs that started, in this order."""
        return [seed for seed, _ in self.started()]
