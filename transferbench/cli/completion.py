"""transferbench completion."""

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash: eval "$(transferbench completion bash)"
    """
    from click.shell_completion import get_completion_class

    from transferbench.cli import COMPLETE

    completion = get_completion_class(shell)
    if completion is not None:
        program = ctx.find_root().command
        click.echo(completion(program, {}, "transferbench", COMPLETE).source())
