"""Modules that are named on the command line: found as Python finds them, and in the current directory."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import click


def import_here(name: str) -> ModuleType:
    """The module. Raises ClickException, which says what is missing."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise click.ClickException(f"there is no module {name}, neither here nor installed") from None
        raise click.ClickException(f"{name} imports {error.name}, which is not installed") from None
