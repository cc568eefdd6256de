"""The slices that mirror Endpoints: one for each subset and address family. Pure functions."""

from collections.abc import Hashable
from typing import NamedTuple

from setpoint.objects.tree import Object
from setpoint.system.service_endpoints.pods import IPV4, IPV6, TRIGGER_TIME, parsed
from setpoint.system.service_endpoints.slices import (
    MANAGER_LABEL,
    SERVICE_LABEL,
    SliceChanges,
    identity,
    is_equal,
    new_slice,
    ports_key,
    renamed,
)
from setpoint.system.service_endpoints.subsets import repacked

MANAGED_BY = "endpointslicemirroring-controller.k8s.io"
# The most addresses of a subset that are mirrored.
MOST_ADDRESSES = 1000
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_MIRRORED = frozenset((TRIGGER_TIME, _LAST_APPLIED))

Key = tuple[str, Hashable]


class Wanted(NamedTuple):
    """The endpoints of one slice, by their identity."""

    ports: list[Object]
    endpoints: dict[Hashable, Object]


class Mirror(NamedTuple):
    """The desired slices, and the numbers of addresses that are invalid, and that are left out for any reason."""

    wanted: dict[Key, Wanted]
    invalid: int
    skipped: int


def mirror_of(endpoints: Object) -> Mirror:
    """Returns the slices that mirror Endpoints."""
    wanted: dict[Key, Wanted] = {}
    invalid = skipped = 0
    for subset in repacked(endpoints.get("subsets") or ()):
        ports = [{"name": "", **each} for each in subset.get("ports") or ()]
        key = ports_key(ports)
        states = [(each, True) for each in subset.get("addresses") or ()]
        states += [(each, False) for each in subset.get("notReadyAddresses") or ()]
        added = 0
        for address, is_ready in states:
            if added >= MOST_ADDRESSES:
                break
            found = parsed(address["ip"])
            if found is None:
                invalid += 1
                continue
            added += 1
            family = IPV6 if found.version == 6 else IPV4
            endpoint = _endpoint(address, str(found), is_ready=is_ready)
            slot = wanted.setdefault((family, key), Wanted(ports, {}))
            slot.endpoints[identity(endpoint)] = endpoint
        skipped += len(states) - added
    return Mirror(wanted, invalid, skipped)


def _endpoint(address: Object, text: str, *, is_ready: bool) -> Object:
    endpoint: Object = {"addresses": [text], "conditions": {"ready": is_ready}}
    for name in ("targetRef", "nodeName", "hostname"):
        if address.get(name):
            endpoint[name] = address[name]
    return endpoint


def mirror_changes(endpoints: Object, existing: list[Object], wanted: dict[Key, Wanted]) -> SliceChanges:
    """Returns the changes that bring the existing slices to the desired ones."""
    by_key: dict[Key, list[Object]] = {}
    for each in existing:
        by_key.setdefault((each["addressType"], ports_key(each.get("ports"))), []).append(each)
    changes = SliceChanges([], [], [])
    for key, slot in wanted.items():
        found = by_key.pop(key, [])
        changes.delete.extend(found[1:])
        if not found:
            changes.create.append(_slice(endpoints, key[0], slot))
        elif not _is_current(endpoints, found[0], slot):
            made = renamed(_slice(endpoints, key[0], slot), found[0])
            del made["metadata"]["generateName"]
            changes.update.append(made)
    for rest in by_key.values():
        changes.delete.extend(rest)
    _recycle(changes)
    return changes


def _recycle(changes: SliceChanges) -> None:
    """Turns creations into updates of slices of the same family that would be deleted otherwise."""
    for made in list(changes.create):
        old = next((each for each in changes.delete if each["addressType"] == made["addressType"]), None)
        if old is not None:
            changes.create.remove(made)
            changes.delete.remove(old)
            changes.update.append(renamed(made, old))


def _is_current(endpoints: Object, found: Object, slot: Wanted) -> bool:
    metadata, uid = found["metadata"], endpoints["metadata"]["uid"]
    labels = {name: value for name, value in metadata["labels"].items() if name not in (SERVICE_LABEL, MANAGER_LABEL)}
    before = {identity(each): each for each in found.get("endpoints") or ()}
    return (
        before.keys() == slot.endpoints.keys()
        and all(is_equal(each, before[key]) for key, each in slot.endpoints.items())
        and labels == (endpoints["metadata"].get("labels") or {})
        and (metadata.get("annotations") or {}) == _annotations(endpoints)
        and all(each["uid"] == uid for each in metadata.get("ownerReferences") or () if each["kind"] == "Endpoints")
    )


def _annotations(endpoints: Object) -> Object:
    given = endpoints["metadata"].get("annotations") or {}
    return {name: value for name, value in given.items() if name not in _NOT_MIRRORED}


def _slice(endpoints: Object, family: str, slot: Wanted) -> Object:
    metadata = endpoints["metadata"]
    own = {SERVICE_LABEL: metadata["name"], MANAGER_LABEL: MANAGED_BY}
    made = new_slice(endpoints, family, {**(metadata.get("labels") or {}), **own}, slot.ports)
    made["metadata"]["annotations"] = _annotations(endpoints)
    return {**made, "endpoints": list(slot.endpoints.values())}
