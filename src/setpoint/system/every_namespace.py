"""The common part of controllers that maintain an object in every namespace."""

import logging
from contextlib import suppress
from typing import Any

from setpoint.cache.entry import CachedObject
from setpoint.client.client import Client
from setpoint.client.kinds import Kind, metadata_only
from setpoint.controller.controller import Controller
from setpoint.controller.options import Reconcile
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Requeue
from setpoint.controller.watch import Watch
from setpoint.objects.clock import Clock
from setpoint.objects.errors import Forbidden, NotFound
from setpoint.objects.tree import Object

_log = logging.getLogger(__name__)
_KEPT_RUNS = 16
# A new namespace that is not terminating: no objects can be created in a terminating one.
ACTIVE = Predicate(lambda change: change.old is None and change.held.meta.deletion_timestamp is None, "active")


def for_namespace(entry: CachedObject[Any]) -> tuple[Request]:
    """Maps an object to its namespace."""
    return (Request(entry.meta.namespace),)


async def create_in(client: Client, namespace: str, obj: Object) -> None:
    """Creates an object in a namespace, unless the namespace does not exist or is terminating. Raises AlreadyExists,
    and Requeue for a refusal, such as that of a full quota."""
    with suppress(NotFound):
        try:
            await client.create(obj, namespace=namespace)
        except Forbidden as error:
            if not any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                _log.warning(
                    "%s %s cannot be created in %s: %s", obj["kind"], obj["metadata"]["name"], namespace, error
                )
                raise Requeue(why=str(error)) from None


def namespace_controller(
    name: str, reconcile: Reconcile, clock: Clock, kind: Kind[Any], object_name: str, lost: Predicate
) -> Controller:
    """Returns a controller that reconciles each new namespace, and a namespace whose object of this kind and name meets
    the condition `lost`."""
    objects = Watch(kind, for_namespace, predicates=(lost,), fields={"metadata.name": object_name})
    namespaces = Watch(metadata_only("v1/Namespace"), predicates=(ACTIVE,))
    return Controller(name, reconcile, clock=clock, kind=namespaces, watches=[objects], keep_runs=_KEPT_RUNS)
