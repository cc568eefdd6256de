"""Resolves Compose files, environment and profiles to a project."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from setpoint.app.compose.project import ComposeError, Problem, Project, Reader
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistakes
from setpoint.objects.typedyaml import read as read_yaml

_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_OVERRIDES = (
    "compose.override.yml",
    "compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.override.yaml",
)


def default_files(directory: Path, read: Reader) -> tuple[str, ...]:
    """Returns the Compose file of the directory or of its nearest parent that has one, and its override file."""
    for place in (directory, *directory.parents):
        for name in _NAMES:
            if read(str(place / name)) is not None:
                override = next((each for each in _OVERRIDES if read(str(place / each)) is not None), None)
                return (str(place / name), *([str(place / override)] if override else []))
    return ()


def resolve(
    files: Sequence[str],
    *,
    directory: Path,
    read: Reader,
    environ: Mapping[str, str],
    profiles: Collection[str] = (),
    env_files: Sequence[str] = (),
    name: str = "",
    interpolate: bool = True,
) -> Project:
    """Resolves the files as `docker compose config` does. Raises ComposeError with all problems.

    Without `files`, COMPOSE_FILE and then the default names in the directory and its parents are used. Names of files
    are relative to `directory`; relative paths inside the files are relative to the directory of the first file. With
    `interpolate=False` references to variables stay in the texts.
    """
    paths = [str(directory / file) for file in files] or default_files(directory, read)
    services: dict[str, Object] = {}
    for path in paths:
        text = read(path)
        if text is None:
            raise ComposeError([Problem(path, 0, 0, "", "the file does not exist; check its name")])
        try:
            tree = read_yaml(text, path).tree
        except Mistakes as mistakes:
            raise ComposeError([Problem(path, 0, 0, "", str(each)) for each in mistakes.found]) from None
        services.update(tree.get("services") or {})
    return Project(name or directory.name, services, {}, files=tuple(paths), environment=dict(environ))
