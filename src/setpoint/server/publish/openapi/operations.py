"""The paths of a resource and their operations, in a form from which both versions of OpenAPI are generated."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from setpoint.objects.gvk import GroupVersionKind
from setpoint.schema import builtin
from setpoint.server.publish.openapi import definition_names
from setpoint.server.publish.openapi.parameters import NAMESPACE, PATH, PRETTY, Parameter, named, options
from setpoint.server.registry.resource import Resource, Subresource

ANY, JSON, YAML, TEXT = "*/*", "application/json", "application/yaml", "text/plain"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MEDIA = (JSON, YAML, PROTOBUF)
_STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_PATCHES = ("application/json-patch+json", "application/merge-patch+json")
_STRATEGIC, _APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"

# The kinds whose documents state that a delete returns the object. The rules of a kind state the same, but a thread
# creates documents, and must not import the rules of all kinds while the event loop may import them too. Those of
# Namespace and CustomResourceDefinition return the object, though the documents of kube-apiserver state a status.
_DELETED_OBJECTS: Mapping[str, frozenset[str]] = {
    "": frozenset(
        (
            *("PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ResourceQuota", "Service"),
            "ServiceAccount",
        )
    ),
    "resource.k8s.io": frozenset(("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")),
    "storage.k8s.io": frozenset(("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass")),
}
_INSTEAD = "deprecated: use the 'watch' parameter with a list operation instead"
_CONNECTIONS = ("get", "post")
_PROXIED = ("get", "put", "post", "delete", "options", "head", "patch")


class Operation(NamedTuple):
    """The operation of one method at a path."""

    method: str
    operation_id: str
    description: str
    tag: str
    action: str = ""
    kind: GroupVersionKind | None = None
    parameters: Sequence[Parameter] = ()
    # The name of the definition of the body; empty if there is none.
    body: str = ""
    body_required: bool = True
    consumes: Sequence[str] = ()
    # The name of the definition of the response (empty: a string), and its status codes.
    answer: str = ""
    produces: Sequence[str] = MEDIA
    codes: Sequence[int] = (200,)


class Path(NamedTuple):
    """A path, the parameters that all its methods share, and its operations."""

    path: str
    parameters: Sequence[Parameter]
    operations: Sequence[Operation]


class _Form(NamedTuple):
    """The description of a verb: its method, `x-kubernetes-action`, first word of the operation ID, text, and the
    options type of its parameters."""

    method: str
    action: str
    word: str
    description: str
    options: str
    codes: Sequence[int] = (200,)


_FORMS: Mapping[str, _Form] = {
    "list": _Form("get", "list", "list", "list objects of kind {kind}", "ListOptions"),
    "create": _Form("post", "post", "create", "create {of}{a}{kind}", "CreateOptions", (200, 201, 202)),
    "deletecollection": _Form("delete", "deletecollection", "delete", "delete collection of {kind}", ""),
    "get": _Form("get", "get", "read", "read {of}the specified {kind}", ""),
    "update": _Form("put", "put", "replace", "replace {of}the specified {kind}", "UpdateOptions", (200, 201)),
    "patch": _Form("patch", "patch", "patch", "partially update {of}the specified {kind}", "PatchOptions", (200, 201)),
    "delete": _Form("delete", "delete", "delete", "delete {of}{a}{kind}", "DeleteOptions", (200, 202)),
}


def path(name: str, operations: Sequence[Operation]) -> Path:
    """Returns a path. The parameters that all of its operations accept are parameters of the path."""
    first, *others = ({_key(parameter): parameter for parameter in found.parameters} for found in operations)
    shared = {key: parameter for key, parameter in first.items() if all(key in accepted for accepted in others)}
    own = [
        operation._replace(parameters=_sorted(found for found in operation.parameters if _key(found) not in shared))
        for operation in operations
    ]
    return Path(name, _sorted(shared.values()), own)


def _key(parameter: Parameter) -> tuple[str, str]:
    return parameter.name, parameter.place


def _sorted(parameters: Iterable[Parameter]) -> Sequence[Parameter]:
    return sorted(parameters, key=_key)


def paths(resource: Resource) -> Iterator[Path]:
    """Yields all paths of a resource, with their operations."""
    root = "/" + definition_names.root_path(resource.gvk.group_version)
    collection, shared = f"{root}/{resource.resource}", [PRETTY]
    if resource.namespaced:
        if "list" in resource.verbs:
            yield path(collection, [_operation(resource, "list", shared, f"{resource.kind}ForAllNamespaces")])
        collection, shared = f"{root}/namespaces/{{namespace}}/{resource.resource}", [NAMESPACE, PRETTY]
    yield from _path(resource, collection, shared, ("list", "create", "deletecollection"))
    item = f"{collection}/{{name}}"
    yield from _path(resource, item, [named(resource.kind), *shared], ("get", "update", "patch", "delete"))
    for subresource in resource.subresources.values():
        yield from _subresource_paths(resource, subresource, f"{item}/{subresource.name}", shared)
    if "watch" in resource.verbs and not resource.is_custom:
        yield from _watch_paths(resource, f"{root}/watch")


def _path(resource: Resource, name: str, shared: Sequence[Parameter], verbs: Sequence[str]) -> Iterator[Path]:
    found = [_operation(resource, verb, shared, _scoped(resource)) for verb in verbs if verb in resource.verbs]
    if found:
        yield path(name, found)


def _subresource_paths(
    resource: Resource, subresource: Subresource, name: str, shared: Sequence[Parameter]
) -> Iterator[Path]:
    kind = resource.gvk if resource.is_custom else subresource.kind or resource.gvk
    shared = [named(kind.kind), *shared]
    if not _is_connection(subresource):
        found = [_operation(resource, verb, shared, _scoped(resource), subresource) for verb in subresource.verbs]
        yield path(name, found)
        return
    accepted = [*(parameter for parameter in shared if parameter != PRETTY), *options(kind.kind)]
    if subresource.name != "proxy":
        yield path(name, [_connection(resource, subresource, method, accepted) for method in _CONNECTIONS])
        return
    yield path(name, [_connection(resource, subresource, method, accepted) for method in _PROXIED])
    accepted.append(PATH)
    below = [_connection(resource, subresource, method, accepted, "WithPath") for method in _PROXIED]
    yield path(f"{name}/{{path}}", below)


def _watch_paths(resource: Resource, root: str) -> Iterator[Path]:
    """Yields the legacy paths of watches, from before lists had a parameter for watching. Custom resources never had
    them."""
    collection, shared = f"{root}/{resource.resource}", [PRETTY]
    if resource.namespaced:
        yield _watch_path(resource, collection, shared, f"{resource.kind}ListForAllNamespaces")
        collection, shared = f"{root}/namespaces/{{namespace}}/{resource.resource}", [NAMESPACE, PRETTY]
    yield _watch_path(resource, collection, shared, f"{_scoped(resource)}List")
    yield _watch_path(resource, f"{collection}/{{name}}", [named(resource.kind), *shared], _scoped(resource))


def _watch_path(resource: Resource, name: str, shared: Sequence[Parameter], scoped: str) -> Path:
    gv = resource.gvk.group_version
    if name.endswith("{name}"):
        action, text = "watch", f"watch changes to an object of kind {resource.kind}. {_INSTEAD}, filtered to a single "
        text += "item with the 'fieldSelector' parameter."
    else:
        action, text = "watchlist", f"watch individual changes to a list of {resource.kind}. {_INSTEAD}."
    operation = Operation(
        "get",
        definition_names.operation_id(gv, "watch", scoped),
        text,
        definition_names.tag(gv),
        action,
        resource.gvk,
        [*shared, *options("ListOptions")],
        consumes=(ANY,),
        answer=definition_names.WATCH_EVENT,
        produces=(*MEDIA, *_STREAMS),
    )
    return path(name, [operation])


def _is_connection(subresource: Subresource) -> bool:
    """Returns True for a stream between a client and a node."""
    return subresource.kind is not None and subresource.kind.kind.endswith("Options")


def _scoped(resource: Resource) -> str:
    return f"Namespaced{resource.kind}" if resource.namespaced else resource.kind


def _connection(
    resource: Resource, subresource: Subresource, method: str, parameters: Sequence[Parameter], suffix: str = ""
) -> Operation:
    gv = resource.gvk.group_version
    scoped = f"{method.capitalize()}{_scoped(resource)}{subresource.name.capitalize()}{suffix}"
    return Operation(
        method,
        definition_names.operation_id(gv, "connect", scoped),
        f"connect {method.upper()} requests to {subresource.name} of {resource.kind}",
        definition_names.tag(gv),
        "connect",
        subresource.kind,
        parameters,
        consumes=(ANY,),
        produces=(ANY,),
    )


def _operation(
    resource: Resource, verb: str, shared: Sequence[Parameter], scoped: str, subresource: Subresource | None = None
) -> Operation:
    form, kind, of = _FORMS[verb], resource.gvk, ""
    gv = kind.group_version
    if subresource is not None:
        kind = subresource.kind or kind
        of = f"{subresource.name} of "
        scoped += subresource.name.capitalize()
    operation = Operation(
        form.method,
        definition_names.operation_id(gv, form.word, f"Collection{scoped}" if verb == "deletecollection" else scoped),
        form.description.format(of=of, a=_article(resource.kind), kind=resource.kind),
        definition_names.tag(gv),
        form.action,
        kind,
        [*shared, *options(form.options)] if form.options else shared,
        consumes=(ANY,),
        answer=schema_name(resource, kind),
        codes=form.codes,
    )
    operation = _with_body(resource, verb, operation)
    if verb == "list":
        list_kind = GroupVersionKind(kind.group, kind.version, resource.list_kind)
        operation = operation._replace(answer=schema_name(resource, list_kind), produces=(*MEDIA, *_STREAMS))
        if "watch" in resource.verbs and not resource.is_custom:
            operation = operation._replace(description=f"list or watch objects of kind {resource.kind}")
    elif subresource is not None and subresource.name == "log":
        accepted = [*shared, *options("PodLogOptions")]
        operation = operation._replace(answer="", produces=(TEXT, *MEDIA), parameters=accepted)
    return _of_custom_resource(operation, resource, verb, shared) if resource.is_custom else operation


def _with_body(resource: Resource, verb: str, operation: Operation) -> Operation:
    """Adds the body of a request to an operation, and the responses that depend on the verb."""
    if verb in ("create", "update"):
        return operation._replace(body=operation.answer)
    if verb == "patch":
        return operation._replace(body=definition_names.PATCH, consumes=(*_PATCHES, _STRATEGIC, _APPLY))
    if verb not in ("delete", "deletecollection"):
        return operation
    parameters = operation.parameters
    if verb == "deletecollection":
        parameters = [*parameters, *options("DeleteOptions"), *options("ListOptions", "watch", "allowWatchBookmarks")]
    whole = verb == "delete" and states_deleted_object(resource)
    answer = operation.answer if whole else definition_names.STATUS
    return operation._replace(
        body=definition_names.DELETE_OPTIONS, body_required=False, answer=answer, parameters=parameters
    )


def states_deleted_object(resource: Resource) -> bool:
    """Returns True if the documents state that a delete returns the deleted object, not a status."""
    return resource.kind in _DELETED_OBJECTS.get(resource.group, ())


def _of_custom_resource(operation: Operation, resource: Resource, verb: str, shared: Sequence[Parameter]) -> Operation:
    """Returns the operation as kube-apiserver describes those of custom resources, which have rules of their own."""
    operation = operation._replace(kind=resource.gvk, consumes=(JSON, YAML), produces=(JSON, YAML))
    match verb:
        case "get":
            return operation._replace(parameters=[*shared, *options("GetOptions")])
        case "patch":
            return operation._replace(consumes=(*_PATCHES, _APPLY), codes=(200,))
        case "delete":
            return operation._replace(answer=definition_names.STATUS)
        case "deletecollection":
            return operation._replace(body="", parameters=[*shared, *options("ListOptions")])
        case _:
            return operation


def _article(noun: str) -> str:
    if noun.endswith("s") and not noun.endswith("ss"):
        return ""
    return "an " if noun[:1] in "AEIOUaeiou" else "a "


def schema_name(resource: Resource, kind: GroupVersionKind) -> str:
    """Returns the name of the definition of a kind that a resource accepts or returns."""
    if resource.is_custom and kind.group_version == resource.gvk.group_version:
        return definition_names.definition_name(kind)
    return builtin.kinds()[kind]


def roots(found: Iterable[Path]) -> set[str]:
    """Returns the names of the definitions that operations refer to."""
    return {name for path in found for operation in path.operations for name in (operation.body, operation.answer)}
