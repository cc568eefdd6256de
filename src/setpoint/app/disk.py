"""Checks that the directories, programs and files of an app exist on this machine, before the app starts."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from setpoint.app import forms
from setpoint.app.commands import command
from setpoint.app.faults import Fault
from setpoint.app.model import AppFile, Workload
from setpoint.app.references import ValueReference
from setpoint.objects.typedyaml import Path as FieldPath

# The usual places of a project's own programs.
_ENVIRONMENTS = (".venv", "venv", "env")
_PACKAGES = Path("node_modules/.bin")


def missing(app: AppFile, directory: Path, environ: Mapping[str, str]) -> list[Fault]:
    """Returns the files, directories and programs that the app names and that do not exist."""
    found: list[Fault] = []
    for section in ("services", "tasks"):
        for name, workload in getattr(app, section).items():
            found += _of_workload((section, name), workload, directory, environ)
    for index, value in enumerate(app.controllers):
        module = forms.controller(value).module
        if module.endswith(".py") and not (directory / module).is_file():
            found.append((("controllers", index), f"file {module} not found in {directory}"))
    return found


def _of_workload(path: FieldPath, workload: Workload, directory: Path, environ: Mapping[str, str]) -> Iterator[Fault]:
    for file in forms.many(workload.env_file):
        if "${" not in file and not (directory / file).is_file():
            yield (*path, "env_file"), f"file {file} not found in {directory}"
    build = forms.build(workload.build)
    if build is not None and "${" not in build.context and not (directory / build.context).is_dir():
        yield (*path, "build"), f"directory {build.context} not found in {directory}"
    if workload.run and "${" not in workload.dir:
        place = directory / Path(workload.dir).expanduser()
        if place.is_dir():
            yield from _program((*path, "run"), workload, place, environ)
        else:
            yield (*path, "dir"), f"directory {workload.dir} not found in {directory}"


def _program(path: FieldPath, workload: Workload, place: Path, environ: Mapping[str, str]) -> Iterator[Fault]:
    words = command(workload.run).words
    if not words or any(isinstance(part, ValueReference) for part in words[0]) or "PATH" in workload.env:
        return
    program = "".join(map(str, words[0]))
    if "/" not in program:
        if shutil.which(program, path=environ.get("PATH", os.defpath)) is None:
            yield path, f"program {program} not found in PATH; {_remedy(program, place)}"
    elif not (place / program).is_file():
        yield path, f"file {program} not found in {place}"
    elif not os.access(place / program, os.X_OK):
        yield path, f"{program} is not executable; run chmod +x {program}"


def _remedy(program: str, place: Path) -> str:
    """Returns the remedy for a missing program. A project may have installed the program for itself."""
    for environment in _ENVIRONMENTS:
        if (place / environment / "bin" / program).is_file():
            return f"activate the virtual environment first: . {environment}/bin/activate"
    if (place / _PACKAGES / program).is_file():
        return f"write npx {program}, or run this command through an npm script"
    return f"install the program, or write a path such as ./{program}"
