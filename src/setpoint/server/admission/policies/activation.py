"""The CEL variables of policy expressions: `object`, `request`, `authorizer` and others.

Each variable is computed on first use, in the version that the policy requires, and shared by all expressions of all
policies that require the same version.
"""

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from msgspec.structs import asdict

from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Json, Object
from setpoint.schema.cel.views import untyped
from setpoint.server.access.authorization import cel_authorizer
from setpoint.server.admission.match_criteria import convert_objects, in_version, namespace_of
from setpoint.server.ports import Operation
from setpoint.server.registry.conversion.pending import ConvertedObjects
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context

AUTHORIZER, REQUEST_CHECK, NAMESPACE = "authorizer", "authorizer.requestResource", "namespaceObject"
_NAMESPACES = GroupResource("", "namespaces")
# The metadata fields of a namespace that expressions can read.
_METADATA = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers"),
)


class Subject:
    """A request in the version of one resource. Call `prepare` before reading values."""

    def __init__(self, context: Context, operation: Operation, target: Resource) -> None:
        self.operation = operation
        self.target = target
        self._context = context
        self._namespace: Json = None
        self._authorizer: cel_authorizer.CheckAuthorizer | None = None
        self._converted: ConvertedObjects = ()
        self._object: Any = None
        # The object that the cached value was computed from; a mutating policy may replace the object.
        self._seen: Object | None = None

    async def prepare(self, names: Collection[str]) -> None:
        """Loads the asynchronous values among the given variable names. Raises NotFound for a missing namespace."""
        operation = self.operation
        if self.target.fetch is not None:
            await self.convert()
        if NAMESPACE in names and self._namespace is None and operation.namespace and not self._is_namespace:
            self._namespace = _shown(await namespace_of(self._context.services, operation))
        if self._authorizer is None and (AUTHORIZER in names or REQUEST_CHECK in names):
            self._authorizer = await cel_authorizer.check_authorizer(self._context.services, self._context.user)

    async def convert(self) -> None:
        """Converts the current objects to the version of the target. Raises InternalError."""
        self._converted = await convert_objects(self.operation, self.target)

    def values(self, params: Json, *, namespace: bool = True) -> Callable[[str], Any]:
        """Returns a function from variable names to values. Match conditions have no access to the namespace."""

        def value(name: str) -> Any:
            if name == "object":
                return self._current()
            if name == "params":
                return untyped(params)
            if name == NAMESPACE:
                return untyped(self._namespace) if namespace else None
            if name == AUTHORIZER:
                return self._authorizer
            if name == REQUEST_CHECK:
                return (
                    None if self._authorizer is None else cel_authorizer.request_check(self._authorizer, self.operation)
                )
            return self._old if name == "oldObject" else self._request

        return value

    @property
    def tree(self) -> Object | None:
        """The current object in the version of the target. Do not modify."""
        return in_version(self.operation, self.operation.object, self.target)

    def _current(self) -> Any:
        if self._seen is not self.operation.object:
            self._seen = self.operation.object
            self._object = untyped(self.tree)
        return self._object

    @cached_property
    def _old(self) -> Any:
        return untyped(in_version(self.operation, self.operation.old, self.target))

    @cached_property
    def _request(self) -> Any:
        return untyped(admission_request(self._context, self.operation, self.target))

    @property
    def _is_namespace(self) -> bool:
        return self.operation.resource.group_resource == _NAMESPACES


def admission_request(context: Context, operation: Operation, target: Resource) -> Object:
    """Returns the request attributes without objects, as in an AdmissionReview, without empty fields."""
    subresource, user, resource = operation.subresource, context.user, operation.resource
    extra = {name: list(values) for name, values in user.extra.items()}
    about = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    request: Object = {
        "kind": asdict(target.kind_at(subresource)),
        "resource": _resource(target),
        "requestKind": asdict(operation.kind),
        "requestResource": _resource(resource),
        "operation": operation.verb,
        "userInfo": {name: value for name, value in about.items() if value},
        "dryRun": operation.dry_run,
        "options": operation.options,
    }
    if subresource:
        request["subResource"] = request["requestSubResource"] = subresource
    if operation.name:
        request["name"] = operation.name
    if operation.namespace:
        request["namespace"] = operation.namespace
    return request


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


def _shown(namespace: Object) -> Object:
    metadata = namespace["metadata"]
    shown = {name: metadata[name] for name in _METADATA if name in metadata}
    return {"metadata": shown, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}
