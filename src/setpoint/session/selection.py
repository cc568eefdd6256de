"""Selects some services and tasks of an app, with the objects that they need."""

from collections.abc import Collection, Iterable, Sequence

from setpoint.objects import meta
from setpoint.objects.tree import Object, copy
from setpoint.workload.dependencies import needs
from setpoint.workload.kinds.api_names import GROUP, GROUP_LABEL, OWN_GROUP, PART_LABEL

# Objects that are not workloads, and belong to every selection.
_GROUNDWORK = frozenset(("App", "Secret", "CustomResourceDefinition"))
_PARTS = frozenset(("Container", "Executable", "ExecutableReplicaSet", "Task"))


def part_of(tree: Object) -> str:
    """Returns the service or task of a workload object, or an empty string for other objects."""
    return meta.labels(tree).get(PART_LABEL, "") if tree["kind"] in _PARTS else ""


def parts(objects: Iterable[Object]) -> list[str]:
    """Returns the services and tasks among the objects."""
    return list(dict.fromkeys(part for tree in objects if (part := part_of(tree))))


def parts_in(objects: Iterable[Object], groups: Collection[str]) -> list[str]:
    """Returns the names of the services and tasks in some groups."""
    wanted = {f"{GROUP_LABEL}{group}" for group in groups}
    return parts(tree for tree in objects if wanted & meta.labels(tree).keys())


def groups_of(objects: Iterable[Object]) -> list[str]:
    """Returns the names of all groups."""
    keys = {key for tree in objects for key in meta.labels(tree) if key.startswith(GROUP_LABEL)}
    return sorted(key.removeprefix(GROUP_LABEL) for key in keys)


def selected_objects(objects: Sequence[Object], names: Collection[str], *, dependencies: bool = True) -> list[Object]:
    """Returns the objects of some services and tasks, of their dependencies, and the objects that belong to no part.
    Without `dependencies`, the parts wait for no other part. A named task runs."""
    ours = [tree for tree in objects if tree["apiVersion"].startswith((GROUP, OWN_GROUP)) and tree["kind"] != "App"]
    named = [tree for tree in ours if part_of(tree) in names]
    needed = {key for tree in named for key in needs(ours, (tree["kind"], meta.name(tree)))}
    if not dependencies:
        needed -= {(tree["kind"], meta.name(tree)) for tree in ours if part_of(tree) and part_of(tree) not in names}
    found = []
    for tree in objects:
        key = tree["kind"], meta.name(tree)
        is_ours = tree["apiVersion"].startswith((GROUP, OWN_GROUP))
        if tree["kind"] in _GROUNDWORK or not is_ours or key in needed:
            found.append(_prepared(tree, needed, dependencies=dependencies) if part_of(tree) in names else tree)
    return found


def _prepared(tree: Object, needed: Collection[tuple[str, str]], *, dependencies: bool) -> Object:
    """Returns a named part: a task that runs, and without unwanted dependencies."""
    made: Object = copy(tree)
    spec = made["spec"]
    if made["kind"] == "Task" and not spec.get("schedule"):
        spec.pop("suspend", None)
    if not dependencies:
        for place in (spec, (spec.get("template") or {}).get("spec") or {}):
            kept = [each for each in place.get("dependsOn") or () if (each["kind"], each["name"]) in needed]
            if "dependsOn" in place:
                place["dependsOn"] = kept
    return made


def with_selection(before: Sequence[Object], selected: Sequence[Object]) -> list[Object]:
    """Returns the objects of an app after a selection was added: the selected ones, and the others as before."""
    keys = {_key(tree) for tree in selected}
    return [*selected, *(tree for tree in before if _key(tree) not in keys)]


def without_parts(before: Sequence[Object], names: Collection[str]) -> list[Object]:
    """Returns the objects of an app without some services and tasks."""
    return [tree for tree in before if meta.labels(tree).get(PART_LABEL) not in names]


def _key(tree: Object) -> tuple[str, str, str, str]:
    return tree["apiVersion"].rpartition("/")[0], tree["kind"], meta.namespace(tree), meta.name(tree)
