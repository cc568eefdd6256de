"""The services and tasks that a command names, directly or by group."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from setpoint.cli.app.source_options import given_files
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from setpoint.app.loader import LoadedApp

_SUFFIXES = frozenset((".yaml", ".yml", ".py"))


class ChosenParts(NamedTuple):
    """An app with the chosen services and tasks, and their dependencies. `is_partial` is False if all are chosen."""

    loaded: "LoadedApp"
    is_partial: bool


def split_words(words: Sequence[str], file: str) -> tuple[str, tuple[str, ...]]:
    """Returns the file and the names among the arguments. The first argument may be the file, as in `up shop.yaml`."""
    if words and not file and _is_file(words[0]):
        return words[0], tuple(words[1:])
    return file, tuple(words)


def _is_file(word: str) -> bool:
    path = Path(word)
    if "/" in word or word in (".", "..") or path.suffix in _SUFFIXES or word.startswith("Procfile"):
        return True
    from setpoint.app.sources import find_source, source_in

    # Programs and directories often have the name of a service: they are meant only if there is no app here.
    is_app = path.is_file() or (path.is_dir() and source_in(path) is not None)
    return is_app and find_source(here(), os.environ) is None


def choose(loaded: "LoadedApp", names: Sequence[str], groups: Sequence[str], *, alone: bool = False) -> ChosenParts:
    """Returns the chosen parts of an app, with their dependencies unless `alone`. Raises Failure."""
    from msgspec.structs import replace

    from setpoint.session.selection import groups_of, parts, parts_in, selected_objects

    app = loaded.app
    known = [*app.services, *app.tasks]
    for name in names:
        refuse_unknown(name, known, "service or task", app.app)
    for group in groups:
        refuse_unknown(group, groups_of(loaded.objects), "group", app.app)
    chosen = {*names, *parts_in(loaded.objects, groups)}
    if not chosen:
        if alone:
            raise Failure("--no-deps requires NAME or --group", USAGE)
        return ChosenParts(loaded, is_partial=False)
    objects = selected_objects(loaded.objects, chosen, dependencies=not alone)
    there = parts(objects)
    tasks = {
        name: replace(task, auto=True) if name in chosen else task for name, task in app.tasks.items() if name in there
    }
    services = {name: service for name, service in app.services.items() if name in there}
    if alone:
        services = {name: replace(service, after=()) for name, service in services.items()}
        tasks = {name: replace(task, after=()) for name, task in tasks.items()}
    return ChosenParts(
        loaded._replace(app=replace(app, services=services, tasks=tasks), objects=objects), is_partial=True
    )


def refuse_unknown(name: str, known: Sequence[str], what: str, app: str) -> None:
    """Raises Failure if a name is unknown."""
    if name in known:
        return
    from setpoint.cli.output.words import did_you_mean

    there = f"{app} has {', '.join(known)}" if known else f"{app} has no {what}s"
    raise Failure(f"{what} {name} not found; {did_you_mean(name, known) or there}", NOT_FOUND)


def part_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Completes the services and tasks of the app file, or of the running app, and files."""
    from click.shell_completion import CompletionItem

    from setpoint.app.sources import find_source, read_source

    try:
        files = given_files()
        file = Path(files[0]) if files else find_source(here(), os.environ)
        app = read_source(file, os.environ, ctx.params.get("profiles") or ()).app if file is not None else None
    except Exception:
        app = None
    if app is None:
        return workload_names(ctx, param, incomplete)
    return [CompletionItem(name) for name in (*app.services, *app.tasks) if name.startswith(incomplete)]
