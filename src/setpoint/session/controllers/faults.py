"""Where in somebody's own code something went wrong, without a stack of ours: `controllers/shop.py:12: ValueError`."""

import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType

_PACKAGE = str(Path(__file__).parents[2])
# Where code lies that is nobody's project: Python's own, and what is installed.
_INSTALLED = tuple(
    f"{os.path.realpath(path)}{os.sep}"
    for path in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


def is_own(file: str | None) -> bool:
    """Whether a file belongs to a project: neither to Python, nor to a package that is installed, nor to us."""
    if not file or file.startswith("<"):
        return False
    path = os.path.realpath(file)
    if path.startswith((*_INSTALLED, f"{_PACKAGE}{os.sep}")):
        return False
    return not any(part.endswith("-packages") for part in path.split(os.sep))


def project_files() -> list[str]:
    """The files of the project that have been imported so far."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({os.path.realpath(file) for file in files if file and is_own(file) and file.endswith(".py")})


def told(error: BaseException, directory: Path) -> str:
    """An error in one line, with the innermost place in the project's own code, if it passed any."""
    if isinstance(error, SyntaxError) and error.filename:
        text = f": {error.text.strip()}" if error.text and error.text.strip() else ""
        return f"{shown(error.filename, directory)}:{error.lineno}: {error.msg}{text}"
    where = place_of(error.__traceback__, directory)
    return f"{where}: {_what(error)}" if where else _what(error)


def place_of(trace: TracebackType | None, directory: Path) -> str:
    """`file:line` of the innermost frame in the project's own code; empty where there is none."""
    own = [entry for entry in traceback.extract_tb(trace) if is_own(entry.filename)]
    return f"{shown(own[-1].filename, directory)}:{own[-1].lineno}" if own else ""


def frames(innermost: FrameType | None) -> Iterator[FrameType]:
    """The calls that are under way, the innermost first."""
    while innermost is not None:
        yield innermost
        innermost = innermost.f_back


def _what(error: BaseException) -> str:
    name = type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"there is no module {error.name}, neither in the project nor installed for {sys.executable}"
    if isinstance(error, SystemExit):
        return f"it exits while it is imported (SystemExit: {error.code})"
    if isinstance(error, BaseExceptionGroup):
        return _what(error.exceptions[0])
    text = " ".join(str(error).split())
    return f"{name}: {text}" if text else name


def shown(file: str, directory: Path) -> str:
    """A file as seen from the project's directory, if it is below that."""
    path = os.path.realpath(file)
    base = f"{os.path.realpath(directory)}{os.sep}"
    return path.removeprefix(base)
