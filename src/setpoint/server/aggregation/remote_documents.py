"""Reads the documents of a version from its extension API server: the resources and the address of OpenAPI.

Servers with aggregated discovery provide all resources at `/apis`; older servers at the path of the version.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from setpoint.client.discovery import AGGREGATED
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.aggregation.remote_client import RemoteClient
from setpoint.server.registry.remote_version import RemoteDocuments, RemoteServer

JSON = "application/json"
_decode = msgspec.json.Decoder().decode


class DocumentError(ValueError):
    """A document of an extension API server has an unexpected form."""


async def read_documents(
    client: RemoteClient, server: RemoteServer, gv: GroupVersion, resource_list: bytes, timeout: float
) -> RemoteDocuments:
    """Returns the documents of a version. `resource_list` is the document of the version. Raises DocumentError, and the
    errors of the client."""
    answer, body = await client.read(server, "/apis", AGGREGATED, timeout)
    if answer.status == 200 and "as=APIGroupDiscoveryList" in answer.headers.get("content-type", ""):
        resources = _from_aggregated(_tree(body), gv)
    else:
        resources = from_resource_list(_tree(resource_list), gv)
    answer, body = await client.read(server, "/openapi/v3", JSON, timeout)
    url = _openapi_url(_tree(body), gv) if answer.status == 200 else ""
    return RemoteDocuments(resources, True, url)


def _tree(body: bytes) -> Object:
    try:
        found = _decode(body)
    except msgspec.DecodeError as error:
        raise DocumentError(f"a document is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise DocumentError("a document is not an object")
    return found


def _items(tree: Any, name: str) -> Sequence[Object]:
    found = tree.get(name) or () if isinstance(tree, dict) else ()
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else ()


def _text(tree: Object, name: str) -> str:
    found = tree.get(name)
    return found if isinstance(found, str) else ""


def _from_aggregated(tree: Object, gv: GroupVersion) -> list[Object]:
    for group in _items(tree, "items"):
        metadata = group.get("metadata")
        if isinstance(metadata, dict) and metadata.get("name") == gv.group:
            for version in _items(group, "versions"):
                if version.get("version") == gv.version:
                    return [_with_kind(each) for each in _items(version, "resources")]
    return []


def _with_kind(resource: Object) -> Object:
    """Returns an entry in which every kind is an object, because some clients fail otherwise."""
    found = {**resource, "responseKind": resource.get("responseKind") or {"group": "", "version": "", "kind": ""}}
    below = _items(resource, "subresources")
    if below:
        found["subresources"] = [_with_kind(each) for each in below]
    return found


def from_resource_list(tree: Object, gv: GroupVersion) -> list[Object]:
    """Returns the resources of an APIResourceList in the form of aggregated discovery."""
    found: dict[str, Object] = {}
    for item in _items(tree, "resources"):
        name, slash, below = _text(item, "name").partition("/")
        kind = {
            "group": _text(item, "group") or gv.group,
            "version": _text(item, "version") or gv.version,
            "kind": _text(item, "kind"),
        }
        verbs = item.get("verbs") or []
        if slash:
            entry = found.setdefault(name, {"resource": name, "scope": _scope(item)})
            below_entry = {"subresource": below, "responseKind": kind, "verbs": verbs}
            entry.setdefault("subresources", []).append(below_entry)
            continue
        entry = found.setdefault(name, {})
        entry |= {
            "resource": name,
            "responseKind": kind,
            "scope": _scope(item),
            "singularResource": _text(item, "singularName"),
            "verbs": verbs,
        }
        for optional in ("shortNames", "categories"):
            if item.get(optional):
                entry[optional] = item[optional]
    return list(found.values())


def _scope(item: Object) -> str:
    return "Namespaced" if item.get("namespaced") else "Cluster"


def _openapi_url(tree: Object, gv: GroupVersion) -> str:
    paths = tree.get("paths")
    entry = paths.get(f"apis/{gv}") if isinstance(paths, dict) else None
    return _text(entry, "serverRelativeURL") if isinstance(entry, dict) else ""
