"""Prove that a change of code moved no result, so that finished runs stay current.

    python -m transferbench.restamp HEAD~1        (make restamp BASE=HEAD~1)

A run is current while its line has the fingerprint of the present code (`runs.policy`). A change of
code that moves no result, such as a new name, changes fingerprints, too. For each model whose code
differs from that of the commit BASE, this repeats some of its committed runs with both versions at
the same time, on this machine: its quickest run, and the quickest run with each trait that may take
another branch (see `traits`). If data, measures, decisions, objectives
after each iteration, curves and diagnostics are equal to the last digit, the present fingerprint is
added to equal_code.jsonl as equal to that of the lines. No line of a run is changed: it keeps the
code that made it. If anything differs, the model is named, and its runs stay outdated.

A line holds all parameters of its run, also those at their defaults. So a new parameter would part
a model from its lines. Its default must be what the code did before. Then

    python -m transferbench.restamp --add-parameters

adds it, at its default, to the lines. The proof repeats such a run by the earlier code without it.

The proof is as good as the runs that are repeated. Change no update rule and no order of sums in a
commit that is to be proved equal.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from transferbench import fingerprint, models, parameters, settings
from transferbench.errors import UserError
from transferbench.files import write_text
from transferbench.messages import counted
from transferbench.runs import store
from transferbench.runs.record import Record

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
    number of a parameter, the dataset, the number of digits of the number of scored documents, a
    curve, and the number of scored domains.

    Parameters
    ----------
    record
        The run.
    extremes
        Smallest and largest number of each numeric parameter of the model.
    """
    present = {f"curve={record.curve is not None}", f"domains={len(record.metrics)}"}
    present.add(f"dataset={record.task.partition('/')[0]}")
    present.add(f"digits={len(str(max(record.documents.values(), default=0)))}")
    for name, value in record.params.items():
        if not _is_number(value) or value in extremes[name]:
            present.add(f"{name}={json.dumps(value)}")
    return present


def variants(
    records: Iterable[Record], max_seconds: float, loaded: Container[str] = ()
) -> tuple[list[Record], list[str]]:
    """Return the runs of one model to repeat, and the traits that only longer runs have.

    From the quickest run on, a run is repeated if it has a trait that no quicker run has. A run of
    a task that others need, too, may take twice as long: to build a task may take minutes.

    Parameters
    ----------
    records
        The runs of the model.
    max_seconds
        Longest run to repeat.
    loaded
        Tasks that runs of other models need.
    """

    def cost(record: Record) -> float:
        return (record.seconds or math.inf) * (1 if record.task in loaded else 2)

    # A run without a time was made elsewhere, such as on a GPU: it is not repeated.
    known = sorted(records, key=cost)
    numbers: dict[str, list[float]] = {}
    for record in known:
        for name, value in record.params.items():
            if _is_number(value):
                numbers.setdefault(name, []).append(value)
    extremes = {name: (min(values), max(values)) for name, values in numbers.items()}
    chosen, covered, skipped = [], set[str](), dict[str, None]()
    for record in known:
        new = traits(record, extremes) - covered
        if new and record.seconds and record.seconds <= max_seconds:
            chosen.append(record)
            covered |= new
        elif new:
            skipped |= dict.fromkeys(new)
    return chosen, sorted(skipped.keys() - covered)


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

    Raises
    ------
    UserError
        If there are no records.
    """
    by_model: dict[str, list[Record]] = {}
    for record in records:
        if record.done and not record.model.endswith(".py"):
            by_model.setdefault(record.model, []).append(record)
    if not by_model:
        raise UserError("there are no committed runs; nothing can be repeated.")
    was, is_now = _both(before, now, {"codes": sorted(by_model)})
    for code in (was, is_now):
        if "error" in code:
            raise UserError(f"the code of the models is not known: {code['error']}.")
    was, is_now = (
        {model: fingerprint.first_equal(model, code) for model, code in codes.items()}
        for codes in (was, is_now)
    )
    # A model that one version lacks cannot be compared.
    changed = {model: was[model] for model in was.keys() & is_now if was[model] != is_now[model]}
    chosen: dict[str, tuple[list[Record], list[str]]] = {}
    tasks: set[str] = set()
    for model, code in sorted(changed.items()):
        of_code = [record for record in by_model[model] if record.equal_code == code]
        if not of_code:  # no line depends on this proof
            continue
        chosen[model] = variants(of_code, max_seconds, tasks)
        tasks.update(record.task for record in chosen[model][0])
    bar = tqdm(total=sum(len(runs) for runs, _ in chosen.values()), leave=False, disable=None)
    with bar:
        for model, (runs, skipped) in chosen.items():
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
    asked = {name: getattr(record, name) for name in names}
    return asked | {"curve": record.curve is not None, "defaults": defaults(record.model)}


def defaults(model: str) -> dict[str, parameters.Value]:
    """Return the default of each parameter of a model."""
    schema = parameters.schema(models.load(model))
    return {name: parameter.default for name, parameter in schema.items()}


def add_parameters(*paths: Path) -> int:
    """Add the parameters that models have and lines lack, at their defaults, to files of runs.

    No file is written unless all lines of all files are runs.

    Other lines stay as they are, and those of a model or with a parameter that is gone. So do lines
    of models of other packages: their defaults change with their versions.

    Returns
    -------
    int
        Number of changed lines.
    """
    texts, changed = dict[Path, str](), 0
    for path in paths:
        lines, before = path.read_text(encoding="utf-8").splitlines(keepends=True), changed
        for i, text in enumerate(lines):
            try:
                record = Record.from_line(text.rstrip("\n"))
            except ValueError:
                raise UserError(f"{path}:{i + 1}: not a run; `reproduce` makes it again.") from None
            if models.is_external(record.model):
                continue
            try:
                now = defaults(record.model)
            except UserError:
                continue
            if record.params.keys() < now.keys():
                lines[i] = f"{replace(record, params=now | dict(record.params)).line}\n"
                changed += 1
        if changed > before:
            texts[path] = "".join(lines)
    for path, text in texts.items():
        write_text(path, text)
    return changed


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
def checked_out(root: Path, commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder for the block.

    So nobody changes the code while it is compared.
    """
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _git(root, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git(root, "worktree", "remove", "--force", str(tree))


def commit_of(root: Path, name: str) -> str:
    """Return the digits of a commit.

    Raises
    ------
    UserError
        For an unknown commit.
    """
    try:
        digits = _git(root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    except UserError:
        remedy = "name another; a shallow clone gets more by git fetch --unshallow"
        raise UserError(f"{name}: no commit of this clone; {remedy}.") from None
    return digits[:12]


def check_committed(root: Path) -> None:
    """Check that no code has uncommitted changes: a proof compares two commits.

    Raises
    ------
    UserError
        If a file has.
    """
    code = ("transferbench", "experiments", ":!transferbench/equal_code.jsonl")
    if changed := _git(root, "status", "--porcelain", "--", *code):
        file = changed.split()[-1]
        raise UserError(f"{file} is not committed; commit the change, then prove it equal.")


def committed_runs(root: Path) -> list[Record]:
    """Return the records of the files of runs that git tracks."""
    files = committed_files(root)
    return [record for file in files for record in store.read(root / file).values()]


def committed_files(root: Path) -> list[str]:
    """Return the files of runs that git tracks, from the folder of the clone."""
    return _git(root, "ls-files", "results/*/runs.jsonl").splitlines()


def _git(root: Path, *arguments: str) -> str:
    try:
        return subprocess.run(
            ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
        ).stdout.rstrip("\n")
    except FileNotFoundError:
        raise UserError("git is not installed; a proof compares two commits.") from None
    except subprocess.CalledProcessError as error:
        why = (error.stderr.strip().splitlines() or ["failed"])[-1]
        raise UserError(f"git {arguments[0]}: {why}.") from None


def line(proofs: Sequence[Proof], base: str, commit: str) -> str:
    """Return the line of equal_code.jsonl for models that were proved equal."""
    models: dict[str, dict[str, Any]] = {}
    for proof in proofs:
        models[proof.model] = {"code": proof.base, "equal": proof.now, "runs": proof.compared}
        if proof.skipped:
            models[proof.model]["skipped"] = proof.skipped
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return json.dumps({"base": base, "commit": commit, "date": date, "models": models})


@click.command()
@click.argument("base", required=False)
@click.option("--seconds", default=MAX_SECONDS, show_default=True, help="Longest run to repeat.")
@click.option(
    "--accept-skipped", is_flag=True,
    help="Accept a model with a parameter's value whose runs all take longer than --seconds.",
)  # fmt: skip
@click.option(
    "--add-parameters", "adds", is_flag=True,
    help="Prove nothing: add new parameters, at their defaults, to the committed runs.",
)  # fmt: skip
def main(base: str | None, seconds: float, accept_skipped: bool, adds: bool) -> None:
    """Prove that the models' code gives the same results as that of the commit BASE.

    What is proved equal is added to equal_code.jsonl. The exit code is 1 if a model is not equal,
    or not proved as its runs take too long.
    """
    root, data = settings.checkout(), settings.load().data.absolute()
    try:
        if root is None:
            raise UserError("run it in a clone: a proof compares two commits.")
        if (base is None) != adds:
            raise UserError(
                "expected either BASE, the commit to compare with, or --add-parameters."
            )
        if base is None:
            changed = add_parameters(*(root / file for file in committed_files(root)))
            click.echo(f"{counted(changed, 'line')} got a parameter at its default")
            return
        check_committed(root)
        commits = [commit_of(root, name) for name in (base, "HEAD")]
        records = committed_runs(root)
        with (
            checked_out(root, commits[0]) as old_tree,
            checked_out(root, commits[1]) as new_tree,
            closing(Fits(old_tree, data)) as before,
            closing(Fits(new_tree, data)) as now,
        ):
            proofs = list(_report(prove(records, before, now, seconds)))
        equal = [p for p in proofs if not p.difference and (accept_skipped or not p.skipped)]
        if equal:
            earlier = fingerprint.EQUAL_CODE.read_text(encoding="utf-8").rstrip("\n")
            lines = [*([earlier] if earlier else []), line(equal, *commits)]
            write_text(fingerprint.EQUAL_CODE, "".join(f"{text}\n" for text in lines))
    except UserError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    current = sum(proof.lines for proof in equal)
    repeated = sum(proof.compared for proof in proofs)
    click.echo(
        f"{counted(repeated, 'run')} of {counted(len(proofs), 'model')} with changed code repeated "
        f"by {' and '.join(commits)}: {len(equal)} equal, so {current:,} runs stay current; "
        f"{len(proofs) - len(equal)} not proved"
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
            remedy = "not proved without --accept-skipped or more --seconds"
            click.echo(f"  too slow to repeat, {remedy}: {', '.join(proof.skipped)}")
        yield proof


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # worktrees are removed
    main()
