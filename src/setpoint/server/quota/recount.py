"""Counts the usage in a namespace for a new or changed quota."""

import asyncio
from collections.abc import Iterator

from setpoint.objects.gvk import GroupResource
from setpoint.objects.quantity import Quantity
from setpoint.server.quota.amounts import plus
from setpoint.server.quota.evaluators import ALIASED, SPECIAL, Evaluator, evaluator_of
from setpoint.server.quota.quotas import Quota
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Services

_COUNT = "count/"
# The number of objects that are decoded before other tasks run.
_DECODED = 64


async def recount(services: Services, namespace: str, quota: Quota) -> Quota:
    """Returns the quota with the current usage. Resources without an evaluator are omitted."""
    used: dict[str, Quantity] = {}
    for resource, evaluator in _counted(services.registry, quota):
        names = quota.names(evaluator)
        used = {**dict.fromkeys(names, Quantity(0)), **used}
        prefix = resource.storage.scope(namespace)
        if not evaluator.is_plain:
            for place, item in enumerate((await services.store.range(prefix)).items, 1):
                if place % _DECODED == 0:
                    await asyncio.sleep(0)
                used = plus(used, quota.usage(evaluator, resource.item(item)))
        elif not quota.requirements:
            number = Quantity(await services.store.count(prefix))
            used |= dict.fromkeys(names, number)
    return quota.counted(used)


def is_complete(registry: Registry, quota: Quota) -> bool:
    """Returns True if everything countable was counted; a kind may have been added since."""
    if quota.is_counted and quota.hard.keys() <= quota.used.keys():
        return True
    return quota.is_counted and all(
        quota.names(evaluator) <= quota.used.keys() for _, evaluator in _counted(registry, quota)
    )


def _counted(registry: Registry, quota: Quota) -> Iterator[tuple[Resource, Evaluator]]:
    """Yields the resources that a quota counts, with their evaluators."""
    wanted = {*SPECIAL, *ALIASED}
    wanted |= {GroupResource.parse(name.removeprefix(_COUNT)) for name in quota.hard if name.startswith(_COUNT)}
    served = _served(registry)
    for found in sorted(wanted):
        resource = served.get(found)
        evaluator = evaluator_of(resource) if resource is not None else None
        if resource is not None and evaluator is not None and any(map(evaluator.counts, quota.hard)):
            yield resource, evaluator


def _served(registry: Registry) -> dict[GroupResource, Resource]:
    """Returns the served resources, independent of their version, cached on the registry."""
    found: dict[GroupResource, Resource] | None = registry.documents.get("quota")
    if found is None:
        found = registry.documents["quota"] = {}
        for resource in registry:
            found.setdefault(resource.group_resource, resource)
    return found
