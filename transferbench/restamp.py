"""Prove that a change of code moved no result, so that finished runs stay current.

    transferbench verify --base HEAD~1            (make restamp BASE=HEAD~1)

A run is current while its line has the fingerprint of the present code (`runs.policy`). A change of
code that moves no result, such as a new name, changes fingerprints, too. For each model whose code
differs from that of the commit BASE, this repeats some of its committed runs with both versions at
the same time, on this machine: its quickest run, and the quickest run with each trait that may take
another branch (see `traits`), so also with each value of each parameter. If data, measures,
decisions, objectives after each iteration, curves and diagnostics are equal to the last digit, the
present fingerprint is added to the ledger as equal to that of the lines. No line of a run is
changed: it keeps the code that made it. If anything differs, the model is named, and its runs stay
outdated.

A line holds all parameters of its run, also those at their defaults. So a new parameter would part
a model from its lines. Its default must be what the code did before. Then `verify --add-parameters`
adds it, at its default, to the lines. The proof repeats such a run by the earlier code without it.

The proof is as good as the runs that are repeated. Change no update rule and no order of sums in a
commit that is to be proved equal.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tqdm import tqdm

from transferbench import ledger, models, repeats
from transferbench.errors import Failure, UserError
from transferbench.files import write_text
from transferbench.messages import counted
from transferbench.runs import store
from transferbench.runs.record import Record
from transferbench.settings import Settings

#: Longest run to repeat, and longest time of its repetition, in seconds.
MAX_SECONDS, LIMIT = 30.0, 1800.0
#: What must be equal to the last digit, in the order in which a difference is named.
COMPARED = (
    *("unavailable", "error", "data", "measures", "decisions", "right", "trace"),
    *("diagnostics", "curve"),
)
#: Why nothing is known of a model whose code has changed.
NO_LINE = "no committed run has the code of this commit; name an earlier one, or make runs anew"


@dataclass(frozen=True)
class Proof:
    """The comparison of a model's runs by two versions of its code."""

    model: str
    base: str
    now: str
    #: `lines`, `compared`, `values`: Numbers of committed runs with the code `base`, of runs that
    #: were repeated, and of the values of parameters that these have.
    lines: int
    compared: int
    values: int
    #: Traits, among them values of parameters, whose quickest run takes too long.
    skipped: tuple[str, ...]
    #: The first difference; "" if there is none.
    difference: str
    #: True if all scores are equal to the last bit, too.
    same_scores: bool = True

    @property
    def in_ledger(self) -> dict[str, Any]:
        """What the ledger has of the proof."""
        skipped = {"skipped": self.skipped} if self.skipped else {}
        return {"code": self.base, "equal": self.now, "runs": self.compared} | skipped

    def __str__(self) -> str:
        scores = "equal" if self.same_scores else "equal, scores not to the last bit"
        what = f"NOT EQUAL: {self.difference}" if self.difference else scores
        on = f"{counted(self.compared, 'run')} with {counted(self.values, 'value')} of parameters"
        return f"{self.model}: {on} repeated: {what}"


def values(record: Record) -> set[str]:
    """Return the values of the parameters of a run as texts."""
    return {f"{name}={json.dumps(value)}" for name, value in record.params.items()}


def traits(record: Record) -> set[str]:
    """Return the traits of a run that may lead its model into another branch of the code."""
    # They are each value of a parameter, the dataset, each option in the name of the task, the
    # number of digits of the number of scored documents, a curve, and the number of scored domains.
    present = {f"curve={record.curve is not None}", f"domains={len(record.metrics)}"}
    name, _, options = record.task.partition(":")
    present.add(f"dataset={name.partition('/')[0]}")
    present |= {f"option={option.partition('=')[0]}" for option in options.split(",")}
    present.add(f"digits={len(str(max(record.documents.values(), default=0)))}")
    return present | values(record)


def variants(
    records: Iterable[Record], max_seconds: float, loaded: Container[str] = ()
) -> tuple[list[Record], list[str]]:
    """Return the runs of one model to repeat, and the traits that only longer runs have."""
    # A run on a task that is not loaded for others counts twice: to build a task may take minutes.
    return repeats.choose(records, traits, max_seconds, lambda r: 1 if r.task in loaded else 2)


def prove(
    records: Iterable[Record], trees: Sequence[Path], settings: Settings, max_seconds: float
) -> Iterator[Proof]:
    """Yield a proof for each model whose code differs between two versions of the package."""
    by_model: dict[str, list[Record]] = {}
    for record in records:
        if record.done and not record.model.endswith(".py"):
            by_model.setdefault(record.model, []).append(record)
    if not by_model:
        raise UserError("there are no committed runs; nothing can be repeated.")
    asked = {"codes": sorted(by_model)}
    codes = [next(repeats.fits(tree, [asked], settings, LIMIT)) for tree in trees]
    if error := next((code["error"] for code in codes if "error" in code), ""):
        raise UserError(f"the code of the models is not known: {error}.")
    was, is_now = (
        {model: ledger.first_equal(model, code) for model, code in found.items()} for found in codes
    )
    # A model that one version lacks cannot be compared.
    changed = [m for m in sorted(was.keys() & is_now) if was[m] != is_now[m]]
    lines = {m: [r for r in by_model[m] if r.equal_code == was[m]] for m in changed}
    chosen: dict[str, tuple[list[Record], list[str]]] = {}
    tasks: set[str] = set()
    for model in changed:
        chosen[model] = variants(lines[model], max_seconds, tasks)
        tasks.update(record.task for record in chosen[model][0])
        chosen[model][0].sort(key=lambda record: record.task)  # a task is loaded once
    questions = [repeats.question(r.run) for records, _ in chosen.values() for r in records]
    both = zip(*(repeats.fits(tree, questions, settings, LIMIT) for tree in trees), strict=True)
    answers = iter(tqdm(both, total=len(questions), leave=False, disable=None))
    for model, (runs, skipped) in chosen.items():
        without = "no run is quick enough" if lines[model] else NO_LINE
        difference, same_scores = "" if runs else without, True
        for record in runs:
            old, new = next(answers)
            difference = difference or _difference(record, old, new)
            same_scores &= old.get("scores") == new.get("scores")
        covered = set[str]().union(*map(values, runs))
        yield Proof(
            model, was[model], is_now[model], len(lines[model]), len(runs), len(covered),
            tuple(skipped), difference, same_scores,
        )  # fmt: skip


def add_parameters(*paths: Path) -> int:
    """Add the parameters that models have and lines lack, at their defaults, to files of runs."""
    # No file is written unless all lines of all files are runs.
    # Other lines stay as they are, and those of a model or with a parameter that is gone. So do
    # lines of models of other packages: their defaults change with their versions.
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
                now = repeats.defaults(record.model)
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
            return f"{name} of {record.run} ({', '.join(sorted(values(record)))}): {both}"
    failed = old.get("error") or old.get("unavailable")
    if not failed and old.keys() < {*COMPARED[2:]}:
        failed = "its answer lacks results"
    return f"{record.run}: {failed}" if failed else ""


def _shorten(value: Any, most: int = 120) -> str:
    """Return the end of a value as text, where a trace is most likely to differ."""
    text = json.dumps(value)
    return text if len(text) <= most else f"…{text[-most:]}"


@contextmanager
def checked_out(root: Path, commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary folder for the block."""
    # So nobody changes the code while it is compared.
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _git(root, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git(root, "worktree", "remove", "--force", str(tree))


def commit_of(root: Path, name: str) -> str:
    """Return the digits of a commit."""
    try:
        digits = _git(root, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    except UserError:
        remedy = "name another; a shallow clone gets more by git fetch --unshallow"
        raise UserError(f"{name}: no commit of this clone; {remedy}.") from None
    return digits[:12]


def committed_files(root: Path) -> list[str]:
    """Return the files of runs that git tracks, from the folder of the clone."""
    return _git(root, "ls-files", "-z", "results/*/runs.jsonl").rstrip("\0").split("\0")


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


def prove_equal(
    root: Path, base: str, settings: Settings, max_seconds: float, accept_skipped: bool
) -> Iterator[str]:
    """Compare the commit `base` with HEAD; yield lines for people, and add proofs to the ledger."""
    # Raise UserError if a commit or committed code is missing, and Failure if a model is not equal,
    # or not proved as its runs take too long.
    code = ("transferbench", "experiments", ":!transferbench/equal_code.jsonl")
    if uncommitted := _git(root, "status", "--porcelain", "--", *code):
        file = uncommitted.split()[-1]
        raise UserError(f"{file} is not committed; commit the change, then prove it equal.")
    commits = [commit_of(root, name) for name in (base, "HEAD")]
    records = [r for file in committed_files(root) for r in store.read(root / file).values()]
    proofs, equal = list[Proof](), list[Proof]()
    try:
        with checked_out(root, commits[0]) as old_tree, checked_out(root, commits[1]) as new_tree:
            for proof in prove(records, [old_tree, new_tree], settings, max_seconds):
                proofs.append(proof)
                yield f"{proof}"
                if proof.skipped:
                    remedy = "not proved without --accept-skipped or more --seconds"
                    yield f"  too slow to repeat, {remedy}: {', '.join(proof.skipped)}"
    finally:  # what is proved counts, also if the rest is interrupted
        equal = [p for p in proofs if not p.difference and (accept_skipped or not p.skipped)]
        if equal:
            line = {"base": commits[0], "commit": commits[1]}
            line["date"] = datetime.now(UTC).strftime("%Y-%m-%d")
            proved = {proof.model: proof.in_ledger for proof in equal}
            earlier = ledger.EQUAL_CODE.read_text(encoding="utf-8").rstrip("\n")
            lines = [*filter(None, [earlier]), json.dumps(line | {"models": proved})]
            write_text(ledger.EQUAL_CODE, "".join(f"{text}\n" for text in lines))
    current = sum(proof.lines for proof in equal)
    repeated, of_values = (sum(getattr(p, name) for p in proofs) for name in ("compared", "values"))
    left = len(proofs) - len(equal)
    yield (
        f"{counted(repeated, 'run')} with {counted(of_values, 'value')} of parameters, of "
        f"{counted(len(proofs), 'model')} with changed code, repeated by {' and '.join(commits)}: "
        f"{len(equal)} equal, so {current:,} runs stay current; {left} not proved"
    )
    if left:
        raise Failure(f"{counted(left, 'model')} not proved equal; their runs stay outdated.")
