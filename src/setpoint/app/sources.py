"""The files that describe an app: an app file, Compose files, a process-compose file, or a Procfile.

An app file is preferred; the files of other tools are read as an app, without writing an app file.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from setpoint.app import reader
from setpoint.app.reader import ReadApp
from setpoint.objects import typedyaml
from setpoint.objects.typedyaml import Mistakes

SourceKind: TypeAlias = Literal["app", "compose", "process-compose", "procfile"]
COMPOSE_FILES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
PROCESS_COMPOSE_FILES = ("process-compose.yml", "process-compose.yaml")
PROCFILES = ("Procfile.dev", "Procfile")
_COMPOSE_NAME = re.compile(r"(docker-)?compose[\w.-]*\.ya?ml")
# Keys of services that only Compose has, and keys of its files that an app file has not.
_COMPOSE_KEYS = frozenset(
    ("command", "environment", "depends_on", "healthcheck", "working_dir", "restart_policy", "deploy", "extends")
)
_COMPOSE_SECTIONS = frozenset(("version", "name", "configs"))


class SourceOptions(NamedTuple):
    """Options for reading the files of other tools: the files given by name, and files of variables for Compose."""

    files: tuple[Path, ...] = ()
    env_files: tuple[str, ...] = ()


NO_OPTIONS = SourceOptions()


def find_source(directory: Path, environ: Mapping[str, str]) -> Path | None:
    """Returns the file that describes the app of a directory: the app file of the directory or its nearest parent with
    one, the Compose file of the same, a process-compose file of the directory, or its Procfile."""
    found = reader.find_app_file(directory)
    if found is not None:
        return found
    if given := environ.get("COMPOSE_FILE"):
        first = directory / given.split(environ.get("COMPOSE_PATH_SEPARATOR") or ":")[0]
        return first if first.is_file() else None
    for place in (directory, *directory.parents):
        if (found := _first(place, COMPOSE_FILES)) is not None:
            return found
    return _first(directory, (*PROCESS_COMPOSE_FILES, *PROCFILES))


def source_in(directory: Path) -> Path | None:
    """Returns the file that describes the app in exactly this directory, or None."""
    return reader.in_directory(directory) or _first(directory, (*COMPOSE_FILES, *PROCESS_COMPOSE_FILES, *PROCFILES))


def _first(directory: Path, names: Collection[str]) -> Path | None:
    return next((directory / name for name in names if (directory / name).is_file()), None)


def kind_of(file: Path) -> SourceKind:
    """Returns the kind of a file, by its name, or else by its content."""
    if file.name.startswith("Procfile") or file.suffix == ".procfile":
        return "procfile"
    if file.name in reader.FILES:
        return "app"
    if file.name.startswith("process-compose"):
        return "process-compose"
    if _COMPOSE_NAME.fullmatch(file.name):
        return "compose"
    return _by_content(file)


def _by_content(file: Path) -> SourceKind:
    try:
        tree: Any = typedyaml.read(file.read_text(), file.name).tree
    except (OSError, UnicodeDecodeError, Mistakes):
        return "app"
    if not isinstance(tree, dict):
        return "app"
    if "processes" in tree:
        return "process-compose"
    services = tree.get("services")
    every = services.values() if isinstance(services, dict) else ()
    has_keys = any(isinstance(each, dict) and _COMPOSE_KEYS & each.keys() for each in every)
    return "compose" if services is not None and (has_keys or _COMPOSE_SECTIONS & tree.keys()) else "app"


def read_source(
    file: Path, environ: Mapping[str, str], profiles: Collection[str] = (), options: SourceOptions = NO_OPTIONS
) -> ReadApp:
    """Reads the file of an app, of any kind. Unknown fields of an app file are returned instead of raised. Raises
    Mistakes."""
    kind = kind_of(file)
    if kind == "compose":
        # Imported here: an app file needs neither the resolver nor the conversion.
        from setpoint.app.from_compose.reading import read_compose

        files = tuple(map(str, options.files))
        if not files and file.name not in COMPOSE_FILES and not environ.get("COMPOSE_FILE"):
            files = (str(file),)
        return read_compose(file.parent, environ, files=files, env_files=options.env_files, profiles=profiles)
    if kind == "process-compose":
        from setpoint.app.from_process_compose import read_process_compose

        return read_process_compose(file, environ, tuple(profiles))
    if kind == "procfile":
        from setpoint.app.from_procfile import read_procfile

        return read_procfile(file, environ)
    return reader.read_app(file, profiles, lenient=True)
