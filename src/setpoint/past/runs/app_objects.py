"""The objects of an app in a store, at a revision, without those that the server makes for itself.

Left out are the kinds below, and objects that only the server and its controllers wrote, such as default roles.
"""

import asyncio
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.objects.tree import Object
from setpoint.past.runs.record import RunObject
from setpoint.store.contract import Item, StateReads
from setpoint.workload.kinds.api_names import GROUP, OWN_GROUP

# The prefixes of the keys of kinds without content of the app: records of events, and copies of other objects.
_SKIPPED: Final = frozenset(
    f"/{each}/"
    for each in (
        "apiregistration.k8s.io/apiservices",
        "coordination.k8s.io/leases",
        "core/endpoints",
        "core/events",
        "discovery.k8s.io/endpointslices",
        "flowcontrol.apiserver.k8s.io/flowschemas",
        "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
        "networking.k8s.io/ipaddresses",
        "networking.k8s.io/servicecidrs",
    )
)
# The prefixes of the keys of parts and their services.
PART_PREFIXES: Final = (f"/{GROUP}/", f"/{OWN_GROUP}/")
_DEFINITIONS: Final = "/apiextensions.k8s.io/customresourcedefinitions/"
_OUR_DEFINITIONS: Final = tuple(f".{group}" for group in (GROUP, OWN_GROUP))
# The managers of the server's own writes.
_OF_SERVER: Final = frozenset(("kube-apiserver", "kube-controller-manager", "clusterrole-aggregation-controller"))
_AUTHORITY: Final = "kube-root-ca.crt"
_PAGE: Final = 50


class _Manager(msgspec.Struct):
    manager: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    managed_fields: list[_Manager] = []


class _Managed(msgspec.Struct):
    metadata: _Metadata


_managed = msgspec.json.Decoder(_Managed)
_tree = msgspec.json.Decoder(dict[str, Any])


class AppObjects(NamedTuple):
    """The stored objects of an app; with the reason why others are left out, only the parts."""

    items: tuple[Item, ...]
    omitted: str = ""


async def read_app_objects(store: StateReads, at: int | None, most_bytes: int) -> AppObjects:
    """Returns the objects of an app at a revision, or now. Raises StoreError."""
    found: list[Item] = []
    size, after, omitted = 0, "", ""
    while True:
        page = await store.range("/", after, _PAGE, at=at)
        for item in page.items:
            after = item.key
            if (prefix := _prefix(item.key)) in _SKIPPED:
                after = f"{prefix[:-1]}0"  # the next character after the slash, beyond all keys of the kind
                break
            if (omitted and not _is_part(item)) or not _is_of_app(item):
                continue
            found.append(item)
            size += len(item.value)
            if size > most_bytes and omitted:
                return AppObjects((), omitted)
            if size > most_bytes:
                omitted = f"the objects of the app have more than {most_bytes} bytes"
                found = list(filter(_is_part, found))
                size = sum(len(each.value) for each in found)
        else:
            if not page.remaining:
                return AppObjects(tuple(found), omitted)
        await asyncio.sleep(0)


def run_objects(items: tuple[Item, ...]) -> tuple[RunObject, ...]:
    """Returns items in the form of a snapshot: with their revisions, and without the records of their writers."""
    return tuple(RunObject(item.key, item.revision, _written(item)) for item in items)


def tree_of(found: RunObject) -> Object:
    """Returns the object of a snapshot."""
    return _tree.decode(found.value)


def _written(item: Item) -> msgspec.Raw:
    tree = _tree.decode(item.value)
    tree["metadata"].pop("managedFields", None)
    tree["metadata"]["resourceVersion"] = str(item.revision)
    return msgspec.Raw(msgspec.json.encode(tree))


def _is_part(item: Item) -> bool:
    return item.key.startswith(PART_PREFIXES)


def _prefix(key: str) -> str:
    _, group, resource, *_ = (*key.split("/", 3), "", "", "")
    return f"/{group}/{resource}/"


def _is_of_app(item: Item) -> bool:
    if item.key.startswith(_DEFINITIONS) and item.key.endswith(_OUR_DEFINITIONS):
        return False
    if item.key.endswith(f"/{_AUTHORITY}"):
        return False
    try:
        managed = _managed.decode(item.value)
    except msgspec.DecodeError:
        return False  # a record of the server that is no object
    return bool({each.manager for each in managed.metadata.managed_fields} - _OF_SERVER)
