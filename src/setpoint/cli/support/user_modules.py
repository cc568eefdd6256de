"""Imports Python modules named on the command line, from Python's path or the current directory."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

from setpoint.cli.support.errors import Failure
from setpoint.schema.types import ModelError


def import_here(name: str) -> ModuleType:
    """Returns the module. Raises Failure if the module is missing or cannot be imported."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise Failure(f"module {name} not found in the current directory or among the installed packages") from None
        raise Failure(f"{name} imports {error.name}, which is not installed") from None
    except ModelError as error:
        raise Failure(str(error)) from None
    except Exception as error:
        raise Failure(f"cannot import {name}: {type(error).__name__}: {error}") from None
