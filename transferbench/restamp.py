"""Prove that a change of code moved no result, so that finished runs stay current.

    python -m transferbench.restamp HEAD~1        (make restamp BASE=HEAD~1)

A run is current while its line has the fingerprint of the present code (`runs.policy`). A change of
code that moves no result, such as a new name, changes fingerprints, too. For each model whose code
differs from that of the commit BASE, this repeats some of its committed runs with both versions at
the same time, on this machine: its quickest run, and the quickest run with each value of each
parameter that may take another branch (see `variants`). If data, measures, decisions, objectives
after each iteration, curves and diagnostics are equal to the last digit, the present fingerprint is
added to equal_code.jsonl as equal to that of the lines. No line of a run is changed: it keeps the
code that made it. If anything differs, the model is named, and its runs stay outdated.

The proof is as good as the runs that are repeated. Change no update rule and no order of sums in a
commit that is to be proved equal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from transferbench import fingerprint, settings
from transferbench.errors import UserError
from transferbench.messages import counted
from transferbench.runs.record import Record
from transferbench.runs.store import Store

#: Longest run to repeat, in seconds.
MAX_SECONDS = 30.0
#: What must be equal to the last digit, in the order in which a difference is named.
COMPARED = ("error", "data", "measures", "decisions", "trace", "diagnostics", "curve")


@dataclass(frozen=True)
class Proof:
    """The comparison of a model's runs by two versions of its code.

    Parameters
    ----------
    model
        Name of the model.
    base, now
        Fingerprints of both versions.
    lines
        Number of committed runs with the code `base`.
    compared
        Number of runs that were repeated.
    skipped
        Values of parameters whose quickest run takes too long.
    difference
        What differs, "" if nothing does.
    same_scores
        True if all scores are equal to the last bit, too.
    """

    model: str
    base: str
    now: str
    lines: int
    compared: int
    skipped: tuple[str, ...]
    difference: str
    same_scores: bool = True


def traits(record: Record, extremes: Mapping[str, tuple[float, ...]]) -> set[str]:
    """Return the traits of a run that may lead its model into another branch of the code.

    They are each text, Boolean, list or missing value of a parameter, the smallest and the largest
    number of a parameter, a curve, and the number of scored domains.

    Parameters
    ----------
    record
        The run.
    extremes
        Smallest and largest number of each numeric parameter of the model.
    """
    present = {f"curve={record.curve is not None}", f"domains={len(record.metrics)}"}
    for name, value in record.params.items():
        if not _is_number(value) or value in extremes[name]:
            present.add(f"{name}={json.dumps(value)}")
    return present


def variants(records: Iterable[Record], max_seconds: float) -> tuple[list[Record], list[str]]:
    """Return the runs of one model to repeat, and the traits that only longer runs have.

    From the quickest run on, a run is repeated if it has a trait that no quicker run has.

    Parameters
    ----------
    records
        The runs of the model.
    max_seconds
        Longest run to repeat.
    """
    known = sorted((r for r in records if r.seconds), key=lambda record: record.seconds or 0)
    numbers: dict[str, list[float]] = {}
    for record in known:
        for name, value in record.params.items():
            if _is_number(value):
                numbers.setdefault(name, []).append(value)
    extremes = {name: (min(values), max(values)) for name, values in numbers.items()}
    chosen, covered, skipped = [], set[str](), dict[str, None]()
    for record in known:
        new = traits(record, extremes) - covered
        if new and (record.seconds or 0) <= max_seconds:
            chosen.append(record)
            covered |= new
        elif new:
            skipped |= dict.fromkeys(sorted(new))
    return chosen, [trait for trait in skipped if trait not in covered]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Fits:
    """A process that repeats fits by one version of the package."""

    def __init__(self, tree: Path, data: Path) -> None:
        environment = os.environ | {
            "PYTHONPATH": str(tree),
            "PYTHONSAFEPATH": "1",
            "TRANSFERBENCH_DATA": str(data),
            "OMP_NUM_THREADS": "1",
        }
        script = Path(__file__).with_name("repeat_fits.py")
        self._process = subprocess.Popen(
            [sys.executable, script], cwd=tree, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, question: Mapping[str, Any]) -> None:
        """Send a line; see `repeat_fits`."""
        assert self._process.stdin
        self._process.stdin.write(f"{json.dumps(question)}\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Return the answer to the last line.

        Raises
        ------
        UserError
            If the process has ended.
        """
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise UserError("a process that repeats fits has ended; its messages are above.")
        answered: dict[str, Any] = json.loads(line)
        return answered

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def prove(
    records: Iterable[Record], before: Fits, now: Fits, max_seconds: float = MAX_SECONDS
) -> Iterator[Proof]:
    """Yield a proof for each model whose code differs between two versions of the package.

    Parameters
    ----------
    records
        Committed runs; those of code that differs from both are left out.
    before, now
        The two versions.
    max_seconds
        Longest run to repeat.
    """
    by_model: dict[str, list[Record]] = {}
    for record in records:
        if record.done and not record.model.endswith(".py"):
            by_model.setdefault(record.model, []).append(record)
    was, is_now = _both(before, now, {"codes": sorted(by_model)})
    for code in (was, is_now):
        if "error" in code:
            raise UserError(f"the code of the models is not known: {code['error']}.")
    was = {model: fingerprint.first_equal(model, code) for model, code in was.items()}
    # A model that one version lacks cannot be compared.
    changed = {model: was[model] for model in was.keys() & is_now if was[model] != is_now[model]}
    chosen = {
        model: variants((r for r in by_model[model] if r.equal_code == code), max_seconds)
        for model, code in changed.items()
    }
    bar = tqdm(total=sum(len(runs) for runs, _ in chosen.values()), leave=False, disable=None)
    with bar:
        for model, (runs, skipped) in sorted(chosen.items()):
            difference, same_scores = "" if runs else "no run to repeat", True
            for record in sorted(runs, key=lambda record: record.task):  # a task is loaded once
                bar.set_description(model)
                old, new = _both(before, now, _question(record))
                difference = difference or _difference(record, old, new)
                same_scores &= old.get("scores") == new.get("scores")
                bar.update()
            lines = sum(record.equal_code == changed[model] for record in by_model[model])
            codes = changed[model], is_now[model]
            yield Proof(model, *codes, lines, len(runs), tuple(skipped), difference, same_scores)


def _both(before: Fits, now: Fits, question: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return both answers; both processes work at the same time."""
    before.ask(question)
    now.ask(question)
    return before.answer(), now.answer()


def _question(record: Record) -> dict[str, Any]:
    """Return the line that asks for the fit of a record."""
    names = ("task", "model", "params", "seed")
    return {name: getattr(record, name) for name in names} | {"curve": record.curve is not None}


def _difference(record: Record, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return a sentence on the first difference between two fits of a run, "" if there is none."""
    for name in COMPARED:
        if old.get(name) != new.get(name):
            both = f"{_shorten(old.get(name))} before, {_shorten(new.get(name))} now"
            return f"{name} of {record.run} ({_changed(record)}): {both}"
    return f"{record.run}: {old['error']}" if "error" in old else ""


def _changed(record: Record) -> str:
    """Return the parameters of a run as text."""
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in record.params.items())


def _shorten(value: Any, most: int = 120) -> str:
    """Return the end of a value as text, where a trace is most likely to differ."""
    text = json.dumps(value)
    return text if len(text) <= most else f"…{text[-most:]}"


@contextmanager
def version(root: Path, commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder for the block.

    Raises
    ------
    UserError
        For an unknown commit, and if the checkout has uncommitted changes of code: a proof compares
        two commits.
    """
    changed = _git(root, "status", "--porcelain", "--", "transferbench", "experiments")
    if changed := changed.replace(" M transferbench/equal_code.jsonl", "").strip():
        raise UserError(
            f"{changed.split()[-1]} is not committed; commit the change, then prove it."
        )
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "base"
        _git(root, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git(root, "worktree", "remove", "--force", str(tree))


def _git(root: Path, *arguments: str) -> str:
    try:
        return subprocess.run(
            ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
        ).stdout.rstrip("\n")
    except FileNotFoundError:
        raise UserError("git is not installed; a proof compares two commits.") from None
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip().splitlines()[-1]
        raise UserError(f"git {arguments[0]}: {why}; expected a commit of a clone.") from None


def line(proofs: Sequence[Proof], base: str, commit: str) -> str:
    """Return the line of equal_code.jsonl for the models that were proved equal.

    If the present code was proved equal to other code before, the code of `base` joins that.
    """
    models = {}
    for proof in proofs:
        if not proof.difference:
            first, equal = proof.base, proof.now
            if fingerprint.is_first(proof.model, proof.now):
                first, equal = equal, first
            models[proof.model] = {"code": first, "equal": equal, "runs": proof.compared}
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return json.dumps({"base": base, "commit": commit, "date": date, "models": models})


@click.command()
@click.argument("base")
@click.option("--seconds", default=MAX_SECONDS, show_default=True, help="Longest run to repeat.")
def main(base: str, seconds: float) -> None:
    """Prove that the models' code gives the same results as that of the commit BASE."""
    root, here = settings.checkout(), settings.load()
    if root is None:
        raise click.UsageError("run it in a clone: a proof compares two commits.")
    try:
        with version(root, base) as tree:
            commits = [_git(root, "rev-parse", "--short=12", name) for name in (base, "HEAD")]
            records = [
                r for of_file in Store(here.results).files.values() for r in of_file.values()
            ]
            data = here.data.absolute()
            with closing(Fits(tree, data)) as before, closing(Fits(root, data)) as now:
                proofs = list(_report(prove(records, before, now, seconds)))
    except UserError as error:
        raise click.ClickException(str(error)) from None
    if equal := [proof for proof in proofs if not proof.difference]:
        with fingerprint.EQUAL_CODE.open("a", encoding="utf-8") as file:
            file.write(f"{line(proofs, *commits)}\n")
    lines = sum(proof.lines for proof in equal)
    repeated = sum(proof.compared for proof in proofs)
    click.echo(
        f"{counted(repeated, 'run')} of {counted(len(proofs), 'model')} with changed code repeated "
        f"by {' and '.join(commits)}: {len(equal)} equal, so {lines:,} runs stay current; "
        f"{len(proofs) - len(equal)} not equal"
    )
    if len(equal) < len(proofs):
        sys.exit(1)


def _report(proofs: Iterable[Proof]) -> Iterator[Proof]:
    """Print each proof, and yield it."""
    for proof in proofs:
        scores = "equal" if proof.same_scores else "equal, scores not to the last bit"
        what = f"NOT EQUAL: {proof.difference}" if proof.difference else scores
        click.echo(f"{proof.model}: {counted(proof.compared, 'run')} repeated: {what}")
        if proof.skipped:
            click.echo(f"  not repeated, as too slow (--seconds): {', '.join(proof.skipped)}")
        yield proof


if __name__ == "__main__":
    main()
