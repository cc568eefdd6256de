"""Reads an app file and its includes. Every mistake is reported with file, line, column and a suggestion.

The values of variables are kept as written, so that `VERSION: 1.10` and `ANSWER: yes` stay these texts.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from setpoint.app.faults import Where, in_order
from setpoint.app.includes import rebased
from setpoint.app.model import AppFile, Service, Task
from setpoint.app.profiles import left_out, overlaid, selected
from setpoint.app.texts import as_written
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes, ParsedFile, choices, path_text

FILES = ("setpoint.yaml", "setpoint.yml")
_SECTIONS = ("services", "tasks", "secrets", "volumes", "networks")

# The names of settings in other tools, and their replacements in an app file.
_FOREIGN = {
    "command": "write run for a process, args for a container",
    "cmd": "write run",
    "processes": "write services",
    "environment": "write env",
    "depends_on": "write after, such as after: {db: ready}",
    "healthcheck": "write ready, such as ready: {exec: [pg_isready], every: 2s}",
    "readiness_probe": "write ready",
    "liveness_probe": "write alive",
    "working_dir": "write dir",
    "stdin_open": "write stdin: true",
    "stop_signal": "write stop: {signal: INT}",
    "stop_grace_period": "write stop: {grace: 10s}",
    "deploy": "write replicas and resources",
    "scale": "write replicas",
    "mem_limit": "write resources: {memory: 512Mi}",
    "cpus": "write resources: {cpus: 1.5}",
    "pull_policy": "write pull",
    "develop": "write watch",
    "disabled": "use a profile: profiles: {NAME: {SERVICE: off}}",
    "version": "remove this field",
    "name": "write app",
    "interval": "write every",
    "retries": "write fail",
    "start_period": "write a probe under started",
    "test": "write exec",
    "condition": "write only the condition, such as {db: ready}",
    "cron": "write schedule",
}


class ReadApp(NamedTuple):
    """An app with the profiles applied, its directory and files, the locations of fields, and its unknown fields. For
    files of other tools: the settings without an effect, and the variables that the files refer to. `left_out` has the
    services and tasks that no chosen profile enables, each with the chosen profiles and its own."""

    app: AppFile
    directory: Path
    files: tuple[Path, ...]
    where: Where
    unknown: tuple[Mistake, ...] = ()
    notes: tuple[Mistake, ...] = ()
    variables: Mapping[str, str] | None = None
    left_out: Mapping[str, tuple[str, ...]] = {}


def in_directory(directory: Path) -> Path | None:
    """Returns the app file of a directory, or None."""
    return next((directory / name for name in FILES if (directory / name).is_file()), None)


def find_app_file(directory: Path) -> Path | None:
    """Returns the app file of a directory, or of its nearest parent with one."""
    return next((found for place in (directory, *directory.parents) if (found := in_directory(place))), None)


def read_app(file: Path, profiles: Collection[str] = (), *, lenient: bool = False) -> ReadApp:
    """Reads an app file. With `lenient`, unknown fields are returned instead of raised. Raises Mistakes."""
    file = file.absolute()
    reading = _Reading(file)
    whole = reading.file(file, ())
    if not whole.app:
        whole = msgspec.structs.replace(whole, app=app_name(file.parent.name))
    found = list(_profile_mistakes(whole, reading.where))
    if found or (reading.unknown and not lenient):
        raise Mistakes(in_order([*reading.unknown, *found]))
    unknown = tuple(reading.unknown)
    return ReadApp(
        selected(whole, profiles),
        file.parent,
        tuple(reading.files),
        reading.where,
        unknown,
        left_out=left_out(whole, profiles),
    )


def app_name(text: str) -> str:
    """Converts a text, such as the name of a directory, to a valid app name."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return kept[:63].strip("-") or "app"


class _Reading:
    """The files of one app."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.files: dict[Path, ParsedFile] = {}
        # Unknown fields.
        self.unknown: list[Mistake] = []
        # The source file of each service, task and so on.
        self._origins: dict[tuple[str, str], ParsedFile] = {}

    def where(self, path: typedyaml.Path) -> str:
        key = (str(path[0]), str(path[1])) if len(path) > 1 else ("", "")
        source = self._origins.get(key) or self.files.get(self._root)
        return "" if source is None else source.place(path)

    def file(self, file: Path, above: tuple[Path, ...]) -> AppFile:
        source = _read(file, str(file.relative_to(self._root.parent)) if self._is_below(file) else str(file))
        self.files[file] = source
        app = _converted(source, self.unknown)
        for section in _SECTIONS:
            for name in getattr(app, section):
                self._origins.setdefault((section, name), source)
        for index, included in enumerate(app.include):
            app = self._with(app, source, index, (file.parent / included).resolve(), (*above, file))
        return msgspec.structs.replace(app, include=())

    def _is_below(self, file: Path) -> bool:
        return file.is_relative_to(self._root.parent)

    def _with(self, app: AppFile, source: ParsedFile, index: int, file: Path, above: tuple[Path, ...]) -> AppFile:
        """Merges an included app. Duplicate names are mistakes; the variables and profiles of the including file take
        precedence."""
        place = source.place(("include", index))
        if file in above:
            raise Mistakes([Mistake(place, f"include[{index}]", "the file includes itself; remove this entry")])
        if not file.is_file():
            raise Mistakes([Mistake(place, f"include[{index}]", f"file {file} not found")])
        if file in self.files:
            return app
        other = rebased(self.file(file, above), file.parent, above[-1].parent)
        found = [
            Mistake(place, f"include[{index}]", f"{source.file} and {file.name} both have {section} {name}; rename one")
            for section in _SECTIONS
            for name in getattr(app, section).keys() & getattr(other, section).keys()
        ]
        if found:
            raise Mistakes(found)
        return msgspec.structs.replace(
            app,
            **{section: {**getattr(app, section), **getattr(other, section)} for section in _SECTIONS},
            **{field: getattr(app, field) + getattr(other, field) for field in ("controllers", "crds", "objects")},
            env={**other.env, **app.env},
            profiles=_joined(other.profiles, app.profiles),
        )


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in {**first, **second}}


def _read(file: Path, name: str) -> ParsedFile:
    try:
        text = file.read_text()
    except OSError as error:
        hint = "; `setpoint init` writes one" if isinstance(error, FileNotFoundError) else ""
        raise Mistakes([Mistake(name, "", f"cannot read the file: {error.strerror or error}{hint}")]) from None
    except UnicodeDecodeError:
        raise Mistakes([Mistake(name, "", "the file is not valid UTF-8")]) from None
    return typedyaml.read(text, name)


def parse_app(text: str, file: str = "setpoint.yaml") -> AppFile:
    """Parses the text of an app file, without its includes. Raises Mistakes."""
    return _converted(typedyaml.read(text, file))


def _converted(source: ParsedFile, unknown: list[Mistake] | None = None) -> AppFile:
    if source.tree is not None and type(source.tree) is not dict:
        raise Mistakes([Mistake(source.place(()), "", "expected fields, such as services")])
    tree: Object = source.tree or {}
    as_written(tree, source.text, ("env", "args"))
    # Fields of the user, mostly parts for anchors.
    tree = {name: value for name, value in tree.items() if not name.startswith("x-")}
    own: list[Mistake] = []
    try:
        made = typedyaml.convert(tree, AppFile, source.place, unknown=own)
    except Mistakes as mistakes:
        raise Mistakes([_hinted(mistake) for mistake in in_order([*own, *mistakes.found])]) from None
    if own and unknown is None:
        raise Mistakes([*map(_hinted, own)])
    if unknown is not None:
        unknown += map(_hinted, own)
    return made


def _hinted(mistake: Mistake) -> Mistake:
    """Adds a hint for the names of settings in other tools, and for a list of ports without names."""
    word = mistake.path.rpartition(".")[2]
    if mistake.message.startswith("there is no such field") and word in _FOREIGN:
        return mistake._replace(message=f"there is no such field; {_FOREIGN[word]}")
    if word == "ports" and "it should be names" in mistake.message:
        return mistake._replace(message="give each port a name: ports: {http: 8080}, or {http: auto} for a free port")
    return mistake


def _profile_mistakes(app: AppFile, where: Where) -> Iterator[Mistake]:
    known = [*app.services, *app.tasks]
    for profile, changes in app.profiles.items():
        for name, choice in changes.items():
            path: typedyaml.Path = ("profiles", profile, name)
            if name not in known:
                message = f"unknown service or task {name}{choices(name, known)}"
                yield Mistake(where(path), path_text(path), message)
            elif isinstance(choice, dict):
                kind: type[Service | Task] = Service if name in app.services else Task
                workload = app.services.get(name) or app.tasks[name]
                try:
                    typedyaml.convert(overlaid(workload, choice), kind, lambda inner, path=path: where((*path, *inner)))  # type: ignore[misc]
                except Mistakes as mistakes:
                    for each in mistakes.found:
                        yield _hinted(each._replace(path=f"{path_text(path)}.{each.path}"))
