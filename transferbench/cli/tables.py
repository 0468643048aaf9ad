"""transferbench tables."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

import click

from transferbench.cli._options import several_experiments
from transferbench.cli._results import locate, repeats_option, with_runs
from transferbench.cli._terminal import echo
from transferbench.messages import counted
from transferbench.settings import Settings


@click.command()
@several_experiments
@click.option(
    "--check", is_flag=True,
    help="Write nothing; fail if a table does not match its runs, or if data or code have changed.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["markdown", "csv", "latex"]),
    help="Write nothing; print the table of one experiment. – marks a cell that is not finished.",
)  # fmt: skip
@click.option(
    "--cells", "shown", type=click.Choice(["ours", "both"]),
    help="Content of a cell of --format latex. ours: our mean and deviation. both: also the "
    "published value and the verdict.  [default: both]",
)  # fmt: skip
@repeats_option
@click.pass_obj
def command(
    settings: Settings,
    /,
    names: tuple[str, ...],
    check: bool,
    form: str | None,
    shown: str | None,
    repeats: int | None,
) -> int:
    """Write tables and figures from their runs.

    Without names, the command writes those of all experiments that have runs. --format latex prints
    a tabular for the packages booktabs and amssymb.
    """
    from transferbench import experiments
    from transferbench.errors import SeveralErrors, UserError
    from transferbench.evidence import pages
    from transferbench.evidence.frame import ReadCells, no_runs
    from transferbench.runs import policy, store

    if shown and form != "latex":
        raise UserError("--cells is for --format latex; give both, or leave out --cells.")
    if form:
        if len(names) != 1 or check:
            got = "--check" if check else len(names)
            raise UserError(f"--format prints one experiment; expected one name, got {got}.")
        settings = locate(settings, names[0], repeats)
        file = experiments.load(names[0], settings.results)
        results = settings.with_runs(file.name)
        records = store.read(results / file.name / store.NAME)
        evidence = pages.Evidence.from_records(file, records, results)
        echo(evidence.main_text(form, ours_only=shown == "ours").rstrip("\n"))
        for sentence in [*evidence.outdated, *policy.outdated(file.added_runs, records, settings)]:
            echo(f"warning: {file.name}: {sentence}.", err=True)
        return 0
    everything = not (names or repeats) and (settings.results / pages.STATISTICS).is_dir()
    found = with_runs(settings, names, repeats) + [(settings, pages.STATISTICS)] * everything
    if not found:
        raise no_runs(settings.results)
    use = pages.changed_files if check else pages.write_files
    known: dict[str, pages.Evidence] = {}
    of_folder = cache(ReadCells)
    changed: list[Path] = []
    outdated = 0
    errors: list[UserError] = []

    def report(paths: list[Path]) -> None:
        if check:
            changed.extend(paths)
        else:
            echo("\n".join(map(str, paths)))

    for each, name in found:
        try:
            if name == pages.STATISTICS:
                from transferbench.evidence import statistics

                report(use(each.results / name, statistics.render()))
                continue
            read = of_folder(each.results)
            file, its_records, its_cells = read.named(name)
            evidence = pages.Evidence.from_cells(file, its_cells, read)
            if each.results == settings.results:
                known[name] = evidence
            # Pictures are not compared: their bytes change with the version of the drawing library.
            folder = each.results / file.name
            report(use(folder, evidence.texts()) if check else evidence.write(folder))
            now = policy.outdated(file.added_runs, its_records, settings)
            words = shlex.join([name, *file.arguments[1:]])
            for sentence in [*evidence.outdated, *now]:
                remedy = f"`transferbench reproduce {words}` makes them again"
                echo(f"warning: {file.name}: {sentence}; {remedy}.", err=True)
                outdated += 1
        except UserError as error:  # the other experiments are still written
            errors.append(error)
    if everything and not errors:
        from transferbench.evidence import audit, pictures, summary

        texts = summary.texts(settings.results, known)
        cells = {name: evidence.cells for name, evidence in known.items()}
        if texts:
            plane = audit.plane(cells)
            report(use(settings.results, texts | {"audit.md": audit.page(cells, plane)}))
            if not check:
                report(summary.draw(settings.results, known))
                report(pictures.draw_plane(plane, settings.results / pictures.PLANE))
    for path in changed:
        echo(f"{path}: not what its runs yield; run `transferbench tables`.", err=True)
    if errors:
        raise SeveralErrors.combine(errors)
    if check and not changed and not outdated:
        echo(f"{counted(len(found), 'experiment')}: every table is what its runs yield")
    return 1 if changed or (check and outdated) else 0
