"""Converts Compose files for an app file: with short forms and references to variables. Notes name every setting that
has no effect."""

import re
from pathlib import Path
from typing import Any

from setpoint.app.compose.project import Reader
from setpoint.app.from_compose.conversion import convert as convert_project
from setpoint.app.from_compose.reading import resolved
from setpoint.app.init.draft import Draft
from setpoint.app.reader import app_name
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes

_PLAIN = re.compile(r"[\w./:@%+=,-]+")
_ORDER = (
    "image", "build", "args", "entrypoint", "env_file", "env", "dir", "ports", "volumes", "files", "after", "ready",
    "restart", "stop", "resources", "networks",
)  # fmt: skip


def convert(file: str, directory: Path, read: Reader, draft: Draft) -> bool:
    """Converts the Compose file of a directory, and the files that belong to it. Returns False if the file is
    invalid."""
    place = f"{directory}/"
    try:
        project = resolved(
            directory, {}, profiles=("*",), files=_files(file, directory, read), interpolate=False, read=read
        )
        tree, notes = convert_project(project, str(directory), references=True)
    except Mistakes as mistakes:
        draft.note(f"{str(mistakes.found[0]).replace(place, '')}; the file was ignored")
        return False
    for each in project.files:
        name = each.removeprefix(place)
        if name.endswith((".yaml", ".yml")):
            draft.record_source(name)
    for name, fields in tree.get("services", {}).items():
        draft.service(name, _short(fields))
    for name in project.services:
        if app_name(name) != name:
            draft.note(f"the service {name} was renamed to {app_name(name)}; containers also reach it as {name}")
    for section in ("volumes", "networks", "secrets"):
        made = {name: fields for name, fields in tree.get(section, {}).items() if (name, fields) != ("default", None)}
        if made:
            draft.sections[section] = made
    for note in notes:
        draft.note(_text(note, place))
    return True


def _files(file: str, directory: Path, read: Reader) -> tuple[str, ...]:
    """Returns the file with its override file, if there is one."""
    stem, _, suffix = file.rpartition(".")
    usual = [f"{base}.override.{end}" for base in dict.fromkeys((stem, "compose")) for end in (suffix, "yaml", "yml")]
    override = next((name for name in usual if read(str(directory / name)) is not None), None)
    return (file, override) if override else (file,)


def _text(note: Mistake, place: str) -> str:
    return f"{note.where.replace(place, '')}: {note.path}: {note.message}"


def _short(fields: Object) -> Object:
    """Returns the fields of a service in their short forms, in a fixed order."""
    made = dict(fields)
    made["ports"] = {name: _port(each) for name, each in made.get("ports", {}).items()}
    made["volumes"] = [_mount(each) for each in made.get("volumes", ())]
    if made.get("build", {}).keys() == {"context"}:
        made["build"] = made["build"]["context"]
    if len(made.get("env_file", ())) == 1:
        [made["env_file"]] = made["env_file"]
    if (words := made.get("args")) and all(_PLAIN.fullmatch(word) for word in words):
        made["args"] = " ".join(words)
    kept = {name: value for name, value in made.items() if value not in ([], {}, None)}
    if "entrypoint" in fields:
        kept["entrypoint"] = fields["entrypoint"]
    first = {name: kept[name] for name in _ORDER if name in kept}
    return {**first, **kept}


def _port(port: Object) -> Any:
    if port.keys() <= {"port", "host", "address"} and port.get("address", "127.0.0.1") in ("127.0.0.1", "localhost"):
        return f"{port['host']}:{port['port']}" if "host" in port else port["port"]
    return port


def _mount(mount: Object) -> Any:
    if mount.keys() <= {"source", "target", "read_only"} and ":" not in f"{mount.get('source', '')}{mount['target']}":
        source = f"{mount['source']}:" if "source" in mount else ""
        return f"{source}{mount['target']}{':ro' if mount.get('read_only') else ''}"
    return mount
