"""OpenAPI version 2: one document for all resources.

The document consists of fragments, each of them encoded once: the built-in resources are one, and every custom resource
is one. When a definition changes, only its own fragment is created again. The paths and definitions of all fragments
are merged in the order of their names.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from setpoint.objects.tree import Object
from setpoint.schema.builtin import RELEASE
from setpoint.server.publish.openapi import (
    builtin_definitions,
    custom_schema,
    gnostic,
    index_paths,
    operations,
    protobuf_wire,
    shared_parameters,
)
from setpoint.server.publish.openapi.operations import Operation, Path
from setpoint.server.publish.openapi.parameters import Parameter
from setpoint.server.registry.resource import Resource

# The version is that of the API, as in kube-apiserver: the release without its patch level.
INFO: Mapping[str, str] = {"title": "Kubernetes", "version": RELEASE.removeprefix("v").rpartition(".")[0]}
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
TEXTS = {200: "OK", 201: "Created", 202: "Accepted"}
_BEARER = "BearerToken"
SECURITY: Mapping[str, Object] = {
    _BEARER: {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}

_encode = msgspec.json.Encoder().encode


class Fragment(NamedTuple):
    """The encoded members of `paths`, `definitions` and `parameters`, each with its name, by name."""

    paths: Mapping[str, bytes]
    definitions: Mapping[str, bytes]
    parameters: Mapping[str, bytes]


def json_fragment(resources: Sequence[Resource]) -> Fragment:
    """Returns the fragment of some resources in JSON. That of the built-in resources includes the paths that are not
    resources, and all definitions that operations refer to."""
    return json_parts(*_parts(resources))


def json_parts(paths: Object, definitions: Object, parameters: Object) -> Fragment:
    """Returns the fragment of these paths, definitions and parameters in JSON."""
    return Fragment(_members(paths), _members(definitions), _members(parameters))


def protobuf_fragment(resources: Sequence[Resource]) -> Fragment:
    """Returns the fragment of some resources in protobuf."""
    return protobuf_parts(*_parts(resources))


def protobuf_parts(paths: Object, definitions: Object, parameters: Object) -> Fragment:
    """Returns the fragment of these paths, definitions and parameters in protobuf."""
    return Fragment(
        {name: gnostic.named_path(name, path) for name, path in paths.items()},
        {name: gnostic.named_schema(name, schema) for name, schema in definitions.items()},
        {name: gnostic.named_parameter(name, parameter) for name, parameter in parameters.items()},
    )


def json_document(fragments: Sequence[Fragment]) -> bytes:
    """Returns the whole document in JSON. In case of equal names, the first fragment prevails."""
    head = _encode({"swagger": "2.0", "info": INFO})[:-1]
    tail = _encode({"securityDefinitions": SECURITY, "security": [{_BEARER: []}]})[1:]
    return b'%b,"paths":{%b},"definitions":{%b},"parameters":{%b},%b' % (head, *_joined(fragments, b","), tail)


def protobuf_document(fragments: Sequence[Fragment]) -> bytes:
    """Returns the whole document in protobuf. In case of equal names, the first fragment prevails."""
    paths, definitions, parameters = _joined(fragments, b"")
    info = protobuf_wire.text(1, INFO["title"]) + protobuf_wire.text(2, INFO["version"])
    return (
        protobuf_wire.text(1, "2.0")
        + protobuf_wire.message(2, info)
        + protobuf_wire.message(8, paths)
        + protobuf_wire.message(9, definitions)
        + protobuf_wire.message(10, parameters)
        + protobuf_wire.message(12, gnostic.requirement(_BEARER))
        + protobuf_wire.message(13, gnostic.security(SECURITY))
    )


def _members(part: Object) -> Mapping[str, bytes]:
    return {name: b"%b:%b" % (_encode(name), _encode(member)) for name, member in part.items()}


def _joined(fragments: Sequence[Fragment], separator: bytes) -> Iterable[bytes]:
    """Yields the paths, the definitions and the parameters of all fragments."""
    for parts in zip(*fragments, strict=True):
        found: dict[str, bytes] = {}
        for part in reversed(parts):
            found.update(part)
        yield separator.join([member for _, member in sorted(found.items())])


def _parts(resources: Sequence[Resource]) -> tuple[Object, Object, Object]:
    """Returns the paths, the definitions and the parameters of the resources."""
    found: list[Path] = []
    definitions: Object = {}
    roots: set[str] = set()
    for resource in resources:
        found += operations.paths(resource)
        if resource.is_custom:
            definitions |= custom_schema.definitions(resource, v2=True)
    versions = dict.fromkeys(resource.gvk.group_version for resource in resources if not resource.is_custom)
    if versions:
        found += index_paths.documents(dict.fromkeys(gv.group for gv in versions)).values()
        found += [index_paths.version_path(gv) for gv in versions]
        roots = operations.roots(found)
    parameters: Object = {}
    paths = {path.path: _path(path, parameters) for path in found}
    return paths, _builtin(roots) | definitions, parameters


def _builtin(roots: set[str]) -> Object:
    names = builtin_definitions.closure(roots)
    return {name: builtin_definitions.definition(name, v2=True) for name in names}


def _path(path: Path, shared: Object) -> Object:
    """Returns a path; adds the parameters that it refers to to `shared`."""
    by_method = {operation.method: operation for operation in path.operations}
    found: Object = {method: _operation(by_method[method], shared) for method in METHODS if method in by_method}
    if path.parameters:
        found["parameters"] = [_parameter(parameter, shared) for parameter in path.parameters]
    return found


def _operation(operation: Operation, shared: Object) -> Object:
    parameters = [_parameter(parameter, shared) for parameter in operation.parameters]
    if operation.body:
        parameters.insert(0, _body(operation, shared))
    found: Object = {"description": operation.description}
    if operation.consumes:
        found["consumes"] = list(operation.consumes)
    found |= {
        "produces": list(operation.produces),
        "schemes": ["https"],
        "tags": [operation.tag],
        "operationId": operation.operation_id,
    }
    if parameters:
        found["parameters"] = parameters
    schema = {"$ref": builtin_definitions.V2_PREFIX + operation.answer} if operation.answer else {"type": "string"}
    responses: Object = {str(code): {"description": TEXTS[code], "schema": schema} for code in operation.codes}
    found["responses"] = {**responses, "401": {"description": "Unauthorized"}}
    return found | extensions(operation)


def extensions(operation: Operation) -> Object:
    """Returns the extensions of an operation on a resource."""
    kind = operation.kind
    if kind is None:
        return {}
    return {
        "x-kubernetes-action": operation.action,
        builtin_definitions.GVK: {"group": kind.group, "kind": kind.kind, "version": kind.version},
    }


def _parameter(parameter: Parameter, shared: Object) -> Object:
    if not shared_parameters.is_shared(parameter):
        return shared_parameters.described(parameter)
    return _reference(shared_parameters.shared(parameter), shared)


def _body(operation: Operation, shared: Object) -> Object:
    name, required = operation.body, operation.body_required
    if not shared_parameters.is_shared_body(name):
        return shared_parameters.body(name, required=required)
    return _reference(shared_parameters.shared_body(name, required=required), shared)


def _reference(found: tuple[str, Object], shared: Object) -> Object:
    name, parameter = found
    shared[name] = parameter
    return {"$ref": shared_parameters.PREFIX + name}
