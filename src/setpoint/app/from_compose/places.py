"""The places of an app's fields in the Compose files that the app was converted from."""

from collections.abc import Callable, Mapping

from setpoint.app.compose.project import Project
from setpoint.app.reader import app_name
from setpoint.objects.typedyaml import Path

# The fields of an app with other names in Compose.
_FIELDS = {
    "after": "depends_on",
    "args": "command",
    "dir": "working_dir",
    "env": "environment",
    "files": "secrets",
    "image_health": "healthcheck",
    "pull": "pull_policy",
    "ready": "healthcheck",
    "replicas": "deploy",
    "resources": "deploy",
    "stdin": "stdin_open",
    "stop": "stop_grace_period",
    "watch": "develop",
}


def places(project: Project) -> Callable[[Path], str]:
    """Returns a function that returns file, line and column of a field of the app."""
    names: Mapping[tuple[str, str], str] = {
        (section, app_name(name)): name
        for section in ("services", "volumes", "networks", "secrets")
        for name in getattr(project, section)
    }

    def where(path: Path) -> str:
        return place(project, _original(path, names))

    return where


def _original(path: Path, names: Mapping[tuple[str, str], str]) -> Path:
    if len(path) < 2:
        return path
    section, name, *rest = path
    original = names.get((str(section), str(name)), str(name))
    if not rest:
        return section, original
    field = _FIELDS.get(str(rest[0]), str(rest[0]))
    # Only the inner paths of fields with the same form in both files are the same.
    inner = rest[1:] if field in ("environment", "depends_on", "volumes", "networks") else []
    return section, original, field, *inner


def place(project: Project, path: Path) -> str:
    """Returns file, line and column of a path of the project."""
    file, line, column = project.locate(path)
    return f"{file}:{line}:{column}" if line else file
