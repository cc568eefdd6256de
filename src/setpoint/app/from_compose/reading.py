"""Reads Compose files as an app."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from setpoint.app.compose.project import ComposeError, Project, Reader
from setpoint.app.compose.resolver import resolve
from setpoint.app.from_compose.conversion import convert
from setpoint.app.from_compose.places import places
from setpoint.app.model import AppFile
from setpoint.app.reader import ReadApp
from setpoint.objects import typedyaml
from setpoint.objects.typedyaml import Mistake, Mistakes


def read_compose(
    directory: Path,
    environ: Mapping[str, str],
    *,
    files: Sequence[str] = (),
    env_files: Sequence[str] = (),
    profiles: Collection[str] = (),
) -> ReadApp:
    """Returns the app of Compose files; without `files`, those that Compose would choose in the directory. Raises
    Mistakes."""
    project = resolved(directory, environ, files=files, env_files=env_files, profiles=profiles)
    where = places(project)
    made = convert(project, str(directory))
    services = made.tree.get("services") or {}
    plain = {name: {key: value for key, value in each.items() if key != "profiles"} for name, each in services.items()}
    app = typedyaml.convert({**made.tree, "services": plain}, AppFile, where)
    notes = [Mistake(_where(each.file, each.line, each.column), each.path, each.text) for each in project.warnings]
    read = tuple(Path(file) for file in project.files)
    left_out = {name: (*project.profiles, *each["profiles"]) for name, each in project.disabled.items()}
    return ReadApp(
        app,
        directory,
        read,
        where,
        notes=(*notes, *made.notes),
        variables=project.environment,
        left_out=left_out,
    )


def resolved(
    directory: Path,
    environ: Mapping[str, str],
    *,
    files: Sequence[str] = (),
    env_files: Sequence[str] = (),
    profiles: Collection[str] = (),
    interpolate: bool = True,
    read: Reader | None = None,
) -> Project:
    """Returns the resolved project of Compose files. Raises Mistakes."""
    try:
        return resolve(
            files,
            directory=directory,
            read=read or read_text,
            environ=environ,
            profiles=profiles,
            env_files=env_files,
            interpolate=interpolate,
        )
    except ComposeError as error:
        raise Mistakes(
            [Mistake(_where(each.file, each.line, each.column), each.path, each.text) for each in error.problems]
        ) from None


def read_text(path: str) -> str | None:
    """Returns the text of a file, or None if missing. Raises OSError or UnicodeDecodeError."""
    try:
        return Path(path).read_text()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def _where(file: str, line: int, column: int) -> str:
    return f"{file}:{line}:{column}" if line else file
