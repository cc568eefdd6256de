"""Adds the variables and labels of files to services: `env_file` and `label_file`."""

from collections.abc import Mapping
from typing import Any

from setpoint.app.compose.loader import Loader
from setpoint.app.compose.project import ComposeError, Problem
from setpoint.app.compose.tree import Place, path_text
from setpoint.objects.tree import Object

_FORMATS = ("", ".env", "raw")


class ServiceFiles:
    """Completes the services of a project."""

    def __init__(self, loader: Loader, environment: Mapping[str, str], place: Any) -> None:
        self._loader = loader
        self._environment = environment
        self._place = place

    def complete(self, name: str, service: Object) -> None:
        """Adds variables and labels to a service and its hooks, in place. Problems are added to the loader."""
        self._container(service, ("services", name))
        for index, hook in enumerate(service.get("pre_start") or ()):
            self._container(hook, ("services", name, "pre_start", index))

    def _container(self, service: Object, path: tuple[str | int, ...]) -> None:
        own: dict[str, str | None] = service.get("environment") or {}
        for variable, value in own.items():
            if value is None and variable in self._environment:
                own[variable] = self._environment[variable]
        made = {variable: value for variable, value in own.items() if value is not None}
        outer = {**made, **self._environment}
        for index, entry in enumerate(service.get("env_file") or ()):
            self._variables(entry, made, outer, (*path, "env_file", index))
        if made or own:
            service["environment"] = {**made, **own}
        labels: dict[str, str] = {}
        for index, file in enumerate(service.get("label_file") or ()):
            found: dict[str, str] = {}
            self._parse(file, found, dict(labels), (*path, "label_file", index), required=True)
            labels.update(found)
        if labels:
            service["labels"] = {**labels, **(service.get("labels") or {})}

    def _variables(self, entry: Object, into: dict[str, str], outer: Mapping[str, str], path: Any) -> None:
        kind = entry.get("format", "")
        if kind not in _FORMATS:
            text = f"the format {kind!r} is not known; write raw, or remove format"
            self._report(path, text)
        elif kind == "raw":
            text = self._text(entry.get("path", ""), path, required=entry.get("required", True))
            into.update(_raw(text, outer))
        else:
            self._parse(entry.get("path", ""), into, outer, path, required=entry.get("required", True))

    def _parse(self, file: str, into: dict[str, str], outer: Mapping[str, str], path: Any, *, required: bool) -> None:
        text = self._text(file, path, required=required)
        try:
            self._loader.parse_variables(file, text, into, outer)
        except ComposeError as error:
            self._loader.problems += error.problems

    def _text(self, file: str, path: Any, *, required: bool) -> str:
        try:
            found = self._loader.optional_text(file)
        except ComposeError as error:
            self._loader.problems += error.problems
            return ""
        if found is None and required:
            self._report(path, f"the file {file} does not exist; create the file, or set required: false")
        return found or ""

    def _report(self, path: Any, text: str) -> None:
        place: Place = self._place(path)
        self._loader.problems.append(Problem(*place, path_text(path), text))


def _raw(text: str, outer: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of a file without quotes and references: each line is `NAME=value`, unchanged."""
    made: dict[str, str] = {}
    for line in text.removeprefix("\ufeff").splitlines():
        stripped = line.lstrip(" \t")
        if not stripped or stripped.startswith("#"):
            continue
        name, equals, value = stripped.partition("=")
        if equals:
            made[name] = value
        elif name in outer:
            made[name] = outer[name]
    return made
