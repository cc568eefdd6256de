"""What a directory has that says how its app is run: the texts of some files, and that others are there."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

# Texts by path, relative to the directory; of what only has to be there, the text is empty.
Listing: TypeAlias = Mapping[str, str]

COMPOSE_FILES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
PROCFILES = ("Procfile.dev", "Procfile")
_READ = (*COMPOSE_FILES, *PROCFILES, "package.json", "pyproject.toml", "requirements.txt", "Pipfile", ".env", "go.mod")
_THERE = (
    "Dockerfile", "manage.py", "uv.lock", "poetry.lock", "pnpm-lock.yaml", "yarn.lock", "bun.lockb", "bun.lock",
    "Cargo.toml", "main.go", ".venv/bin/python",
)  # fmt: skip
_MAX_BYTES = 1 << 18
_MAX_FILES = 200
_PASSED_OVER = frozenset(("node_modules", "venv", "build", "dist", "target", "vendor", "__pycache__"))


def look(directory: Path) -> dict[str, str]:
    """The listing of a directory, and of those in it."""
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
