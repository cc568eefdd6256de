"""A group of commands that imports each command only when used."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that knows the name and location (`module:name`) of each command."""

    def __init__(self, *args: Any, commands_at: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self._commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._commands_at})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._commands_at:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._commands_at[cmd_name].partition(":")
        command: Any = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command
