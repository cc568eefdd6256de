"""The command `setpoint`. Each subcommand lives in a module of its own, imported when it is used."""

import importlib
from typing import Any

import click

from setpoint import __version__

_COMMANDS = {
    "crd": "setpoint.cli.crd:crd",
    "envtest-assets": "setpoint.cli.envtest:envtest_assets",
    "fsm": "setpoint.cli.fsm:fsm",
    "models": "setpoint.cli.models:models",
    "serve": "setpoint.cli.serve:serve",
    "user": "setpoint.cli.user:user",
}


class _LazyGroup(click.Group):
    """A group that knows the names of its commands and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: Any = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """A Kubernetes-compatible control plane for one machine or many."""


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(__version__)
