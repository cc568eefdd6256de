"""Profiles: variants of an app with services and tasks turned off, turned on, or changed."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from setpoint.app.model import AppFile, Choice, Service, Task, Workload
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes, choices

W = TypeVar("W", Service, Task)


def selected(app: AppFile, chosen: Collection[str] = ()) -> AppFile:
    """Returns the app with the chosen profiles applied. Raises Mistakes."""
    known = names(app)
    wrong = [Mistake("", "profiles", f"unknown profile {name}{choices(name, known)}") for name in chosen
             if name not in known]  # fmt: skip
    if wrong:
        raise Mistakes(wrong)
    services = _selected(app, app.services, Service, chosen)
    tasks = _selected(app, app.tasks, Task, chosen)
    gone = {*app.services, *app.tasks} - {*services, *tasks}
    return msgspec.structs.replace(
        app,
        services={name: _without(each, gone) for name, each in services.items()},
        tasks={name: _without(each, gone) for name, each in tasks.items()},
        profiles={},
    )


def left_out(app: AppFile, chosen: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Returns the services and tasks that no chosen profile enables, each with the chosen profiles and its own."""
    workloads: dict[str, Workload] = {**app.services, **app.tasks}
    enabled = selected(app, chosen)
    return {
        name: (*chosen, *each.profiles)
        for name, each in workloads.items()
        if each.profiles and name not in enabled.services and name not in enabled.tasks
    }


def enabling(chosen: Collection[str], parts: Collection[str], others: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Returns the chosen profiles, and those that enable the given parts if they are among the parts left out."""
    return tuple(dict.fromkeys((*chosen, *(profile for name in parts for profile in others.get(name, ())))))


def names(app: AppFile) -> list[str]:
    """Returns the names of the app's profiles."""
    workloads: list[Workload] = [*app.services.values(), *app.tasks.values()]
    return list(dict.fromkeys([*app.profiles, *(name for each in workloads for name in each.profiles)]))


def overlaid(workload: Workload, fields: Object) -> Object:
    """Returns a workload as a tree, with some fields replaced."""
    made: Object = _merged(tree_of(workload), fields)
    return made


def tree_of(part: msgspec.Struct) -> Object:
    """Returns a part of the app file as a tree."""
    found: Object = msgspec.json.decode(msgspec.json.encode(part))
    return found


def _selected(app: AppFile, workloads: dict[str, W], kind: type[W], chosen: Collection[str]) -> dict[str, W]:
    found = ((name, _one(each, kind, _choices(app, name, chosen), chosen)) for name, each in workloads.items())
    return {name: each for name, each in found if each is not None}


def _one(workload: W, kind: type[W], choices: Iterable[Choice], chosen: Collection[str]) -> W | None:
    """Returns the workload with the choices applied, or None if the workload is excluded."""
    there = not workload.profiles or not {*workload.profiles}.isdisjoint(chosen)
    for choice in choices:
        if isinstance(choice, bool):
            there = choice
        else:
            workload = typedyaml.convert(overlaid(workload, choice), kind, lambda path: "")
    return msgspec.structs.replace(workload, profiles=()) if there else None


def _choices(app: AppFile, name: str, chosen: Collection[str]) -> Iterable[Choice]:
    return (app.profiles[each][name] for each in chosen if name in app.profiles.get(each, {}))


def _without(workload: W, excluded: Collection[str]) -> W:
    """Returns the workload without dependencies on excluded workloads."""
    after: Any = workload.after
    if isinstance(after, dict):
        after = {name: how for name, how in after.items() if name not in excluded}
    elif isinstance(after, str):
        after = () if after in excluded else after
    else:
        after = tuple(name for name in after if name not in excluded)
    return msgspec.structs.replace(workload, after=after)


def _merged(tree: Any, change: Any) -> Any:
    if not isinstance(tree, dict) or not isinstance(change, dict):
        return change
    kept = {name: value for name, value in tree.items() if change.get(name, value) is not None}
    return {**kept, **{name: _merged(tree.get(name), value) for name, value in change.items() if value is not None}}
