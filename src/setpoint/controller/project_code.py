"""Locates lines of the user's code: the files of the project, without Python, installed packages and Setpoint."""

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).parents[1])
# The directories of Python and installed packages.
_INSTALLED = tuple(
    f"{os.path.realpath(path)}{os.sep}"
    for path in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


def is_own(file: str | None) -> bool:
    """Returns True if the file belongs to the project: not to Python, an installed package, or Setpoint."""
    if not file or file.startswith("<"):
        return False
    path = os.path.realpath(file)
    if path.startswith((*_INSTALLED, f"{_PACKAGE}{os.sep}")):
        return False
    return not any(part.endswith("-packages") for part in path.split(os.sep))


def frames(innermost: FrameType | None) -> Iterator[FrameType]:
    """Yields the frames of a stack, innermost first."""
    while innermost is not None:
        yield innermost
        innermost = innermost.f_back


def shown(file: str, directory: Path) -> str:
    """Returns the path of a file relative to the project's directory, if below."""
    path = os.path.realpath(file)
    base = f"{os.path.realpath(directory)}{os.sep}"
    return path.removeprefix(base)


def line_of(thread_id: int | None, directory: Path) -> str:
    """Returns `file:line` of the innermost project code that a thread runs; else of its innermost code."""
    stack = list(frames(sys._current_frames().get(thread_id or 0)))
    own = next((frame for frame in stack if is_own(frame.f_code.co_filename)), stack[0] if stack else None)
    return "an unknown line" if own is None else f"{shown(own.f_code.co_filename, directory)}:{own.f_lineno}"
