"""OpenAPI version 3: one document for each group and version."""

from collections.abc import Iterable, Sequence

import msgspec

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.publish.openapi import builtin_definitions, custom_schema, definition_names, operations
from setpoint.server.publish.openapi.operations import Operation, Parameter, Path
from setpoint.server.registry.resource import Resource

_encode = msgspec.json.Encoder().encode
_TEXTS = {200: "OK", 201: "Created", 202: "Accepted"}
_SECURITY = {"BearerToken": {"type": "apiKey", "in": "header", "name": "authorization"}}
_VERSION_INFO = "io.k8s.apimachinery.pkg.version.Info"


def document(gv: GroupVersion, resources: Sequence[Resource]) -> bytes:
    """Returns the document of a group and version."""
    paths = [path for resource in resources for path in operations.paths(resource)]
    schemas = _definitions(gv, resources, paths)
    tags = operations.tags(gv)
    return _document({path.path: _path(path, tags) for path in paths}, schemas)


def version_document() -> bytes:
    """Returns the document of `/version`."""
    answer = {"content": {"application/json": {"schema": _ref(_VERSION_INFO)}}, "description": "OK"}
    operation = {
        "description": "get the version of the server",
        "operationId": "getCodeVersion",
        "responses": {"200": answer, "401": {"description": "Unauthorized"}},
        "tags": ["version"],
    }
    schemas = {_VERSION_INFO: builtin_definitions.definition(_VERSION_INFO, None)}
    return _document({"/version/": {"get": operation}}, schemas)


def _definitions(gv: GroupVersion, resources: Iterable[Resource], paths: Iterable[Path]) -> Object:
    """Returns all schemas that the operations, and those schemas, refer to."""
    roots, found = operations.roots(paths), dict[str, Object]()
    for resource in resources:
        if resource.is_custom:
            found |= custom_schema.definitions(resource)
            roots |= {definition_names.OBJECT_META, definition_names.LIST_META}
    return {**{name: builtin_definitions.definition(name, gv) for name in builtin_definitions.closure(roots)}, **found}


def _document(paths: Object, schemas: Object) -> bytes:
    return _encode(
        {
            "openapi": "3.0.0",
            "info": {"title": "Setpoint", "version": "unversioned"},
            "paths": paths,
            "components": {"schemas": schemas, "securitySchemes": _SECURITY},
        }
    )


def _path(path: Path, tags: list[str]) -> Object:
    found: Object = {operation.method: _operation(operation, tags) for operation in path.operations}
    return found | {"parameters": [_parameter(parameter) for parameter in path.parameters]}


def _operation(operation: Operation, tags: list[str]) -> Object:
    schema = _ref(operation.answer) if operation.answer else {"type": "string"}
    content = {media_type: {"schema": schema} for media_type in operation.produces}
    responses: Object = {str(code): {"content": content, "description": _TEXTS[code]} for code in operation.codes}
    kind = operation.kind
    found: Object = {
        "description": operation.description,
        "operationId": operation.operation_id,
        # Inline, because kubectl looks for them here.
        "parameters": [_parameter(parameter) for parameter in operation.parameters],
        "responses": {**responses, "401": {"description": "Unauthorized"}},
        "tags": tags,
        "x-kubernetes-action": operation.action,
        builtin_definitions.GVK: {"group": kind.group, "kind": kind.kind, "version": kind.version},
    }
    if operation.body:
        body = {media_type: {"schema": _ref(operation.body)} for media_type in operation.consumes}
        found["requestBody"] = {"content": body}
        if operation.body_required:
            found["requestBody"]["required"] = True
    return found


def _parameter(parameter: Parameter) -> Object:
    found: Object = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "schema": {"type": parameter.type, "uniqueItems": True},
    }
    return found | {"required": True} if parameter.place == "path" else found


def _ref(name: str) -> Object:
    return {"$ref": builtin_definitions.V3_PREFIX + name}
