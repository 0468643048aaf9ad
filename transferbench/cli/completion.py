"""transferbench completion."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes names.

    For bash: eval "$(transferbench completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        program = ctx.find_root().command
        click.echo(kind(program, {}, "transferbench", "_TRANSFERBENCH_COMPLETE").source())
