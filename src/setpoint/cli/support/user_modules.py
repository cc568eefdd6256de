"""Modules that are named on the command line: found as Python finds them, and in the current directory."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

from setpoint.cli.support.errors import Failure
from setpoint.schema.types import ModelError


def import_here(name: str) -> ModuleType:
    """The module. Raises ClickException, which says what is missing or wrong."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise Failure(f"there is no module {name}, neither here nor installed") from None
        raise Failure(f"{name} imports {error.name}, which is not installed") from None
    except ModelError as error:
        raise Failure(str(error)) from None
    except Exception as error:
        raise Failure(f"{name} cannot be imported: {type(error).__name__}: {error}") from None
