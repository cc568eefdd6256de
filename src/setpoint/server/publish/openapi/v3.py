"""OpenAPI version 3: one document for each group and version, and one for each path that is not a resource."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.publish.openapi import (
    builtin_definitions,
    custom_schema,
    definition_names,
    index_paths,
    operations,
)
from setpoint.server.publish.openapi.operations import Operation, Path
from setpoint.server.publish.openapi.parameters import Parameter
from setpoint.server.publish.openapi.v2 import INFO, METHODS, SECURITY, TEXTS, extensions
from setpoint.server.registry.resource import Resource

_encode = msgspec.json.Encoder().encode
# As in kube-apiserver, whose documents of custom resources are written by a part of its own.
_CUSTOM_INFO: Mapping[str, str] = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}


def document(gv: GroupVersion, resources: Sequence[Resource]) -> Object:
    """Returns the document of a group and version."""
    paths = [path for resource in resources for path in operations.paths(resource)]
    custom = all(resource.is_custom for resource in resources)
    if not custom:
        paths.append(index_paths.version_path(gv))
    shown = builtin_definitions.shown_in_custom if custom else builtin_definitions.shown_in(gv)
    schemas = _definitions(resources, paths, shown)
    if custom:
        return _document(_CUSTOM_INFO, paths, {"schemas": schemas})
    return _builtin_document(paths, schemas)


def index_document(path: Path) -> Object:
    """Returns the document of a path that is not a resource."""
    names = builtin_definitions.closure(operations.roots([path]))
    return _builtin_document([path], {name: builtin_definitions.definition(name) for name in names})


def encoded(document: Object) -> bytes:
    """Returns a document in JSON."""
    return _encode(document)


def _definitions(resources: Iterable[Resource], paths: Iterable[Path], shown: builtin_definitions.Shown) -> Object:
    """Returns all schemas that the operations, and those schemas, refer to."""
    roots, custom = operations.roots(paths), dict[str, Object]()
    for resource in resources:
        if resource.is_custom:
            custom |= custom_schema.definitions(resource)
            roots |= {definition_names.OBJECT_META, definition_names.LIST_META}
    found = {name: builtin_definitions.definition(name, shown) for name in builtin_definitions.closure(roots)}
    return dict(sorted((found | custom).items()))


def _builtin_document(paths: Iterable[Path], schemas: Object) -> Object:
    components: Object = {"schemas": schemas} if schemas else {}
    return _document(INFO, paths, {**components, "securitySchemes": SECURITY})


def _document(info: Mapping[str, str], paths: Iterable[Path], components: Object) -> Object:
    return {
        "openapi": "3.0.0",
        "info": info,
        "paths": {path.path: _path(path) for path in sorted(paths)},
        "components": components,
    }


def _path(path: Path) -> Object:
    by_method = {operation.method: operation for operation in path.operations}
    found: Object = {method: _operation(by_method[method]) for method in METHODS if method in by_method}
    if path.parameters:
        found["parameters"] = [_parameter(parameter) for parameter in path.parameters]
    return found


def _operation(operation: Operation) -> Object:
    found: Object = {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.operation_id,
    }
    if operation.parameters:
        # Inline, because kubectl looks for them here.
        found["parameters"] = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        found["requestBody"] = {"content": _content(operation.consumes, _ref(operation.body))}
        if operation.body_required:
            found["requestBody"]["required"] = True
    content = _content(operation.produces, _ref(operation.answer) if operation.answer else {"type": "string"})
    responses: Object = {str(code): {"description": TEXTS[code], "content": content} for code in operation.codes}
    found["responses"] = {**responses, "401": {"description": "Unauthorized"}}
    return found | extensions(operation)


def _content(media_types: Iterable[str], schema: Object) -> Object:
    return {media_type: {"schema": schema} for media_type in sorted(media_types)}


def _parameter(parameter: Parameter) -> Object:
    found: Object = {"name": parameter.name, "in": parameter.place, "description": parameter.description}
    if parameter.place == "path":
        found["required"] = True
    return found | {"schema": {"type": parameter.type, "uniqueItems": True}}


def _ref(name: str) -> Object:
    return {"$ref": builtin_definitions.V3_PREFIX + name}
