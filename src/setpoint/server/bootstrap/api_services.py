"""The APIServices of the versions that this server serves itself: one for each group and version.

Those of built-in groups are created at the start if they are missing, and then belong to the users. Those of custom
resources follow the definitions: created with the first served definition of a version, restored after changes and
deletions by users, and deleted with the last one. A label tells the two from APIServices that users created, which
are left alone. Only servers that listen register: the controllers of a plane in one process then see no APIService
that they did not create.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object, copy
from setpoint.server.bootstrap.system_objects import APISERVER, complete
from setpoint.server.registry.kinds.apiextensions import GROUP as DEFINITIONS_GROUP
from setpoint.server.registry.kinds.apiextensions import RESOURCE as DEFINITIONS
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.server_fields import managed, map_fields
from setpoint.server.request.context import Context, Services
from setpoint.store.contract import ABSENT, ExpectationFailed, Write

GROUP: Final = "apiregistration.k8s.io"
_VERSION, _PLURAL = "v1", "apiservices"
LABEL: Final = "kube-aggregator.kubernetes.io/automanaged"
_AT_START, _ALWAYS = "onstart", "true"
_ATTEMPTS = 10


class _Priority(NamedTuple):
    """The order of a group among the groups, and of a version among the versions of its group."""

    group: int
    version: int


# Custom resources come after all built-in groups.
_CUSTOM = _Priority(1000, 100)
# The priorities of Kubernetes. Versions without an entry have no APIService, such as that of APIServices itself.
_BUILTIN: Final = {
    "v1": _Priority(18000, 1),
    "apps/v1": _Priority(17800, 15),
    "events.k8s.io/v1": _Priority(17750, 15),
    "authentication.k8s.io/v1": _Priority(17700, 15),
    "authorization.k8s.io/v1": _Priority(17600, 15),
    "autoscaling/v1": _Priority(17500, 15),
    "autoscaling/v2": _Priority(17500, 30),
    "batch/v1": _Priority(17400, 15),
    "certificates.k8s.io/v1": _Priority(17300, 15),
    "networking.k8s.io/v1": _Priority(17200, 15),
    "policy/v1": _Priority(17100, 15),
    "rbac.authorization.k8s.io/v1": _Priority(17000, 15),
    "storage.k8s.io/v1": _Priority(16800, 15),
    "admissionregistration.k8s.io/v1": _Priority(16700, 15),
    "apiextensions.k8s.io/v1": _Priority(16700, 15),
    "scheduling.k8s.io/v1": _Priority(16600, 15),
    "coordination.k8s.io/v1": _Priority(16500, 15),
    "node.k8s.io/v1": _Priority(16300, 15),
    "discovery.k8s.io/v1": _Priority(16200, 15),
    "resource.k8s.io/v1": _Priority(16200, 21),
    "flowcontrol.apiserver.k8s.io/v1": _Priority(16100, 21),
    "storagemigration.k8s.io/v1": _Priority(15800, 15),
}


# Groups without an APIService, which come first.
_FIRST_GROUPS = frozenset(("", GROUP))
_FIRST = _Priority(1 << 31, 15)


def group_priority(gv: GroupVersion) -> int:
    """Returns the priority of the group of a version that this server serves."""
    return _local_priority(gv).group


def local_version_priority(gv: GroupVersion) -> int:
    """Returns the priority, in its group, of a version that this server serves."""
    return _local_priority(gv).version


def _local_priority(gv: GroupVersion) -> _Priority:
    if gv.group in _FIRST_GROUPS:
        return _FIRST
    return _BUILTIN.get(str(gv), _CUSTOM)


class APIServices:
    """A reaction to writes of definitions and of APIServices, once `register` was called."""

    def __init__(self) -> None:
        self._is_registering = False

    async def register(self, services: Services) -> None:
        """Creates the missing APIServices of all served versions, and keeps those of custom resources from now on."""
        self._is_registering = True
        resource = _resource(services)
        await _fill(services, resource)
        # Definitions may have changed while no server was running.
        for group in {*_custom_groups(services), *await _registered_groups(services, resource)}:
            await _follow(services, group)

    def concerns(self, resource: Resource, *, deletes: bool) -> bool:
        if deletes and resource.crd is not None:
            return True
        return (resource.group, resource.resource) in ((DEFINITIONS_GROUP, DEFINITIONS), (GROUP, _PLURAL))

    async def after_write(self, context: Context, resource: Resource, tree: Object) -> None:
        if self._is_registering and _concerns_custom(resource, tree):
            await _follow(context.services, tree["spec"]["group"])

    async def after_delete(self, context: Context, resource: Resource, tree: Object) -> None:
        if not self._is_registering:
            return
        if resource.crd is None:
            await self.after_write(context, resource, tree)
        elif resource.crd.name not in context.services.registry.definitions:
            # The definition was removed with its last instance.
            await _follow(context.services, resource.group)


async def _fill(services: Services, resource: Resource) -> None:
    """Creates the missing APIServices of the built-in versions."""
    for _ in range(_ATTEMPTS):
        there = {item.key for item in (await services.store.range(resource.storage.prefix)).items}
        writes = []
        for gv in sorted(services.registry.builtin_group_versions):
            priority = _BUILTIN.get(str(gv))
            key = resource.storage.key("", _name(gv))
            if priority is not None and key not in there:
                writes.append(Write(key, _encoded(services, resource, gv, priority, _AT_START), ABSENT))
        if not writes:
            return
        try:
            await services.transact(writes, APISERVER)
        except ExpectationFailed:
            continue  # another server with the same store was faster
        return


def _concerns_custom(resource: Resource, tree: Object) -> bool:
    return resource.group != GROUP or _label(tree) == _ALWAYS


def _label(tree: Object) -> str:
    return str((tree["metadata"].get("labels") or {}).get(LABEL, ""))


def _name(gv: GroupVersion) -> str:
    return f"{gv.version}.{gv.group}"


def _resource(services: Services) -> Resource:
    found = services.registry.resource(GROUP, _VERSION, _PLURAL)
    assert found is not None, f"{_PLURAL} are not served"
    return found


def _custom_groups(services: Services) -> set[str]:
    return {crd.spec.group for crd in services.registry.definitions.values()}


async def _registered_groups(services: Services, resource: Resource) -> set[str]:
    """Returns the groups of the APIServices that follow definitions."""
    trees = [resource.item(item) for item in (await services.store.range(resource.storage.prefix)).items]
    return {tree["spec"].get("group", "") for tree in trees if _label(tree) == _ALWAYS}


def _served(services: Services, group: str) -> Iterator[str]:
    """Yields the versions of a group that definitions serve."""
    for crd in services.registry.definitions.values():
        if crd.spec.group == group:
            yield from (version.name for version in crd.spec.versions if version.served)


async def _follow(services: Services, group: str) -> None:
    """Creates, restores and deletes the APIServices of a group of custom resources."""
    resource = _resource(services)
    served = set(_served(services, group))
    for version in sorted(served):
        await _keep(services, resource, GroupVersion(group, version))
    for item in (await services.store.range(resource.storage.prefix)).items:
        tree = resource.item(item)
        spec = tree["spec"]
        if _label(tree) == _ALWAYS and spec.get("group") == group and spec.get("version") not in served:
            try:
                await services.commit(item.key, None, item.revision, APISERVER)
            except ExpectationFailed:
                continue  # concurrent write, which leads to the same check


async def _keep(services: Services, resource: Resource, gv: GroupVersion) -> None:
    """Creates the APIService of a version of custom resources, or restores its spec."""
    key = resource.storage.key("", _name(gv))
    item = await services.store.get(key)
    if item is None:
        value = _encoded(services, resource, gv, _CUSTOM, _ALWAYS)
    else:
        old = resource.item(item)
        if _label(old) != _ALWAYS or meta.is_being_deleted(old) or old["spec"] == _spec(gv, _CUSTOM):
            return
        new = copy(old)
        new["spec"] = _spec(gv, _CUSTOM)
        new = resource.field_manager("", services.clock).update(old, new, APISERVER.field_manager)
        value = resource.encode(new)
    try:
        await services.commit(key, value, ABSENT if item is None else item.revision, APISERVER)
    except ExpectationFailed:
        return  # concurrent write by another server with the same store, or by a user


def _spec(gv: GroupVersion, priority: _Priority) -> Object:
    spec: Object = {"group": gv.group} if gv.group else {}
    return spec | {
        "version": gv.version,
        "groupPriorityMinimum": priority.group,
        "versionPriority": priority.version,
    }


def _encoded(services: Services, resource: Resource, gv: GroupVersion, priority: _Priority, label: str) -> bytes:
    spec = _spec(gv, priority)
    owned: Object = {"f:metadata": {"f:labels": map_fields(LABEL)}, "f:spec": {f"f:{field}": {} for field in spec}}
    tree: Object = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": _name(gv),
            "labels": {LABEL: label},
            "managedFields": [managed(resource.api_version, owned, services.clock.now())],
        },
        "spec": spec,
    }
    complete(services, resource, tree)
    return resource.encode(tree)
