"""Admission: who may change a write, or refuse it, after it was authorized and before it is stored.

The chain of a server is one `Admission`. The server's own rule, that objects live in a namespace that exists and is not
on its way out, is `NamespaceLifecycle`; policies and webhooks join the chain behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from setpoint.objects.errors import Forbidden, NotFound, StatusCause
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object
from setpoint.server.context import Context
from setpoint.server.resource import Resource

NAMESPACES = GroupResource("", "namespaces")
_NAMESPACE_PREFIX = "/core/namespaces/"
# What cannot be deleted.
IMMORTAL = frozenset(("default", "kube-system", "kube-public"))


@dataclass(slots=True)
class Operation:
    """One write as admission sees it. `object` may be changed in place, or replaced, while mutating."""

    verb: str  # CREATE, UPDATE, DELETE or CONNECT
    resource: Resource
    namespace: str
    name: str
    subresource: str
    object: Object | None
    old: Object | None
    dry_run: bool = False
    options: Object | None = None


class Admission(Protocol):
    """A rule, or a chain of them. Both methods raise an APIError to refuse."""

    async def mutate(self, context: Context, operation: Operation) -> None:
        """May change the object."""

    async def validate(self, context: Context, operation: Operation) -> None:
        """May only refuse."""


class Chain:
    """Several rules as one, in order."""

    def __init__(self, rules: Sequence[Admission] = ()) -> None:
        self._rules = tuple(rules)

    async def mutate(self, context: Context, operation: Operation) -> None:
        for rule in self._rules:
            await rule.mutate(context, operation)

    async def validate(self, context: Context, operation: Operation) -> None:
        for rule in self._rules:
            await rule.validate(context, operation)


class NamespaceLifecycle:
    """Nothing is created in a namespace that is not there or is being deleted; some namespaces stay for ever."""

    async def mutate(self, context: Context, operation: Operation) -> None:
        resource = operation.resource
        if operation.verb == "DELETE":
            if operation.name in IMMORTAL and resource.group_resource == NAMESPACES:
                raise Forbidden.of(NAMESPACES, operation.name, "this namespace may not be deleted")
            return
        if operation.verb != "CREATE" or not resource.namespaced:
            return
        namespace = operation.namespace
        item = await context.services.store.get(_NAMESPACE_PREFIX + namespace)
        if item is None:
            if resource.resource == "localsubjectaccessreviews":
                return
            raise NotFound.of(NAMESPACES, namespace)
        if b'"deletionTimestamp":"' in item.value and _is_terminating(context, item.value, item.revision):
            cause = StatusCause(
                "NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace"
            )
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise Forbidden.of(resource.group_resource, operation.name, why, [cause])

    async def validate(self, context: Context, operation: Operation) -> None:
        """Has nothing to say about the object itself."""


def _is_terminating(context: Context, value: bytes, revision: int) -> bool:
    namespaces = context.registry.resource("", "v1", "namespaces")
    return namespaces is not None and "deletionTimestamp" in namespaces.decode(value, revision)["metadata"]
