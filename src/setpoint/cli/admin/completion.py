"""`setpoint completion`: what a shell needs to complete commands, options, kinds and names."""

import click

from setpoint.cli.output.terminal import echo


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion for a shell. Kinds and names are asked of the server as you type.

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
