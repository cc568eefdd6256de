"""App files for tests: written, read and rendered."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from setpoint.app.loader import load_app
from setpoint.objects.tree import Object

CASES = Path(__file__).parent / "cases"


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.load((CASES / f"{name}.yaml").read_text(), Loader=yaml.CSafeLoader)
    return found


def written(directory: Path, text: str, files: Mapping[str, str] | None = None, name: str = "setpoint.yaml") -> Path:
    """An app file, with others beside it."""
    for each, content in {**(files or {}), name: text}.items():
        (directory / each).parent.mkdir(parents=True, exist_ok=True)
        (directory / each).write_text(content)
    return directory / name


def rendered(file: Path, environ: Mapping[str, str] | None = None, profiles: tuple[str, ...] = ()) -> list[Object]:
    """The objects that an app file becomes."""
    return load_app(file, environ or {}, profiles=profiles, session="s1", on_this_machine=False).objects


def by_name(objects: list[Object]) -> dict[str, Object]:
    return {f"{tree['kind']}/{tree['metadata']['name']}": tree for tree in objects}
