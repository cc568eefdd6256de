"""The paths of a resource and their operations, in a form from which both versions of OpenAPI are generated."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.schema import builtin
from setpoint.server.publish.openapi import definition_names
from setpoint.server.registry.resource import Resource, Subresource

JSON, YAML, TEXT = "application/json", "application/yaml", "text/plain"
STREAM = f"{JSON};stream=watch"
_BODIES = (JSON, YAML)
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"


class Parameter(NamedTuple):
    """One parameter of the path or the query."""

    name: str
    type: str
    description: str
    place: str = "query"


class Operation(NamedTuple):
    """The operation of one method at a path."""

    method: str
    action: str
    operation_id: str
    description: str
    kind: GroupVersionKind
    parameters: Sequence[Parameter] = ()
    # The name of the definition of the body; empty if there is none.
    body: str = ""
    consumes: Sequence[str] = ()
    body_required: bool = True
    # The name of the definition of the response (empty: plain text), and its status codes.
    answer: str = ""
    produces: Sequence[str] = _BODIES
    codes: Sequence[int] = (200,)


class Path(NamedTuple):
    """A path, the parameters that all its methods share, and its operations."""

    path: str
    parameters: Sequence[Parameter]
    operations: Sequence[Operation]


_PRETTY = Parameter("pretty", "string", "Indent the response; default for browsers, curl and wget.")
_NAMESPACE = Parameter("namespace", "string", "The namespace of the objects.", "path")

_DRY_RUN = Parameter("dryRun", "string", "`All`: process the request without storing the result.")
_WRITE = (
    _DRY_RUN,
    Parameter("fieldManager", "string", "The manager of the written fields; required for apply."),
    Parameter(
        "fieldValidation",
        "string",
        "Handling of unknown and duplicate fields: `Ignore`, `Warn` (the default) or `Strict`.",
    ),
)
_PATCH = (
    *_WRITE,
    Parameter("force", "boolean", "Take conflicting fields from other managers. For apply only."),
)
_DELETE = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", "The grace period of the deletion in seconds; 0 deletes immediately."),
    Parameter("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    Parameter("propagationPolicy", "string", "Handling of dependents: `Orphan`, `Background` or `Foreground`."),
)
_SELECT = (
    Parameter("continue", "string", "The continue token of the previous page."),
    Parameter("fieldSelector", "string", "Select objects by their fields."),
    Parameter("labelSelector", "string", "Select objects by their labels."),
    Parameter("limit", "integer", "The maximum number of objects in the response."),
    Parameter("resourceVersion", "string", "The resource version of the list or the start of the watch."),
    Parameter("resourceVersionMatch", "string", "The meaning of resourceVersion: `Exact` or `NotOlderThan`."),
)
_LIST = (
    Parameter("allowWatchBookmarks", "boolean", "Allow bookmarks in a watch."),
    *_SELECT,
    Parameter("sendInitialEvents", "boolean", "Start a watch with the existing objects."),
    Parameter("timeoutSeconds", "integer", "The duration of a watch in seconds."),
    Parameter("watch", "boolean", "Watch for changes instead of listing."),
)
_GET = (Parameter("resourceVersion", "string", "The minimum resource version of the response."),)
_LOG = (
    Parameter("container", "string", "The container; required if the pod has several."),
    Parameter("follow", "boolean", "Follow the log."),
    Parameter("previous", "boolean", "The log of the container before its last restart."),
    Parameter("sinceSeconds", "integer", "Only entries of the last seconds."),
    Parameter("tailLines", "integer", "The number of lines from the end of the log."),
    Parameter("timestamps", "boolean", "Prefix each line with its timestamp."),
)


class _Form(NamedTuple):
    """The description of a verb: its method, `x-kubernetes-action`, first word of the operation ID, and text."""

    method: str
    action: str
    word: str
    description: str
    parameters: Sequence[Parameter]
    codes: Sequence[int] = (200,)


_FORMS: Mapping[str, _Form] = {
    "list": _Form("get", "list", "list", "list or watch objects of kind {}", _LIST),
    "create": _Form("post", "post", "create", "create {}", _WRITE, (200, 201, 202)),
    "deletecollection": _Form(
        "delete", "deletecollection", "delete", "delete a collection of {}", (*_DELETE[:1], *_SELECT, *_DELETE[1:])
    ),
    "get": _Form("get", "get", "read", "read the specified {}", _GET),
    "update": _Form("put", "put", "replace", "replace the specified {}", _WRITE, (200, 201)),
    "patch": _Form("patch", "patch", "patch", "partially update the specified {}", _PATCH, (200, 201)),
    "delete": _Form("delete", "delete", "delete", "delete {}", _DELETE, (200, 202)),
}


def paths(resource: Resource) -> Iterator[Path]:
    """Yields all paths of a resource, with their operations."""
    root = "/" + definition_names.root_path(resource.gvk.group_version)
    collection, shared = f"{root}/{resource.resource}", [_PRETTY]
    if resource.namespaced:
        if "list" in resource.verbs:
            everywhere = _operation(resource, "list", f"{resource.kind}ForAllNamespaces")
            yield Path(collection, shared, [everywhere])
        collection, shared = f"{root}/namespaces/{{namespace}}/{resource.resource}", [_NAMESPACE, _PRETTY]
    yield from _path(resource, collection, shared, ("list", "create", "deletecollection"))
    name = Parameter("name", "string", f"The name of the {resource.kind}.", "path")
    item, shared = f"{collection}/{{name}}", [name, *shared]
    yield from _path(resource, item, shared, ("get", "update", "patch", "delete"))
    for subresource in resource.subresources.values():
        if not _is_connection(subresource):
            operations = [_operation(resource, verb, _scoped(resource), subresource) for verb in subresource.verbs]
            yield Path(f"{item}/{subresource.name}", shared, operations)
    if "watch" in resource.verbs and not resource.is_custom:
        yield from _watch_paths(resource, f"{root}/watch", name)


def _watch_paths(resource: Resource, root: str, name: Parameter) -> Iterator[Path]:
    """Yields the legacy paths of watches, from before lists had a parameter for watching. Custom resources never had
    them."""
    collection, shared = f"{root}/{resource.resource}", [_PRETTY]
    if resource.namespaced:
        yield _watch_path(resource, collection, shared, f"{resource.kind}ListForAllNamespaces")
        collection, shared = f"{root}/namespaces/{{namespace}}/{resource.resource}", [_NAMESPACE, _PRETTY]
    yield _watch_path(resource, collection, shared, f"{_scoped(resource)}List")
    yield _watch_path(resource, f"{collection}/{{name}}", [name, *shared], _scoped(resource))


def _watch_path(resource: Resource, path: str, shared: Sequence[Parameter], scoped: str) -> Path:
    one = path.endswith("{name}")
    instead = "use the 'watch' parameter of the list"
    operation = Operation(
        "get",
        "watch" if one else "watchlist",
        definition_names.operation_id(resource.gvk.group_version, "watch", scoped),
        f"watch {'an object' if one else 'all objects'} of kind {resource.kind}. Deprecated: {instead}.",
        resource.gvk,
        answer=definition_names.WATCH_EVENT,
        produces=(JSON, STREAM, YAML),
    )
    return Path(path, [*_LIST, *shared], [operation])


def _path(resource: Resource, path: str, shared: Sequence[Parameter], verbs: Sequence[str]) -> Iterator[Path]:
    found = [_operation(resource, verb, _scoped(resource)) for verb in verbs if verb in resource.verbs]
    if found:
        yield Path(path, shared, found)


def _is_connection(subresource: Subresource) -> bool:
    """Returns True for a stream between a client and a node, which OpenAPI does not describe."""
    return subresource.kind is not None and subresource.kind.kind.endswith("Options")


def _scoped(resource: Resource) -> str:
    return f"Namespaced{resource.kind}" if resource.namespaced else resource.kind


def _operation(resource: Resource, verb: str, scoped: str, subresource: Subresource | None = None) -> Operation:
    form = _FORMS[verb]
    kind = resource.gvk
    what = kind.kind
    if subresource is not None:
        kind = subresource.kind or kind
        what = f"{subresource.name} of {what}"
        scoped += subresource.name.capitalize()
    if verb == "deletecollection":
        scoped = f"Collection{scoped}"
    operation = Operation(
        form.method,
        form.action,
        definition_names.operation_id(resource.gvk.group_version, form.word, scoped),
        form.description.format(what),
        kind,
        form.parameters,
        answer=schema_name(resource, kind),
        codes=form.codes,
    )
    if verb in ("create", "update"):
        return operation._replace(body=operation.answer, consumes=_BODIES)
    if verb == "patch":
        return operation._replace(
            body=definition_names.PATCH, consumes=_PATCHES if resource.is_custom else (*_PATCHES, _STRATEGIC)
        )
    if verb in ("delete", "deletecollection"):
        whole = verb == "delete" and resource.strategy.returns_deleted_object
        answer = operation.answer if whole else definition_names.STATUS
        return operation._replace(
            body=definition_names.DELETE_OPTIONS, consumes=_BODIES, body_required=False, answer=answer
        )
    if verb == "list":
        list_kind = GroupVersionKind(kind.group, kind.version, resource.list_kind)
        return operation._replace(answer=schema_name(resource, list_kind), produces=(JSON, STREAM, YAML))
    if subresource is not None and subresource.name == "log":
        return operation._replace(answer="", produces=(TEXT,), parameters=_LOG)
    return operation


def schema_name(resource: Resource, kind: GroupVersionKind) -> str:
    """Returns the name of the definition of a kind that a resource accepts or returns."""
    if resource.is_custom and kind.group_version == resource.gvk.group_version:
        return definition_names.definition_name(kind)
    return builtin.kinds()[kind]


def roots(found: Iterable[Path]) -> set[str]:
    """Returns the names of the definitions that operations refer to."""
    return {name for path in found for operation in path.operations for name in (operation.body, operation.answer)}


def tags(gv: GroupVersion) -> list[str]:
    """Returns the tags of the operations of a group and version."""
    return [definition_names.tag(gv)]
