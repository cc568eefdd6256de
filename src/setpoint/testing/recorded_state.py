"""The objects of an archive as the initial state of a world: `setpoint export` of a cluster or of an app."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from setpoint.objects.times import parse_micro_time
from setpoint.past.archive.format import BadArchive
from setpoint.past.archive.reader import opened, read_manifest, revisions
from setpoint.server.registry import builtin_resources
from setpoint.store.bounds import Bounds
from setpoint.store.dump import Contents
from setpoint.store.memory import MemorySnapshot, State

_DEFINITIONS = "/apiextensions.k8s.io/customresourcedefinitions/"
_NAMESPACES = "/core/namespaces/"


class RecordedState(NamedTuple):
    """The contents of an archive."""

    store: MemorySnapshot
    # The time of the export, at which the world begins.
    time: datetime
    # The namespaces that have objects but are not in the archive themselves.
    namespaces: list[str]


def read_state(path: str | PathLike[str], definitions: Collection[str] = ()) -> RecordedState:
    """Reads an archive. `definitions` are the names of definitions that are installed beside those of the archive.
    Raises BadArchive, also if objects have no definition, and OSError."""
    path = Path(path)
    with opened(path) as archive:
        manifest = read_manifest(archive)
        with revisions(archive, manifest) as found:
            entries = list(found)
    current = {entry.key: entry for entry in entries}
    live = [key for key, entry in current.items() if entry.value is not None]
    _check_definitions(path, live, definitions, manifest.notes)
    contents = Contents(Bounds(manifest.oldest, manifest.revision), entries, {})
    return RecordedState(State.of(contents).snapshot(), parse_micro_time(manifest.exported), _namespaces(live))


def _check_definitions(path: Path, live: list[str], given: Collection[str], notes: list[str]) -> None:
    """Raises BadArchive for objects that could not be served."""
    known = {key.removeprefix(_DEFINITIONS) for key in live if key.startswith(_DEFINITIONS)} | set(given)
    builtin = {each.storage.prefix for each in builtin_resources.resources()}
    missing: Counter[str] = Counter()
    for key in live:
        _, group, plural, _ = key.split("/", 3)
        if f"/{group}/{plural}/" not in builtin and f"{plural}.{group}" not in known:
            missing[f"{plural}.{group}"] += 1
    if missing:
        counts = ", ".join(f"{number} of {name}" for name, number in sorted(missing.items()))
        reason = next((f" ({note})" for note in notes if note.startswith("customresourcedefinitions")), "")
        raise BadArchive(
            f"{path} has objects without their CustomResourceDefinition: {counts}{reason}. Give the classes of "
            "these kinds to the world with `crds=[...]`, or export again as a user with the right to list "
            "customresourcedefinitions.apiextensions.k8s.io"
        )


def _namespaces(live: list[str]) -> list[str]:
    namespaced = {each.storage.prefix: each.namespaced for each in builtin_resources.resources()}
    found = set()
    for key in live:
        _, group, plural, rest = key.split("/", 3)
        namespace, slash, _ = rest.partition("/")
        if slash and namespaced.get(f"/{group}/{plural}/", True):
            found.add(namespace)
    return sorted(found - {key.removeprefix(_NAMESPACES) for key in live if key.startswith(_NAMESPACES)})
