"""`setpoint completion`: prints the completion script of a shell for commands, options, kinds and names."""

import click

from setpoint.cli.output.terminal import echo


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script. Kinds and names are completed by asking the server.

    \b
      eval "$(setpoint completion bash)"          # in ~/.bashrc
      eval "$(setpoint completion zsh)"           # in ~/.zshrc, after compinit
      setpoint completion fish | source           # in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    root = ctx.find_root()
    found = get_completion_class(shell)
    assert found is not None
    echo(found(root.command, {}, "setpoint", "_SETPOINT_COMPLETE").source())
