"""Serves `/openapi/v3`, its documents, and `/openapi/v2`.

Documents are created on first request. Their names (the hash in their address, their ETag) are computed from their
inputs, not from the finished document, so the index, which clients read first, is cheap. A change of a definition
changes the registry, and with it the hashes of only the affected documents. The modules that create documents are
imported with the first one.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from email.utils import format_datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from setpoint.objects.errors import NotAcceptable
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.schema.builtin import RELEASE
from setpoint.server.codec.negotiation import clauses
from setpoint.server.message import Response
from setpoint.server.publish.openapi.definition_names import root_path
from setpoint.server.publish.read_only import check_method, digest, is_not_modified
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.remote_version import RemoteSwagger
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.version import VERSION

if TYPE_CHECKING:
    from setpoint.server.publish.openapi.v2 import Fragment

_JSON = "application/json"
_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_V3_PROTOBUF = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
# The accepted media types, and the media types of the responses.
_V3_TYPES: Mapping[str, str] = {
    _JSON: _JSON,
    _V3_PROTOBUF: _V3_PROTOBUF,
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf": _V3_PROTOBUF,
}
_V2_TYPES: Mapping[str, str] = {
    _JSON: _JSON,
    _V2_PROTOBUF: _V2_PROTOBUF,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf": _V2_PROTOBUF,
}
# The documents of version 3 about paths that are not resources. Each built-in group has one more.
_PLAIN = ("api", "apis", "version", ".well-known/openid-configuration", "openid/v1/jwks")
_HASHES = "openapi hashes"
# Another release may describe the same resources differently.
_MADE_BY = f"{VERSION} {RELEASE}".encode()
_A_YEAR = timedelta(days=365)
# Documents are made for all users: the work occupies the thread of none of them.
_USER = "system:openapi"

_encode = msgspec.json.Encoder(order="sorted").encode


class _Form(NamedTuple):
    """One of the encodings of version 2."""

    fragment: "Callable[[Sequence[Resource]], Fragment]"
    parts: "Callable[[Object, Object, Object], Fragment]"
    document: "Callable[[Sequence[Fragment]], bytes]"


class OpenAPI:
    """The OpenAPI documents of one server."""

    def __init__(self) -> None:
        # Creating documents would block other requests for too long: a thread does so, one document at a time.
        self._making = asyncio.Lock()
        self._fingerprints: WeakKeyDictionary[Resource, bytes] = WeakKeyDictionary()
        # Documents of version 3 by hash and media type; those that are no longer in the index are removed when another
        # one is created.
        self._documents: dict[tuple[str, str], bytes] = {}
        # Fragments of version 2 by media type: those of custom resources, and the one of all built-in resources.
        self._fragments: dict[str, WeakKeyDictionary[Resource, Fragment]] = {
            media_type: WeakKeyDictionary() for media_type in (_JSON, _V2_PROTOBUF)
        }
        self._builtin: dict[str, Fragment] = {}

    async def respond(self, context: Context) -> Response | None:
        match context.request.path.rstrip("/").split("/", 3):
            case ["", "openapi", "v3"]:
                check_method(context)
                return self._index(context)
            case ["", "openapi", "v3", path]:
                return await self._version_3(context, path)
            case ["", "openapi", "v2"]:
                check_method(context)
                return await self._version_2(context)
            case _:
                return None

    def hashes(self, registry: Registry) -> Mapping[str, str]:
        """Returns the hash of each document of version 3, by path. Cached per registry."""
        found: dict[str, str] | None = registry.documents.get(_HASHES)
        if found is None:
            found = {root_path(gv): self._hash(members) for gv, members in registry.group_versions.items()}
            for path in (*_PLAIN, *(f"apis/{group}" for group in registry.builtin_groups if group)):
                found[path] = digest(_MADE_BY + path.encode())
            registry.documents[_HASHES] = found
        return found

    def _hash(self, members: Sequence[Resource]) -> str:
        return digest(b"".join([_MADE_BY, *(self._fingerprint(resource) for resource in members)]))

    def _fingerprint(self, resource: Resource) -> bytes:
        """Returns a hash that differs for resources whose parts of a document differ."""
        found = self._fingerprints.get(resource)
        if found is None:
            found = self._fingerprints[resource] = digest(_encode(_ingredients(resource))).encode()
        return found

    def _index(self, context: Context) -> Response:
        hashes = self.hashes(context.registry)
        paths = {path: {"serverRelativeURL": _address(path, found)} for path, found in hashes.items()}
        for gv, remote in context.registry.remote.items():
            paths.pop(root_path(gv), None)
            if remote.documents.openapi_url:
                paths[root_path(gv)] = {"serverRelativeURL": remote.documents.openapi_url}
        body = _encode({"paths": paths})
        etag = _etag(digest(body))
        headers = [("ETag", etag)]
        if is_not_modified(context, etag):
            return Response(304, "", b"", headers)
        # The content type is kube-apiserver's: clients ignore it.
        return Response(200, "text/plain; charset=utf-8", body, headers)

    async def _version_3(self, context: Context, path: str) -> Response | None:
        found = self.hashes(context.registry).get(path)
        if found is None:
            return None
        check_method(context)
        media_type = _negotiated(context, _V3_TYPES)
        etag, requested_hash = _etag(found), context.parameter("hash")
        headers = [("ETag", etag), ("Vary", "Accept")]
        if requested_hash and requested_hash != found:
            return Response(301, "text/html; charset=utf-8", b"", [*headers, ("Location", _address(path, found))])
        if requested_hash:
            expires = format_datetime(context.services.clock.now() + _A_YEAR, usegmt=True)
            headers += [("Cache-Control", "public, immutable"), ("Expires", expires)]
        if is_not_modified(context, etag):
            return Response(304, "", b"", headers)
        return Response(200, media_type, await self._document(context, path, found, media_type), headers)

    async def _document(self, context: Context, path: str, name: str, media_type: str) -> bytes:
        key, registry = (name, media_type), context.registry
        async with self._making:
            found = self._documents.get(key)
            if found is None:
                found = await context.services.offload.run(_USER, partial(_make, registry, path, media_type))
                current = {*self.hashes(registry).values(), name}
                self._documents = {old: made for old, made in self._documents.items() if old[0] in current}
                self._documents[key] = found
        return found

    async def _version_2(self, context: Context) -> Response:
        media_type = _negotiated(context, _V2_TYPES)
        registry = context.registry
        remote = "".join(swagger.digest for swagger in _remote(registry))
        etag = _etag(digest(f"{media_type}{self._hash(list(registry))}{remote}".encode()))
        headers = [("ETag", etag), ("Vary", "Accept-Encoding, Accept")]
        if is_not_modified(context, etag):
            return Response(304, "", b"", headers)
        key = f"openapi v2 {media_type}"
        async with self._making:
            body = registry.documents.get(key)
            if not isinstance(body, bytes):
                work = partial(self._full_document, registry, media_type)
                body = registry.documents[key] = await context.services.offload.run(_USER, work)
        return Response(200, media_type, body, headers)

    def _full_document(self, registry: Registry, media_type: str) -> bytes:
        form, known = _form(media_type), self._fragments[media_type]
        builtin = self._builtin.get(media_type)
        if builtin is None:
            builtin = self._builtin[media_type] = form.fragment(registry.builtin)
        fragments = [builtin]
        for resource in registry.custom:
            fragment = known.get(resource)
            if fragment is None:
                fragment = known[resource] = form.fragment([resource])
            fragments.append(fragment)
        for swagger in _remote(registry):
            # An extension server wrote the document; the document of all others must not fail because of its content.
            with suppress(AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
                fragments.append(form.parts(swagger.paths, swagger.definitions, swagger.parameters))
        return form.document(fragments)


def _remote(registry: Registry) -> list[RemoteSwagger]:
    """Returns the documents of extension API servers."""
    found = (version.documents.swagger for version in registry.remote.values())
    return [swagger for swagger in found if swagger is not None]


def _form(media_type: str) -> _Form:
    from setpoint.server.publish.openapi import v2

    if media_type == _JSON:
        return _Form(v2.json_fragment, v2.json_parts, v2.json_document)
    return _Form(v2.protobuf_fragment, v2.protobuf_parts, v2.protobuf_document)


def _make(registry: Registry, path: str, media_type: str) -> bytes:
    from setpoint.server.publish.openapi import gnostic_v3, index_paths, v3

    plain = index_paths.documents(registry.builtin_groups).get(path)
    if plain is not None:
        document = v3.index_document(plain)
    else:
        gv = GroupVersion.parse(path.partition("/")[2])
        document = v3.document(gv, registry.group_versions[gv])
    return v3.encoded(document) if media_type == _JSON else gnostic_v3.document(document)


def _ingredients(resource: Resource) -> list[object]:
    """Returns the inputs of the parts of a document that describe a resource."""
    subresources = [[name, found.verbs, str(found.kind)] for name, found in resource.subresources.items()]
    crd = resource.crd
    versions = [found for found in crd.spec.versions if found.name == resource.version] if crd else []
    return [
        resource.api_version,
        resource.resource,
        resource.kind,
        resource.list_kind,
        resource.namespaced,
        list(resource.verbs),
        subresources,
        versions,
    ]


def _negotiated(context: Context, types: Mapping[str, str]) -> str:
    """Returns the media type of the response. Raises NotAcceptable."""
    header = context.request.headers.get("accept", "")
    if not header:
        return _JSON
    for clause in clauses(header):
        for requested, given in types.items():
            if clause.covers(requested):
                return given
    raise NotAcceptable.of(dict.fromkeys(types.values()))


def _address(path: str, found: str) -> str:
    return f"/openapi/v3/{path}?hash={found}"


def _etag(found: str) -> str:
    return f'"{found}"'
