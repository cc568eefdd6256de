"""Compares two renders of an app: which objects are added, removed and changed, and the effect of each change.

To apply the changes: create `added`, delete `removed`, update `live` and `rolling`, update and restart `restart`, and
delete and create `recreate` and `rerun`. If only a secret changed, workloads that restart (or roll: by their template)
must be restarted explicitly.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from setpoint.controller.difference import changed_paths, parse_path
from setpoint.gotemplate.nodes import TemplateError
from setpoint.objects.tree import Json, Object
from setpoint.workload.kinds.api_names import GROUP, OWN_GROUP
from setpoint.workload.kinds.definitions import definitions
from setpoint.workload.templates import references

What: TypeAlias = Literal["added", "changed", "removed"]
Effect: TypeAlias = Literal["live", "restart", "rolling", "recreate", "rerun"]
Key: TypeAlias = tuple[str, str, str, str]

_MOST_PATHS = 256
# Fields of a workload that take effect at its next start, stop or check, without a restart.
_RESTARTS = ("restartPolicy", "restartBackoff", "maxRestarts")
_LIVE = frozenset(("dependsOn", "watch", *_RESTARTS, "stopSignal", "stopTimeout", "logs"))
# A running container can change its networks, but no other setting of its creation.
_CONTAINER_LIVE = (_LIVE - {"stopSignal", "logs"}) | {"fileActions", "networks"}
# Fields that can be changed, but not added or removed.
_FIXED_PRESENCE = frozenset(("networks", "schedule"))


class ObjectChange(NamedTuple):
    """A changed object: the changed fields, and the effect. `why` has a reason that is not a field."""

    what: What
    kind: str
    name: str
    namespace: str
    effect: Effect = "live"
    fields: tuple[str, ...] = ()
    why: str = ""
    old: Object | None = None
    new: Object | None = None

    def __str__(self) -> str:
        text = f"{self.what} {self.kind} {self.name}"
        reason = ", ".join(self.fields) or self.why
        effect = "" if self.what != "changed" else f" ({EFFECTS[self.effect]})"
        return f"{text}{effect}{f': {reason}' if reason else ''}"


# Returns the reason to replace a workload that did not change; empty if there is none.
Renewal: TypeAlias = Callable[[Object], str]


def no_renewal(tree: Object) -> str:
    """Replaces no workload."""
    return ""


EFFECTS: Mapping[Effect, str] = {
    "live": "keeps running",
    "restart": "restarts",
    "rolling": "restarts one by one",
    "recreate": "is recreated",
    "rerun": "runs again",
}


def changes(old: Iterable[Object], new: Iterable[Object], renewal: Renewal = no_renewal) -> list[ObjectChange]:
    """Returns the changes between the objects of two renders, in the order of the new ones; removals come last, in
    reverse order. Workloads for which `renewal` returns a reason are replaced even if they did not change."""
    before, after = _by_key(old), _by_key(new)
    found = [each for key, tree in after.items() if (each := _change(key, before.get(key), tree)) is not None]
    found += _restarts_for_secrets(found, before, after)
    found = _renewed(found, before, after, renewal)
    return found + [_removed(key, before[key]) for key in reversed(before) if key not in after]


def is_built(tree: Object) -> bool:
    """Returns True for a workload whose image is built."""
    spec = tree.get("spec") or {}
    inner = (spec.get("template") or {}).get("spec") or {}
    return tree["kind"] in _REPLACED and bool(spec.get("build") or inner.get("build"))


def _renewed(
    found: Iterable[ObjectChange], before: Mapping[Key, Object], after: Mapping[Key, Object], renewal: Renewal
) -> list[ObjectChange]:
    """Returns the changes with those that `renewal` requires. A change that keeps a workload running becomes a
    replacement."""
    made = {(each.kind, each.namespace, each.name): each for each in found}
    for key, tree in after.items():
        group, kind, namespace, name = key
        if key not in before or kind not in _REPLACED or group not in (GROUP, OWN_GROUP) or not (why := renewal(tree)):
            continue
        if kind == "Task" and tree["spec"].get("suspend"):
            continue
        known = made.get((kind, namespace, name))
        if known is None:
            known = ObjectChange("changed", kind, name, namespace, why=why, old=before[key], new=tree)
        if known.effect != "recreate":
            made[kind, namespace, name] = known._replace(effect=_REPLACED[kind])
    return list(made.values())


def _by_key(objects: Iterable[Object]) -> dict[Key, Object]:
    return {_key(tree): tree for tree in objects}


def _key(tree: Object) -> Key:
    metadata = tree["metadata"]
    return tree["apiVersion"].rpartition("/")[0], tree["kind"], metadata.get("namespace", ""), metadata["name"]


def _removed(key: Key, tree: Object) -> ObjectChange:
    return ObjectChange("removed", key[1], key[3], key[2], old=tree)


def _change(key: Key, old: Object | None, new: Object) -> ObjectChange | None:
    _, kind, namespace, name = key
    if old is None:
        return ObjectChange("added", kind, name, namespace, new=new)
    paths = changed_paths(old, new, _MOST_PATHS)
    if not paths:
        return None
    return ObjectChange("changed", kind, name, namespace, _effect(key, old, new, paths), paths, "", old, new)


def _effect(key: Key, old: Object, new: Object, paths: Sequence[str]) -> Effect:
    group, kind, _, _ = key
    if group not in (GROUP, OWN_GROUP):
        return "live"
    steps = [parse_path(path) for path in paths]
    fields = {step[1] for step in steps if step[0] == "spec" and len(step) > 1}
    old_spec, new_spec = old.get("spec") or {}, new.get("spec") or {}
    fixed = _immutable().get((group, kind), frozenset()) & fields
    if any(field not in _FIXED_PRESENCE or (field in old_spec) != (field in new_spec) for field in fixed):
        return "recreate"
    if kind == "Container" and fields - _CONTAINER_LIVE:
        return "recreate"
    if kind == "Executable" and fields - _LIVE:
        return "restart"
    if kind == "ExecutableReplicaSet" and any(step[:2] == ("spec", "template") for step in steps):
        return "rolling"
    if kind == "Task" and "template" in fields and not new_spec.get("schedule") and not new_spec.get("suspend"):
        return "rerun"
    return "live"


@cache
def _immutable() -> Mapping[tuple[str, str], frozenset[str]]:
    """Returns the immutable fields of specs, by group and kind."""
    found = {}
    for definition in definitions():
        spec = definition["spec"]
        [version] = spec["versions"]
        schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        rules = schema.get("x-kubernetes-validations") or ()
        found[spec["group"], spec["names"]["kind"]] = frozenset(
            rule["fieldPath"].lstrip(".") for rule in rules if "oldSelf" in rule["rule"] and "fieldPath" in rule
        )
    return found


def _restarts_for_secrets(
    found: Iterable[ObjectChange], before: Mapping[Key, Object], after: Mapping[Key, Object]
) -> list[ObjectChange]:
    """Returns restarts for workloads that read a changed secret, although their own objects did not change."""
    changed = {
        (f"{each.namespace}/{each.name}", key)
        for each in found
        if each.kind == "Secret" and each.old is not None and each.new is not None
        for key, value in (each.new.get("data") or {}).items()
        if (each.old.get("data") or {}).get(key) != value
    }
    if not changed:
        return []
    affected = {(each.kind, each.name): each for each in found}
    restarts: list[ObjectChange] = []
    for key, tree in after.items():
        group, kind, namespace, name = key
        if key not in before or (kind, name) in affected or kind not in _RESTARTED or group not in (GROUP, OWN_GROUP):
            continue
        read = sorted(secret for _, secret in _secrets_of(tree["spec"]) & changed)
        if read:
            why = f"the secret {', '.join(read)} changed"
            restarts.append(
                ObjectChange("changed", kind, name, namespace, _RESTARTED[kind], (), why, before[key], tree)
            )
    return restarts


_RESTARTED: Mapping[str, Effect] = {
    "Executable": "restart",
    "Container": "recreate",
    "ExecutableReplicaSet": "rolling",
}
_REPLACED: Mapping[str, Effect] = {**_RESTARTED, "Task": "rerun"}


def _secrets_of(tree: Json) -> set[tuple[str, str]]:
    """Returns the secrets in the templates of a spec: `namespace/name`, and the key."""
    found: set[tuple[str, str]] = set()
    files = tree.get("createFiles") or () if isinstance(tree, dict) else ()
    for entry in (entry for group in files for entry in group["entries"] if entry.get("secret")):
        found.add((f"default/{entry['secret']['name']}", entry["secret"]["key"]))
    for text in _texts(tree):
        try:
            needed = references(text)
        except TemplateError:
            continue
        for each in needed:
            if each.kind == "Secret" and each.arguments:
                name = each.name if "/" in each.name else f"default/{each.name}"
                found.add((name, each.arguments[0]))
    return found


def _texts(tree: Json) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from _texts(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from _texts(item)
