"""Reads the OpenAPI v3 documents of a server: the schemas of its kinds.

    schema = await OpenAPI(client).schema("apps/v1/Deployment")
    schema["properties"]["spec"]["properties"]["replicas"]["type"]  # integer

The server has one document for each version, and names the documents by a hash of their contents. A document is read
when needed, and again only if its hash has changed.
"""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import Kind, kind_of
from setpoint.client.mapper import NoMatch
from setpoint.client.transport import Call
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object

_INDEX = "/openapi/v3"
_KINDS = "x-kubernetes-group-version-kind"
_REFERENCE = "#/components/schemas/"
_JSON = {"accept": "application/json"}


class OpenAPI:
    """The OpenAPI documents of the server of a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # The documents by version, each with the URL that contains its hash.
        self._documents: dict[GroupVersion, tuple[str, Object]] = {}

    async def versions(self) -> dict[GroupVersion, str]:
        """Returns the URLs of the documents, by version."""
        answer = await self._client.send(Call("GET", _INDEX, (), _JSON))
        found: dict[GroupVersion, str] = {}
        for path, entry in (msgspec.json.decode(answer.body).get("paths") or {}).items():
            parts = path.split("/")
            if parts[0] == "api" and len(parts) == 2:
                found[GroupVersion("", parts[1])] = entry["serverRelativeURL"]
            elif parts[0] == "apis" and len(parts) == 3:
                found[GroupVersion(parts[1], parts[2])] = entry["serverRelativeURL"]
        return found

    async def document(self, version: GroupVersion) -> Object:
        """Returns the document of a version. The caller must not change the document. Raises NoMatch for a version that
        the server does not have."""
        url = (await self.versions()).get(version)
        if url is None:
            raise NoMatch(f"the server has no OpenAPI document of {version}: is the version served?")
        cached = self._documents.get(version)
        if cached is not None and cached[0] == url:
            return cached[1]
        parts = urlsplit(url)
        answer = await self._client.send(Call("GET", parts.path, tuple(parse_qsl(parts.query)), _JSON))
        document: Object = msgspec.json.decode(answer.body)
        self._documents[version] = url, document
        return document

    async def schema(self, kind: Kind[Any]) -> Object:
        """Returns the schema of a kind, with referenced schemas in place of the references. A schema within itself,
        such as JSONSchemaProps, stays a reference (`$ref`). Raises NoMatch for an unknown kind."""
        gvk = kind_of(kind).gvk
        schemas = ((await self.document(gvk.group_version)).get("components") or {}).get("schemas") or {}
        for name, schema in schemas.items():
            if any(_is_kind(each, gvk) for each in schema.get(_KINDS) or ()):
                found: Object = _resolved(schema, schemas, (name,))
                return found
        raise NoMatch(f"the OpenAPI document of {gvk.api_version} has no kind {gvk.kind}")


def _is_kind(entry: Object, gvk: GroupVersionKind) -> bool:
    return (entry.get("group", ""), entry.get("version"), entry.get("kind")) == (gvk.group, gvk.version, gvk.kind)


def _resolved(node: Any, schemas: Object, within: tuple[str, ...]) -> Any:
    """Returns a copy of a schema in which references are replaced, except those to a schema that contains the
    reference."""
    if isinstance(node, list):
        return [_resolved(each, schemas, within) for each in node]
    if not isinstance(node, dict):
        return node
    name = _referenced(node)
    if name in within or name not in schemas:
        return {key: _resolved(value, schemas, within) for key, value in node.items()}
    rest = {key: value for key, value in node.items() if key not in ("$ref", "allOf")}
    return {**_resolved(schemas[name], schemas, (*within, name)), **_resolved(rest, schemas, within)}


def _referenced(node: Object) -> str:
    """Returns the name that a node refers to: by `$ref`, or by an `allOf` with one entry, beside which a description or
    a default can stand."""
    entries = node.get("allOf")
    if isinstance(entries, list) and len(entries) == 1 and isinstance(entries[0], dict):
        node = entries[0]
    reference = node.get("$ref")
    return reference.removeprefix(_REFERENCE) if isinstance(reference, str) else ""
