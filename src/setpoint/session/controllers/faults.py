"""Locates errors in the user's code, without frames of Setpoint: `controllers/shop.py:12: ValueError`."""

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType

from setpoint.controller.project_code import is_own, shown


def project_files() -> list[str]:
    """Returns the imported files of the project."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({os.path.realpath(file) for file in files if file and is_own(file) and file.endswith(".py")})


def error_text(error: BaseException, directory: Path) -> str:
    """Returns an error as one line, with the innermost location in the project's code, if any."""
    if isinstance(error, SyntaxError) and error.filename:
        text = f": {error.text.strip()}" if error.text and error.text.strip() else ""
        return f"{shown(error.filename, directory)}:{error.lineno}: {error.msg}{text}"
    where = place_of(error.__traceback__, directory)
    return f"{where}: {_message(error)}" if where else _message(error)


def place_of(trace: TracebackType | None, directory: Path) -> str:
    """Returns `file:line` of the innermost frame in the project's code; empty if there is none."""
    own = [entry for entry in traceback.extract_tb(trace) if is_own(entry.filename)]
    return f"{shown(own[-1].filename, directory)}:{own[-1].lineno}" if own else ""


def _message(error: BaseException) -> str:
    name = type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"no module {error.name} in the project or among the packages of {sys.executable}"
    if isinstance(error, SystemExit):
        return f"the module exits during import (SystemExit: {error.code})"
    if isinstance(error, BaseExceptionGroup):
        return _message(error.exceptions[0])
    text = " ".join(str(error).split())
    return f"{name}: {text}" if text else name
