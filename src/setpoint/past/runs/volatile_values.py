"""The values in the objects of a run that are new in every run: UIDs and generated names, process ids, allocated ports
and times. Replacing them by stable names makes two runs comparable. Pure functions.

UIDs and generated names are replaced in all fields; ports, process ids and times only in status, metadata and
Endpoints, because the app file does not set them there. A port that the app file changes is a difference of the spec.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from setpoint.objects import meta
from setpoint.objects.tree import Json, Object
from setpoint.workload.inventory import replica_name
from setpoint.workload.kinds.api_names import DISPLAY_NAME

_ENDPOINT: Final = "Endpoint"
_word = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
# Generators of names leave out vowels, so that no words appear.
_generated = re.compile(r"[0-9bcdfghjklmnpqrstvwxz]{5,}").fullmatch
_time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_variable = re.compile(r"status\.effectiveEnv\[(?P<name>[^\]]+)\]").match
_OF_SHELL: Final = frozenset(("OLDPWD", "PWD", "SHLVL", "_"))
_TIME: Final = "<time>"
_PROCESS: Final = "<process>"


class VolatileValues(NamedTuple):
    """The values of one run, each with its stable name."""

    # UIDs and generated names.
    identities: Mapping[str, str]
    # Allocated ports, by their decimal text.
    ports: Mapping[str, str]
    processes: Mapping[str, str]

    def with_stable_identities(self, tree: Object) -> Object:
        """Returns an object with stable names instead of UIDs and generated names."""
        found: Object = _replaced(tree, self.identities)
        return found

    def without_ports(self, value: Json) -> Json:
        """Returns a value with stable names instead of allocated ports."""
        return _replaced(value, self.ports)

    def without_times(self, value: Json) -> Json:
        """Returns a value without times and process ids."""
        return _replaced(value, self.processes, times=True)


def volatile_values(trees: Iterable[Object]) -> VolatileValues:
    """Returns the volatile values of the objects of a run."""
    found = list(trees)
    identities = dict[str, str]()
    for tree, name in zip(found, _stable_names(found), strict=True):
        own = meta.name(tree)
        if name != own:
            identities[own] = name
            if shown := meta.annotations(tree).get(DISPLAY_NAME):
                identities[shown] = name
            identities[own.rpartition("-")[2]] = f"<suffix of {name}>"
        if uid := meta.uid(tree):
            identities[uid] = f"<uid of {tree['kind']} {name}>"
    ports, processes = dict[str, str](), dict[str, str]()
    for tree in found:
        status, spec = tree.get("status") or {}, tree.get("spec") or {}
        name = identities.get(meta.name(tree), meta.name(tree))
        if port := spec.get("port") if tree["kind"] == _ENDPOINT else status.get("effectivePort"):
            ports[str(port)] = f"<port of {tree['kind']} {name}>"
        for field in ("pid", "proxyProcessPid"):
            if pid := status.get(field):
                processes[str(pid)] = _PROCESS
    return VolatileValues(identities, ports, processes)


def is_of_shell(path: str) -> bool:
    """Returns True for a variable that the shell of the user changes with every command."""
    found = _variable(path)
    return found is not None and found["name"] in _OF_SHELL


def is_derived(kind: str, path: str) -> bool:
    """Returns True for a field that is never set by the app file, in which ports and times are results of a start."""
    return kind == _ENDPOINT or path.startswith(("status", "metadata"))


def _stable_names(trees: list[Object]) -> list[str]:
    """Returns the names of objects, with stable ones for names that a controller generated: the owner with
    the place among its objects of the kind, for replicas in the order of their numbers."""
    by_uid = {meta.uid(tree): tree for tree in trees}
    places: dict[tuple[str, str], int] = {}
    known: dict[int, str] = {}

    def name_of(tree: Object) -> str:
        if (made := known.get(id(tree))) is not None:
            return made
        own = meta.name(tree)
        owner = next((each for each in meta.owner_references(tree) if each.get("controller")), None)
        owning = by_uid.get(owner["uid"]) if owner is not None else None
        name = own
        start, _, suffix = own.rpartition("-")
        if owning is not None and start == meta.name(owning) and _generated(suffix):
            key = str(tree["kind"]), name_of(owning)
            places[key] = places.get(key, 0) + 1
            name = f"{key[1]}{'.' if replica_name(tree) else '#'}{places[key]}"
        known[id(tree)] = name
        return name

    for tree in sorted(trees, key=_order):
        name_of(tree)
    return [name_of(tree) for tree in trees]


def _order(tree: Object) -> tuple[int, str, str]:
    number = replica_name(tree).rpartition(".")[2]
    created = str(tree["metadata"].get("creationTimestamp", ""))
    return int(number) if number.isdecimal() else 0, created, meta.name(tree)


def _replaced(value: Any, names: Mapping[str, str], *, times: bool = False) -> Any:
    if isinstance(value, dict):
        return {_text(key, names): _replaced(item, names, times=times) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, names, times=times) for item in value]
    if isinstance(value, str):
        return _text(_time.sub(_TIME, value) if times else value, names)
    if isinstance(value, int) and not isinstance(value, bool):
        return names.get(str(value), value)
    return value


def _text(text: str, names: Mapping[str, str]) -> str:
    if text in names:
        return names[text]
    return _word.sub(lambda found: names.get(found[0], found[0]), text)
