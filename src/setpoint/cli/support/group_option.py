"""The option --group of commands on services and tasks."""

from collections.abc import Callable
from typing import Any

import click


def group_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option --group, as the argument `groups`."""
    add = click.option(
        "-g", "--group", "groups", multiple=True, metavar="NAME", help="Select the parts in a group (repeatable)."
    )
    return add(command)
