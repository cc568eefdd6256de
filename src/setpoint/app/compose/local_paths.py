"""Makes the relative paths of a project absolute."""

import posixpath
from collections.abc import Callable
from typing import Any

from setpoint.app.compose.patterns import Pattern, spread, table

_REMOTE = ("https://", "http://", "git://", "ssh://", "github.com/", "git@")
_DRIVE = 3

Resolve = Callable[["LocalPaths", Any], Any]


def join(directory: str, path: str) -> str:
    """Joins two paths and removes `.` and `..`."""
    return posixpath.normpath(posixpath.join(directory, path)) if directory or path else ""


class LocalPaths:
    """The paths of a project in a directory. `home` is the home directory of the user, for `~`."""

    def __init__(self, directory: str, home: str) -> None:
        self._directory = directory
        self._home = home

    def resolve(self, tree: Any) -> None:
        """Makes the paths of a project absolute, in place."""
        self._walk(tree, _PATHS)

    def _walk(self, value: Any, paths: Pattern[Resolve]) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                below = paths.key(key)
                if below is not None:
                    value[key] = self._value(inner, below)
        elif isinstance(value, list):
            below = paths.index()
            if below is not None:
                for index, inner in enumerate(value):
                    value[index] = self._value(inner, below)

    def _value(self, value: Any, paths: Pattern[Resolve]) -> Any:
        if paths.value is not None:
            return paths.value(self, value)
        self._walk(value, paths)
        return value

    def _expanded(self, path: str) -> str:
        return join(self._home, path[1:].lstrip("/")) if path.startswith("~") and self._home else path

    def path(self, value: Any) -> Any:
        """Returns the absolute path of a file or directory. A path that begins with a reference stays unchanged."""
        if not isinstance(value, str) or value.startswith("${"):
            return value
        path = self._expanded(value)
        return join(self._directory, path) if path and not path.startswith("/") else path

    def source(self, value: Any) -> Any:
        """Returns the absolute path of a file that may be one of Windows."""
        if not isinstance(value, str) or value.startswith("${"):
            return value
        path = self._expanded(value)
        return path if path.startswith("/") or _is_windows(path) else join(self._directory, path)

    def context(self, value: Any) -> Any:
        """Returns the absolute path of a build context, or the address of a remote one."""
        if not isinstance(value, str) or "://" in value or value.startswith(("service:", *_REMOTE)):
            return value
        return self.path(value)

    def mount(self, value: Any) -> Any:
        """Makes the source of a bind mount absolute."""
        if isinstance(value, dict) and value.get("type") == "bind" and "source" in value:
            value["source"] = self.source(value["source"])
        return value

    def volume(self, value: Any) -> Any:
        """Makes the device of a volume absolute that is a bind mount."""
        if isinstance(value, dict) and value.get("driver") == "local":
            options = value.get("driver_opts")
            if isinstance(options, dict) and options.get("o") == "bind" and "device" in options:
                options["device"] = self.source(options["device"])
        return value


def _is_windows(path: str) -> bool:
    """Returns True for an absolute path of Windows: with a drive, or of another machine."""
    has_drive = len(path) >= _DRIVE and path[0].isalpha() and path[1] == ":" and path[2] in "\\/"
    return has_drive or path.startswith("\\\\")


_WORKLOAD: dict[str, Resolve] = {
    "build.context": LocalPaths.context,
    "build.additional_contexts.*": LocalPaths.context,
    "build.ssh.*": LocalPaths.source,
    "extends.file": LocalPaths.path,
}
_CONTAINER: dict[str, Resolve] = {
    "env_file.*.path": LocalPaths.path,
    "label_file.*": LocalPaths.path,
    "volumes.*": LocalPaths.mount,
}
_PATHS: Pattern[Resolve] = table(
    {
        **spread(("services.*", "jobs.*"), _WORKLOAD),
        **spread(("services.*", "jobs.*", "services.*.pre_start.*"), _CONTAINER),
        "services.*.develop.watch.*.path": LocalPaths.path,
        "configs.*.file": LocalPaths.source,
        "secrets.*.file": LocalPaths.source,
        "volumes.*": LocalPaths.volume,
    }
)
