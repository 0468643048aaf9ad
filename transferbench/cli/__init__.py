"""The command line: a file for each command, loaded when it is called."""

from __future__ import annotations

import importlib
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from transferbench import __version__, settings
from transferbench.errors import EngineLost, UserError

FOLDER = Path(__file__).parent


class Interrupted(Exception):
    """Ctrl-C, kept from click, which would print an empty line for it."""


class Commands(click.Group):
    """The files of this folder are the commands."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(path.stem for path in FOLDER.glob("[!_]*.py"))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        return getattr(importlib.import_module(f"{__name__}.{name}"), "command", None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from transferbench.errors import unknown

        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise unknown("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of downloaded and built data."
)
@click.option("--results", type=click.Path(path_type=Path), help="Folder of records and tables.")
@click.option(
    "--mirror", multiple=True, help="Directory or URL to take originals from; repeatable."
)
@click.option("--offline", is_flag=True, default=None, help="Touch no network.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, "-V", "--version", prog_name="transferbench")
@click.pass_context
def main(
    ctx: click.Context,
    data: Path | None,
    results: Path | None,
    mirror: tuple[str, ...],
    offline: bool | None,
    debug: bool,
) -> None:
    """Rebuild the experiments of five papers on nonnegative matrix tri-factorisation.

    \b
    transferbench run comp-vs-rec --model gcmf    one task, one model
    transferbench reproduce gtl-table3            a published table, ours beside it
    transferbench list                            what there is
    """
    given = settings.load()
    ctx.obj = given.but(data=data, results=results, mirrors=mirror or None, offline=offline)


def invoke(arguments: list[str] | None = None) -> int:
    """The whole program: 0 well, 1 our failure, 2 the user's to mend, 130 interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    # Ended from outside is as interrupted by hand: children are stopped, temporary files removed.
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code: Any = main.main(arguments, prog_name="transferbench", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except UserError as error:
        return _say(f"Error: {error}", 2, debug)
    except EngineLost as error:
        return _say(f"Error: {error}", 1, debug)
    except click.UsageError as error:
        usage = f" See `{error.ctx.command_path} --help`." if error.ctx else ""
        return _say(f"Error: {error.format_message()}{usage}", 2, debug)
    except click.ClickException as error:
        return _say(f"Error: {error.format_message()}", 2, debug)
    except (Interrupted, KeyboardInterrupt, click.Abort):
        return _say(
            "Interrupted; every finished run is kept, the same command goes on.", 130, debug
        )
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stdout = None
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"Error: {where}{error.strerror or error}", 2, debug)
    except Exception as error:
        kind = type(error).__name__
        return _say(f"Failure in transferbench: {kind}: {error} (--debug shows where)", 1, debug)


def _say(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    click.echo(" ".join(message.split()), err=True)
    return code


def entry() -> None:
    """What the installed `transferbench` script calls."""
    sys.exit(invoke())
