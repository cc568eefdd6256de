"""Creates the default roles and bindings of a cluster and updates them at every start.

Missing objects are created together. Existing objects, unless their `autoupdate` annotation is "false", get missing
rules, subjects, labels and annotations, and keep additions by users.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.clock import Clock
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.aggregation import MANAGER, Aggregation
from setpoint.server.access.authorization.coverage import not_covered
from setpoint.server.access.authorization.default_policy import AUTOUPDATE, default_policy
from setpoint.server.access.authorization.policy_rules import RoleRules
from setpoint.server.access.authorization.roles import GROUP, VERSION
from setpoint.server.bootstrap.system_objects import APISERVER
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.storage import Encoding
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed, Item, Write

_PLURALS = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}
# Placeholders for time and UID in objects that are encoded in advance.
_TIME, _UID = "\x00time", "\x00uid"
_TIME_BYTES, _UID_BYTES = rb'"\u0000time"', rb'"\u0000uid"'
# The number of objects per transaction: etcd allows 128 operations, and a write may need two.
_TOGETHER = 50
_ATTEMPTS = 5


class _Default(NamedTuple):
    """A default object: the expected tree, and its encoded bytes for creation."""

    namespace: str
    name: str
    tree: Object
    encoded: bytes

    def value(self, time: str, uid: str) -> bytes:
        return self.encoded.replace(_TIME_BYTES, b'"%b"' % time.encode()).replace(_UID_BYTES, b'"%b"' % uid.encode())


async def provide(services: Services, aggregation: Aggregation | None) -> None:
    """Creates or updates the default roles and bindings. Without aggregation, another program gathers the rules of
    aggregated roles."""
    for _ in range(_ATTEMPTS):
        writes, is_update = await _writes(services, aggregates=aggregation is not None)
        try:
            for start in range(0, len(writes), _TOGETHER):
                await services.transact(writes[start : start + _TOGETHER], APISERVER)
        except ExpectationFailed:
            continue  # another server with the same store writes the same objects
        break
    if is_update and aggregation is not None:
        await aggregation.update_roles()


async def _writes(services: Services, *, aggregates: bool) -> tuple[list[Write], bool]:
    """Returns the necessary writes, and True if the store already contained some of the objects."""
    stored: dict[str, Item] = {}
    resources = {kind: _resource(services, plural) for kind, plural in _PLURALS.items()}
    defaults = _defaults(aggregates)
    for prefix in {resources[default.tree["kind"]].storage.scope(default.namespace) for default in defaults}:
        stored |= {item.key: item for item in (await services.store.range(prefix)).items}
    writes = []
    time = format_time(services.clock.now())
    for default in defaults:
        resource = resources[default.tree["kind"]]
        key = resource.storage.key(default.namespace, default.name)
        item = stored.get(key)
        if item is None:
            writes.append(Write(key, default.value(time, services.ids.uid()), ABSENT))
            continue
        old = resource.item(item)
        new = reconciled(old, default.tree)
        if new is None:
            writes.append(Write(key, default.value(time, services.ids.uid()), item.revision))
        elif new != old:
            writes.append(Write(key, _updated(resource, new, old, services.clock), item.revision))
    return writes, bool(stored and writes)


def _resource(services: Services, plural: str) -> Resource:
    found = services.registry.resource(GROUP, VERSION, plural)
    assert found is not None, f"{plural} are not served"
    return found


def _updated(resource: Resource, new: Object, old: Object, clock: Clock) -> bytes:
    return resource.encode(resource.field_manager("", clock).update(old, new, APISERVER.field_manager))


def reconciled(stored: Object, default: Object) -> Object | None:
    """Returns the stored object completed with missing defaults, or None if the binding has another role and must be
    recreated."""
    metadata = stored["metadata"]
    if (metadata.get("annotations") or {}).get(AUTOUPDATE) == "false":
        return stored
    if stored.get("roleRef") != default.get("roleRef"):
        return None
    merged = {name: {**default["metadata"][name], **(metadata.get(name) or {})} for name in ("annotations", "labels")}
    new = {**stored, "metadata": {**metadata, **merged}}
    if "roleRef" in default:
        subjects = stored.get("subjects") or []
        lacking = [subject for subject in default.get("subjects") or () if subject not in subjects]
        return {**new, "subjects": [*subjects, *lacking]} if lacking else new
    return _with_rules(new, default)


def _with_rules(role: Object, default: Object) -> Object:
    gathers = default.get("aggregationRule")
    if gathers is None:
        role.pop("aggregationRule", None)
        rules = role.get("rules") or []
        if rules != default["rules"] and (lacking := not_covered(RoleRules(rules), default["rules"])):
            role["rules"] = [*rules, *lacking]
        return role
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    lacking = [selector for selector in gathers["clusterRoleSelectors"] if selector not in selectors]
    if lacking:
        role["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *lacking]}
    return role


@cache
def _defaults(aggregates: bool) -> Sequence[_Default]:
    found = []
    for tree in default_policy():
        if "aggregationRule" in tree and not aggregates:
            tree["rules"] = None
        metadata = {
            **tree["metadata"],
            "creationTimestamp": _TIME,
            "managedFields": _managed_fields(tree, aggregates=aggregates),
            "uid": _UID,
        }
        encoded = Encoding(tree["apiVersion"], tree["kind"]).encode({**tree, "metadata": metadata})
        found.append(_Default(meta.namespace(tree), meta.name(tree), tree, encoded))
    return found


def _managed_fields(tree: Object, *, aggregates: bool) -> list[Object]:
    """Returns the managed fields: the server owns all fields, except that the aggregation controller owns the rules of
    aggregated roles."""
    own: Object = {
        "f:metadata": {
            f"f:{part}": {".": {}, **{f"f:{name}": {} for name in tree["metadata"][part]}}
            for part in ("annotations", "labels")
        }
    }
    if "aggregationRule" in tree:
        own["f:aggregationRule"] = {".": {}, "f:clusterRoleSelectors": {}}
        gathered = [_entry(MANAGER, "Apply", {"f:rules": {}})] if aggregates else []
        return [*gathered, _entry(APISERVER.field_manager, "Update", own)]
    for field in ("roleRef", "rules", "subjects"):
        if tree.get(field):
            own[f"f:{field}"] = {}
    return [_entry(APISERVER.field_manager, "Update", own)]


def _entry(manager: str, operation: str, fields: Object) -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": f"{GROUP}/{VERSION}",
        "time": _TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
