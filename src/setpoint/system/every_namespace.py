"""The common part of controllers that maintain an object in every namespace."""

from contextlib import suppress
from typing import Any

from setpoint.cache.entry import CachedObject
from setpoint.client.client import Client
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request
from setpoint.objects.errors import Forbidden, NotFound
from setpoint.objects.tree import Object

# A new namespace that is not terminating: no objects can be created in a terminating one.
ACTIVE = Predicate(lambda change: change.old is None and change.held.meta.deletion_timestamp is None, "active")


def for_namespace(entry: CachedObject[Any]) -> tuple[Request]:
    """Maps an object to its namespace."""
    return (Request(entry.meta.namespace),)


async def create_in(client: Client, namespace: str, obj: Object) -> None:
    """Creates an object in a namespace, unless the namespace does not exist or is terminating. Raises AlreadyExists."""
    with suppress(NotFound):
        try:
            await client.create(obj, namespace=namespace)
        except Forbidden as error:
            if not any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                raise
