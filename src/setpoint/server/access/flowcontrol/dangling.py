"""The condition `Dangling` of FlowSchemas: True if the priority level that a FlowSchema names does not exist.

Upstream a controller writes the condition; here the condition is written directly after the FlowSchema or the level.
"""

from setpoint.objects import conditions, meta
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.access.flowcontrol.bootstrap_objects import CONSUMER, LEVELS, SCHEMAS
from setpoint.server.registry.kinds.flowcontrol.bootstrap_configuration import GROUP
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.store.contract import ExpectationFailed

_VERSION = "v1"
# The number of FlowSchemas that are read before other requests run.
_SLICE = 50


class Dangling:
    """A reaction to writes of FlowSchemas and priority levels."""

    def concerns(self, resource: Resource, *, deletes: bool) -> bool:
        return resource.group == GROUP and resource.resource in ((LEVELS,) if deletes else (SCHEMAS, LEVELS))

    async def after_write(self, context: Context, resource: Resource, tree: Object) -> None:
        if resource.resource == SCHEMAS:
            await self._update_condition(context, resource, meta.name(tree))
        elif meta.resource_version(tree):
            await self._update_conditions(context, meta.name(tree))

    async def after_delete(self, context: Context, resource: Resource, tree: Object) -> None:
        await self._update_conditions(context, meta.name(tree))

    async def _update_conditions(self, context: Context, level: str) -> None:
        """Writes the condition of every FlowSchema of a level."""
        schemas = context.registry.resource(GROUP, _VERSION, SCHEMAS)
        if schemas is None:
            return
        for place, item in enumerate((await context.services.store.range(schemas.storage.prefix)).items):
            if place % _SLICE == _SLICE - 1:
                await context.pause()
            tree = schemas.item(item)
            if tree["spec"]["priorityLevelConfiguration"]["name"] == level:
                await self._update_condition(context, schemas, meta.name(tree))

    async def _update_condition(self, context: Context, resource: Resource, name: str) -> None:
        services, levels = context.services, context.registry.resource(GROUP, _VERSION, LEVELS)
        key = resource.storage.key("", name)
        while levels is not None and (item := await services.store.get(key)) is not None:
            live = resource.item(item)
            level = live["spec"]["priorityLevelConfiguration"]["name"]
            exists = await services.store.get(levels.storage.key("", level)) is not None
            wanted = condition(level, exists=exists, time=format_time(services.clock.now()))
            found = conditions.find((live.get("status") or {}).get("conditions") or [], "Dangling")
            if found is not None and all(found.get(field) == wanted[field] for field in ("status", "message")):
                return
            config: Object = {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": name},
                "status": {"conditions": [wanted]},
            }
            manager = resource.field_manager("status", services.clock)
            new = manager.apply(live, config, CONSUMER.field_manager, force=True)
            resource.shape.complete(new)
            try:
                await services.commit(key, resource.encode(new), item.revision, CONSUMER, context.cause)
                return
            except ExpectationFailed:
                continue


def condition(level: str, *, exists: bool, time: str) -> Object:
    """Returns the condition of a FlowSchema."""
    about = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
    return {
        "type": "Dangling",
        "status": "False" if exists else "True",
        "lastTransitionTime": time,
        "reason": "Found" if exists else "NotFound",
        "message": f"{about} and it exists" if exists else f"{about} but there is no such object",
    }
