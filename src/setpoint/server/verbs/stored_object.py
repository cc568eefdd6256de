"""The relation of an updated object to the stored one: preconditions, fields that an endpoint may not change, and the
end of a deletion."""

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest, Conflict, Invalid
from setpoint.objects.field import invalid
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupKind, GroupResource
from setpoint.objects.tree import Object, copy
from setpoint.server.registry.kinds.core.pod.disabled_fields import drop_disabled_pod_fields
from setpoint.server.registry.resource import Resource
from setpoint.store.contract import Item

# The metadata that an update of the status of a built-in kind restores.
_METADATA_OF_STATUS = ("deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences")

# The parts of the keys of kube-apiserver that differ from the names of the resources, which errors show.
_PREFIXES = {
    GroupResource("", "replicationcontrollers"): "controllers",
    GroupResource("", "endpoints"): "services/endpoints",
    GroupResource("", "nodes"): "minions",
    GroupResource("", "services"): "services/specs",
    GroupResource("networking.k8s.io", "ingresses"): "ingress",
}
_GROUPED = ("apiextensions.k8s.io", "apiregistration.k8s.io")


def check_preconditions(
    resource: Resource, name: str, key: str, new: Object, item: Item, old: Object, *, check_uid: bool, dry_run: bool
) -> None:
    """Checks the uid and the resourceVersion of an updated object. Raises Conflict, Invalid or BadRequest."""
    metadata, stored = new["metadata"], old["metadata"]
    uid = metadata.get("uid")
    if check_uid and uid and uid != stored.get("uid"):
        where = upstream_key(resource, key, dry_run=dry_run)
        raise Conflict.precondition(resource.group_resource, name, key=where, wanted=uid, found=stored.get("uid", ""))
    wanted = metadata.get("resourceVersion", "")
    if wanted in ("", "0"):
        strategy = resource.strategy
        if not strategy.allows_unconditional_update and resource.version not in strategy.unconditional_versions:
            error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise Invalid.of(GroupKind(resource.group, resource.resource), name, [error])
    elif wanted != str(item.revision):
        if not wanted.isascii() or not wanted.isdigit() or int(wanted) >= 1 << 64:
            why = "value out of range" if wanted.isascii() and wanted.isdigit() else "invalid syntax"
            raise BadRequest(f"strconv.ParseUint: parsing {quote(wanted)}: {why}")
        if int(wanted) != item.revision:
            raise Conflict.modified(resource.group_resource, name)
    metadata["resourceVersion"] = stored["resourceVersion"]


def upstream_key(resource: Resource, key: str, *, dry_run: bool) -> str:
    """Returns the key in the form of kube-apiserver's etcd keys, which lack the first part in a dry run."""
    plural = _PREFIXES.get(resource.group_resource, resource.resource)
    group = f"{resource.group}/" if resource.is_custom or resource.group in _GROUPED else ""
    return f"{'' if dry_run else '/registry'}/{group}{plural}/{key.removeprefix(resource.storage.prefix)}"


def prepare_for_update(resource: Resource, new: Object, old: Object, subresource: str) -> None:
    """Restores the fields that this endpoint may not change, and increments the generation if needed."""
    strategy, stored = resource.strategy, old["metadata"]
    meta.restore_system_fields(new["metadata"], stored)
    if "status" in resource.subresources:
        if subresource in strategy.status_endpoints:
            _keep_all_but_status(resource, new, old)
        elif subresource not in strategy.prepares_status:
            for field in strategy.status_fields:
                restore_field(new, old, field)
    if strategy.pod_spec:
        drop_disabled_pod_fields(new, old, strategy.pod_spec)
    strategy.prepare_for_update(new, old, subresource)
    resource.shape.normalize_stored(new)
    counts = strategy.keeps_generation and subresource not in strategy.status_endpoints
    if counts and strategy.bumps_generation(new, old):
        new["metadata"]["generation"] = stored.get("generation", 0) + 1


def _keep_all_but_status(resource: Resource, new: Object, old: Object) -> None:
    strategy = resource.strategy
    for field in {*new, *old}:
        if field not in strategy.status_fields and field not in ("metadata", "apiVersion", "kind"):
            restore_field(new, old, field)
    if not strategy.status_writes_metadata:
        if resource.is_custom:
            entries = new["metadata"].get("managedFields")
            new["metadata"] = {**old["metadata"]}
            meta.put(new["metadata"], "managedFields", entries)
        else:
            for field in _METADATA_OF_STATUS:
                meta.put(new["metadata"], field, copy(old["metadata"].get(field)))


def restore_field(new: Object, old: Object, field: str) -> None:
    """Sets a field, in place, to a copy of its stored value; removes a field that the stored object lacks."""
    if field in old:
        new[field] = copy(old[field])
    else:
        new.pop(field, None)


def is_finished(resource: Resource, new: Object, old: Object) -> bool:
    """Returns True if an update removed the last finalizer of an object marked for deletion."""
    metadata, stored = new["metadata"], old["metadata"]
    return (
        "deletionTimestamp" in stored
        and not metadata.get("finalizers")
        and not stored.get("deletionGracePeriodSeconds")
        and not resource.strategy.own_finalizers(new)
    )
