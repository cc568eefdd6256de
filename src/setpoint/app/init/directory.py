"""Reads the files of a directory that tell how its app is run."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from setpoint.app.sources import COMPOSE_FILES, PROCESS_COMPOSE_FILES, PROCFILES

# The texts of files by relative path; empty for files that only need to exist.
Listing: TypeAlias = Mapping[str, str]

_READ = (
    *COMPOSE_FILES, *PROCESS_COMPOSE_FILES, *PROCFILES, "skaffold.yaml", "skaffold.yml", "package.json",
    "pyproject.toml", "requirements.txt", "Pipfile", ".env", "go.mod",
)  # fmt: skip
_THERE = (
    "Dockerfile", "manage.py", "uv.lock", "poetry.lock", "pnpm-lock.yaml", "yarn.lock", "bun.lockb", "bun.lock",
    "Cargo.toml", "main.go", ".venv/bin/python",
)  # fmt: skip
_MAX_BYTES = 1 << 18
_MAX_FILES = 200
_PASSED_OVER = frozenset(("node_modules", "venv", "build", "dist", "target", "vendor", "__pycache__"))


def list_directory(directory: Path) -> dict[str, str]:
    """Returns the listing of a directory and its direct subdirectories."""
    found = _of(directory, "")
    inner = sorted(each for each in directory.iterdir() if each.is_dir() and not each.name.startswith("."))
    for place in inner[:_MAX_FILES]:
        if place.name not in _PASSED_OVER:
            found |= _of(place, f"{place.name}/")
    return found


def _of(directory: Path, prefix: str) -> dict[str, str]:
    found = {f"{prefix}{name}": "" for name in _THERE if (directory / name).exists()}
    programs = sorted(directory.glob("*.py"))[:_MAX_FILES]
    for file in (*(directory / name for name in _READ), *programs):
        text = _text(file)
        if text is not None:
            found[f"{prefix}{file.name}"] = text
    return found


def _text(file: Path) -> str | None:
    try:
        if not file.is_file() or file.stat().st_size > _MAX_BYTES:
            return None
        return file.read_text()
    except (OSError, UnicodeDecodeError):
        return None
