"""Discovery with one document per group and version: APIVersions, APIGroupList, APIGroup and APIResourceList.

Every client supports this form; newer ones use the aggregated form instead.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence

from setpoint.objects.gvk import GroupResource, GroupVersion, version_priority
from setpoint.objects.tree import Object
from setpoint.schema.crd.conditions import TERMINATING
from setpoint.server.publish.discovery.remote_groups import with_remote
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource, Subresource

# The versions in which kube-apiserver stores resources of a newer version.
_STORED_VERSIONS = {
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): "v1beta1",
    GroupResource("certificates.k8s.io", "clustertrustbundles"): "v1beta1",
    GroupResource("certificates.k8s.io", "podcertificaterequests"): "v1beta1",
    GroupResource("resource.k8s.io", "devicetaintrules"): "v1beta2",
    GroupResource("storagemigration.k8s.io", "storageversionmigrations"): "v1beta1",
}
_WHILE_TERMINATING = ("delete", "deletecollection", "get", "list", "watch")


def groups(registry: Registry) -> Mapping[str, Sequence[GroupVersion]]:
    """Returns the versions of each group, the preferred one first, in the order of discovery. The core group is "".

    Definitions may add versions to a built-in group; those come after its own.
    """
    found: dict[str, list[GroupVersion]] = {}
    for gv in registry.group_versions:
        found.setdefault(gv.group, []).append(gv)
    builtin = registry.builtin_group_versions
    for versions in found.values():
        # Built-in versions keep the order of the registry, which does not depend on their names.
        versions.sort(key=lambda gv: (0,) if gv in builtin else (1, *version_priority(gv.version)))
    return with_remote(found, registry.remote) if registry.remote else found


def is_builtin_group(registry: Registry, name: str) -> bool:
    """Returns True if a group is built in."""
    return any(gv.group == name for gv in registry.builtin_group_versions)


def api_versions(address: str) -> Object:
    """Returns the document of `/api`; `address` is the address that the client connected to."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(registry: Registry) -> Object:
    """Returns the document of `/apis`."""
    shown = [_group(name, versions) for name, versions in groups(registry).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": shown}


def group(registry: Registry, name: str) -> Object | None:
    """Returns the document of `/apis/{name}`; None if there is no such group."""
    versions = groups(registry).get(name)
    if not name or versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def _group(name: str, versions: Sequence[GroupVersion]) -> Object:
    shown = [{"groupVersion": str(gv), "version": gv.version} for gv in versions]
    return {"name": name, "versions": shown, "preferredVersion": shown[0]}


def resource_list(registry: Registry, gv: GroupVersion) -> Object | None:
    """Returns the document of `/api/v1` and `/apis/{group}/{version}`; None if there is no such version."""
    resources = registry.group_versions.get(gv)
    if resources is None:
        return None
    shown = [entry for resource in resources for entry in _entries(registry, resource)]
    # As on kube-apiserver, only the document of the core group has no apiVersion.
    named = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if gv.group else {})
    return {**named, "groupVersion": str(gv), "resources": shown}


def _entries(registry: Registry, resource: Resource) -> Iterator[Object]:
    """Yields a resource and its subresources as entries of an APIResourceList."""
    entry: Object = {
        "name": resource.resource,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(verbs(registry, resource)),
    }
    optional = {
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "storageVersionHash": storage_version_hash(resource),
    }
    yield entry | {name: value for name, value in optional.items() if value}
    for subresource in resource.subresources.values():
        yield _subresource(resource, subresource)


def _subresource(resource: Resource, subresource: Subresource) -> Object:
    kind = subresource.kind or resource.gvk
    entry: Object = {
        "name": f"{resource.resource}/{subresource.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if kind.group_version != resource.gvk.group_version:
        entry |= {"group": kind.group, "version": kind.version}
    return entry | {"kind": kind.kind, "verbs": list(subresource.verbs)}


def verbs(registry: Registry, resource: Resource) -> Sequence[str]:
    """Returns the verbs of a resource; one whose definition is terminating accepts no new objects."""
    if resource.crd is not None:
        crd = registry.definitions.get(resource.crd.name, resource.crd)
        if any(found.type == TERMINATING and found.status == "True" for found in crd.status.conditions or ()):
            return _WHILE_TERMINATING
    return resource.verbs


def storage_version_hash(resource: Resource) -> str:
    """Returns a hash that changes with the storage version; empty if objects are not stored."""
    if "watch" not in resource.verbs:
        return ""
    stored = GroupVersion.parse(resource.storage.api_version)
    if resource.crd is not None and stored.version not in resource.crd.served_versions():
        return ""
    # Clients compare the hash with that of another server, so the version is that of kube-apiserver's store.
    version = _STORED_VERSIONS.get(resource.group_resource, stored.version)
    text = f"{stored.group}/{version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
