"""Aggregated discovery: all groups, versions and resources in one document, an APIGroupDiscoveryList."""

import msgspec

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.publish.discovery.legacy import groups, verbs
from setpoint.server.publish.read_only import digest
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource, Subresource

GROUP, VERSION, KIND = "apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"
# Clients recognize this form by the parameters of the media type.
CONTENT_TYPE = f"application/json;g={GROUP};v={VERSION};as={KIND}"

_encode = msgspec.json.Encoder().encode


class Document(msgspec.Struct, frozen=True):
    """An encoded document and its ETag."""

    body: bytes
    etag: str


def document(registry: Registry, *, core: bool) -> Document:
    """Returns the document of `/api` (the core group) or `/apis` (all others). Cached per registry."""
    key = f"aggregated discovery of {'core' if core else 'groups'}"
    found = registry.documents.get(key)
    if not isinstance(found, Document):
        body = _encode(group_discovery_list(registry, core=core)) + b"\n"
        found = registry.documents[key] = Document(body, f'"{digest(body)}"')
    return found


def group_discovery_list(registry: Registry, *, core: bool) -> Object:
    """Returns the core group alone, or all others, with all versions and resources."""
    items = []
    for name, versions in groups(registry).items():
        if (name == "") is core:
            shown = [_version(registry, gv) for gv in versions]
            items.append({"metadata": {"name": name} if name else {}, "versions": shown})
    return {"kind": KIND, "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}


def _version(registry: Registry, gv: GroupVersion) -> Object:
    remote = registry.remote.get(gv)
    if remote is not None:
        found = remote.documents
        shown = (
            {"version": gv.version, "resources": list(found.resources)} if found.resources else {"version": gv.version}
        )
        return {**shown, "freshness": "Current" if found.is_fresh else "Stale"}
    resources = [_resource(registry, resource) for resource in registry.group_versions[gv]]
    return {"version": gv.version, "resources": resources, "freshness": "Current"}


def _resource(registry: Registry, resource: Resource) -> Object:
    shown: Object = {
        "resource": resource.resource,
        "responseKind": _response_kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(verbs(registry, resource)),
    }
    optional = {
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
        "subresources": [_subresource(resource, subresource) for subresource in resource.subresources.values()],
    }
    return shown | {name: value for name, value in optional.items() if value}


def _subresource(resource: Resource, subresource: Subresource) -> Object:
    return {
        "subresource": subresource.name,
        "responseKind": _response_kind(resource, subresource),
        "verbs": list(subresource.verbs),
    }


def _response_kind(resource: Resource, subresource: Subresource | None = None) -> Object:
    """Returns the served kind. Built-in resources omit their own group and version."""
    kind = subresource.kind if subresource and subresource.kind else resource.gvk
    if not resource.is_custom and kind.group_version == resource.gvk.group_version:
        return {"group": "", "version": "", "kind": kind.kind}
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}
