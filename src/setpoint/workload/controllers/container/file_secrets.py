"""Fills the files of a container that contain keys of Secrets. The values are only in the desired container, and not in
the object."""

from collections.abc import Iterator

from setpoint.objects.tree import Object
from setpoint.workload.controllers.lookup import Lookup
from setpoint.workload.kinds.container import ContainerSpec
from setpoint.workload.kinds.files import SecretKey

_NAMESPACE = "default"


def missing(spec: ContainerSpec, lookup: Lookup) -> str:
    """Returns a message about the first missing key of a Secret, or an empty text."""
    for secret in _wanted(spec):
        if _value(secret.name, secret.key, lookup) is None:
            return f"the key {secret.key} of the Secret {secret.name}"
    return ""


def filled(tree: Object, lookup: Lookup) -> Object:
    """Returns the object with the contents of its files from Secrets."""
    spec = tree["spec"]
    groups = spec.get("createFiles") or ()
    if not any(entry.get("secret") for group in groups for entry in group["entries"]):
        return tree
    made = [{**group, "entries": [_entry(each, lookup) for each in group["entries"]]} for group in groups]
    return {**tree, "spec": {**spec, "createFiles": made}}


def _wanted(spec: ContainerSpec) -> Iterator[SecretKey]:
    for group in spec.create_files:
        yield from (entry.secret for entry in group.entries if entry.secret is not None)


def _entry(entry: Object, lookup: Lookup) -> Object:
    secret = entry.get("secret")
    if not secret:
        return entry
    kept = {name: value for name, value in entry.items() if name != "secret"}
    return {**kept, "rawContents": _value(secret["name"], secret["key"], lookup) or ""}


def _value(name: str, key: str, lookup: Lookup) -> str | None:
    """Returns a key of a Secret in base64, or None if missing."""
    found = (lookup.secret(_NAMESPACE, name) or {}).get("data") or {}
    value: str | None = found.get(key)
    return value
