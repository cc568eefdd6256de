"""OpenAPI version 2: one document for all resources.

The document consists of fragments, each of them encoded once: the built-in resources are one, and every custom resource
is one. When a definition changes, only its own fragment is created again.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from setpoint.objects.tree import Object
from setpoint.server.publish.openapi import builtin_definitions, custom_schema, gnostic, operations, protobuf_wire
from setpoint.server.publish.openapi.operations import Operation, Parameter, Path
from setpoint.server.registry.resource import Resource

_encode = msgspec.json.Encoder().encode
_TEXTS = {200: "OK", 201: "Created", 202: "Accepted"}
_TITLE, _VERSION = "Setpoint", "unversioned"


class Fragment(NamedTuple):
    """The encoded members of `paths` and `definitions`, without the enclosing objects."""

    paths: bytes
    definitions: bytes


def json_fragment(resources: Sequence[Resource]) -> Fragment:
    """Returns the fragment of some resources in JSON. That of the built-in resources includes all definitions they
    refer to."""
    paths, definitions = _parts(resources)
    return Fragment(_encode(paths)[1:-1], _encode(definitions)[1:-1])


def protobuf_fragment(resources: Sequence[Resource]) -> Fragment:
    """Returns the fragment of some resources in protobuf."""
    paths, definitions = _parts(resources)
    return Fragment(
        b"".join(gnostic.named_path(name, path) for name, path in paths.items()),
        b"".join(gnostic.named_schema(name, schema) for name, schema in definitions.items()),
    )


def json_document(fragments: Iterable[Fragment]) -> bytes:
    """Returns the whole document in JSON."""
    paths, definitions = _joined(fragments, b",")
    head = _encode({"swagger": "2.0", "info": {"title": _TITLE, "version": _VERSION}})[:-1]
    return b'%b,"paths":{%b},"definitions":{%b}}' % (head, paths, definitions)


def protobuf_document(fragments: Iterable[Fragment]) -> bytes:
    """Returns the whole document in protobuf."""
    paths, definitions = _joined(fragments, b"")
    info = protobuf_wire.text(1, _TITLE) + protobuf_wire.text(2, _VERSION)
    return (
        protobuf_wire.text(1, "2.0")
        + protobuf_wire.message(2, info)
        + protobuf_wire.message(8, paths)
        + protobuf_wire.message(9, definitions)
    )


def _joined(fragments: Iterable[Fragment], separator: bytes) -> Fragment:
    found = list(fragments)
    return Fragment(
        separator.join(fragment.paths for fragment in found if fragment.paths),
        separator.join(fragment.definitions for fragment in found if fragment.definitions),
    )


def _parts(resources: Sequence[Resource]) -> tuple[Object, Object]:
    """Returns the paths and the definitions of the resources."""
    paths: Object = {}
    definitions: Object = {}
    roots: set[str] = set()
    for resource in resources:
        found = list(operations.paths(resource))
        tags = operations.tags(resource.gvk.group_version)
        paths |= {path.path: _path(path, tags) for path in found}
        if resource.is_custom:
            definitions |= custom_schema.definitions(resource, v2=True)
        else:
            roots |= operations.roots(found)
    return paths, {
        name: builtin_definitions.definition(name, None, v2=True) for name in builtin_definitions.closure(roots)
    } | definitions


def _path(path: Path, tags: list[str]) -> Object:
    found: Object = {operation.method: _operation(operation, tags) for operation in path.operations}
    return found | {"parameters": [_parameter(parameter) for parameter in path.parameters]}


def _operation(operation: Operation, tags: list[str]) -> Object:
    schema = _ref(operation.answer) if operation.answer else {"type": "string"}
    responses: Object = {str(code): {"description": _TEXTS[code], "schema": schema} for code in operation.codes}
    parameters = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        body: Object = {"name": "body", "in": "body", "schema": _ref(operation.body)}
        parameters.insert(0, body | {"required": True} if operation.body_required else body)
    kind = operation.kind
    return {
        "description": operation.description,
        "operationId": operation.operation_id,
        "consumes": list(operation.consumes) or ["*/*"],
        "produces": list(operation.produces),
        "parameters": parameters,
        "responses": {**responses, "401": {"description": "Unauthorized"}},
        "tags": tags,
        "x-kubernetes-action": operation.action,
        builtin_definitions.GVK: {"group": kind.group, "kind": kind.kind, "version": kind.version},
    }


def _parameter(parameter: Parameter) -> Object:
    found: Object = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "type": parameter.type,
        "uniqueItems": True,
    }
    return found | {"required": True} if parameter.place == "path" else found


def _ref(name: str) -> Object:
    return {"$ref": builtin_definitions.V2_PREFIX + name}
