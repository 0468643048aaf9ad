"""The command line: `COMMANDS` names each command, whose module is imported when it runs."""

import errno
import importlib
import os
import signal
import sys
import traceback
import warnings
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from transferbench import __version__
from transferbench.cli._terminal import DEBUG, echo, show_warnings
from transferbench.errors import Failure, SeveralErrors, UserError, unknown
from transferbench.messages import reason

FOLDER = Path(__file__).parent
#: Commands by name, with the line that `--help` prints. The module of a command is the file of this
#: folder with its name. Those without a file belong to a part that is not installed.
COMMANDS = {
    "audit": "Check printed accuracies by their digits.",
    "bench": "Rank methods on a suite of tasks, and compare two.",
    "check": "Check a model of your own by the contract of all models.",
    "cite": "Print BibTeX of an experiment, a number, a dataset, a task or a model.",
    "clean": "List files that can be removed, or remove them.",
    "compare": "Compare and score models on your documents; recommend one.",
    "describe": "Describe a model, a task, a dataset or an experiment.",
    "doctor": "Show installed libraries, folders and mirrors.",
    "explain": "Explain a number, or list those that differ most.",
    "export": "Write the matrices and labels of a task into a folder.",
    "fetch": "Fetch and verify the original files of tasks.",
    "list": "List models, tasks and experiments.",
    "merge": "Join the runs of several folders or machines.",
    "new": "Write a commented start of an experiment or a package.",
    "predict": "Label your own documents.",
    "report": "Write results as pages, with an index.",
    "reproduce": "Rebuild published tables and figures.",
    "run": "Run models on one task.",
    "share": "Write the results of an experiment into one zip file.",
    "status": "Show which runs are done, failed or to do.",
    "tables": "Write tables and figures from their runs.",
    "topics": "Find the topics of documents, or those of a model.",
    "verify": "Repeat some finished runs, and compare.",
}
#: Entry points of commands of other packages; they are read only for a name that is not above.
GROUP = "transferbench.commands"
#: Error numbers of a path that cannot be written: the disk is full, or the path protected or wrong.
CANNOT_WRITE = {
    *(errno.EACCES, errno.EEXIST, errno.EFBIG, errno.ENAMETOOLONG),
    *(errno.ENOSPC, errno.ENOTDIR, errno.EROFS),
}
#: Environment variable that a shell sets to ask for completions.
COMPLETE = "_TRANSFERBENCH_COMPLETE"


class Commands(click.Group):
    """The group of `COMMANDS`; no list of them imports one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in COMMANDS if (FOLDER / f"{name}.py").is_file()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name.startswith("-"):
            return None
        if name in (listed := self.list_commands(ctx)):
            command: click.Command = importlib.import_module(f"{__name__}.{name}").command
            return command
        from transferbench import plugins

        others = {point.name: point for point in plugins.points().select(group=GROUP)}
        if name not in others:
            raise unknown("command", name, [*listed, *others], "See `transferbench --help`.")
        try:
            loaded: object = others[name].load()
        except (Exception, SystemExit) as error:
            why = f"{others[name].value} cannot be imported: {reason(error)}"
            raise UserError(f"command {name} of another package: {why}.") from error
        if not isinstance(loaded, click.Command):
            expected = f"{others[name].value} is none; expected MODULE:NAME of a click.Command"
            raise UserError(f"command {name} of another package: {expected}.")
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name]) for name in names), *options]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of downloaded and built data."
)
@click.option("--results", type=click.Path(path_type=Path), help="Folder of records and tables.")
@click.option("--mirror", multiple=True, help="Folder or URL of original files; repeatable.")
@click.option("--offline", is_flag=True, default=None, help="Use no network.")
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
    """Rebuild the experiments of five papers on transfer, multi-task and multi-label learning.

    \b
    transferbench run comp-vs-rec --model gcmf    run one model on one task
    transferbench reproduce gtl-table3            rebuild a published table, and compare
    transferbench list                            list models, tasks and experiments
    """
    from transferbench import settings

    ctx.with_resource(warnings.catch_warnings())
    show_warnings()
    ctx.obj = settings.load().replace(
        data=data, results=results, mirrors=mirror or None, offline=offline
    )


def invoke(arguments: list[str] | None = None) -> int:
    """Run the program."""
    # Exit code: 0 after success, 1 after a failure of the program, 2 after a mistake that
    # the user can correct, 128 + n after signal n.
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    # Use click's own `main` for completion alone: it prints on Ctrl-C and exits on a closed pipe.
    if COMPLETE in os.environ:
        main.main(arguments, prog_name="transferbench", complete_var=COMPLETE)
    context = None
    try:
        with main.make_context("transferbench", arguments) as context:
            context.meta[DEBUG] = debug
            result = main.invoke(context)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as end:  # after --help or --version
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        return 2
    except BrokenPipeError:  # the reader of our output has closed it, as `head` does
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            echo(traceback.format_exc(), err=True, nl=False)
        message, code = _describe(error)
        if code > 128:
            message = " ".join([message, *getattr(error, "__notes__", ())])
        if code > 128 and context and context.invoked_subcommand in ("run", "reproduce"):
            message += " Finished runs are saved; rerun the command to continue."
        mistakes = error.args if isinstance(error, SeveralErrors) else ()
        for line in (message, *mistakes):
            echo(" ".join(line.split()), err=True)
        return code


def _describe(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code of an error."""
    # For several errors the message has their number.
    match error:
        case SeveralErrors():
            return f"Error: {len(error.args)} mistakes:", 2
        case UserError():
            return f"Error: {error}", 2
        case Failure():
            return f"Error: {error}", 1
        case click.NoSuchOption(option_name=name) if any(name in o.opts for o in main.params):
            return f"Error: {name} is a global option; write it before the command.", 2
        case click.ClickException():
            context = getattr(error, "ctx", None)
            usage = f" See `{context.command_path} --help`." if context else ""
            return f"Error: {error.format_message()}{usage}", 2
        case ImportError(__cause__=KeyboardInterrupt() as cause):
            # A library in C that was interrupted while it was imported.
            return _describe(cause)
        case KeyboardInterrupt() | click.Abort():
            return "Interrupted.", 128 + (error.args or (signal.SIGINT,))[0]
        case MemoryError():
            return "Error: out of memory; give less data or fewer runs, or use more memory.", 1
        case OSError():
            path = f"{error.filename}: " if error.filename else ""
            cannot_write = error.errno in CANNOT_WRITE
            remedy = "; use another path, or make room there." if cannot_write else ""
            return f"Error: {path}{error.strerror or error}{remedy}", 2
    kind = type(error).__name__
    return f"Failure in transferbench: {kind}: {error} (--debug shows where)", 1
