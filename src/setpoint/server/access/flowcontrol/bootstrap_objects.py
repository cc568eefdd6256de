"""Creates the missing FlowSchemas and PriorityLevelConfigurations of every cluster when a server starts."""

from collections.abc import Sequence

from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.provenance import Actor
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.flowcontrol.bootstrap_configuration import GROUP, VERSION, levels, schemas
from setpoint.server.registry.server_fields import managed, map_fields
from setpoint.server.request.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed, Write

SCHEMAS, LEVELS = "flowschemas", "prioritylevelconfigurations"

_ACTOR = Actor("system:apiserver", ("system:masters",), field_manager="api-priority-and-fairness-config-producer-v1")
_PRODUCER = "api-priority-and-fairness-config-producer-v1"
# The actor that writes the status.
CONSUMER = Actor("system:apiserver", ("system:masters",), field_manager="api-priority-and-fairness-config-consumer-v1")
_CONDITION_FIELDS: Object = map_fields("lastTransitionTime", "message", "reason", "status", "type")


async def fill(services: Services) -> None:
    """Creates the missing objects in one transaction."""
    writes = [*await _missing(services, LEVELS, levels()), *await _missing(services, SCHEMAS, schemas())]
    if not writes:
        return
    try:
        await services.transact(writes, _ACTOR)
    except ExpectationFailed:  # another server with the same store created them first
        return


async def _missing(services: Services, plural: str, objects: Sequence[Object]) -> list[Write]:
    resource = services.registry.resource(GROUP, VERSION, plural)
    if resource is None:
        return []
    there = {item.key for item in (await services.store.range(resource.storage.prefix)).items}
    writes = []
    for tree in objects:
        key = resource.storage.key("", tree["metadata"]["name"])
        if key not in there:
            meta.fill_system_fields(tree["metadata"], services.clock, services.ids)
            entries = [managed(str(GroupVersion(GROUP, VERSION)), _owned(tree), services.clock.now(), _PRODUCER)]
            if plural == SCHEMAS:
                tree["status"] = {"conditions": [_found(tree, services)]}
                status = {"f:status": {"f:conditions": {'k:{"type":"Dangling"}': _CONDITION_FIELDS}}}
                version, now = str(GroupVersion(GROUP, VERSION)), services.clock.now()
                entries.insert(0, managed(version, status, now, CONSUMER.field_manager, "Apply", "status"))
            tree["metadata"]["managedFields"] = entries
            writes.append(Write(key, resource.encode(tree), ABSENT))
    return writes


def _owned(tree: Object) -> Object:
    """Returns the fields of a new object, as a field set."""
    spec = _fields(tree["spec"])
    del spec["."]
    if "f:priorityLevelConfiguration" in spec:
        del spec["f:priorityLevelConfiguration"]["."]  # the only struct without a pointer
    return {"f:metadata": {"f:annotations": _fields(tree["metadata"]["annotations"])}, "f:spec": spec}


def _fields(tree: Object) -> Object:
    found: Object = {".": {}}
    for name, value in tree.items():
        found[f"f:{name}"] = _fields(value) if type(value) is dict else {}
    return found


def _found(tree: Object, services: Services) -> Object:
    level = tree["spec"]["priorityLevelConfiguration"]["name"]
    message = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}" and it exists'
    return {
        "type": "Dangling",
        "status": "False",
        "lastTransitionTime": format_time(services.clock.now()),
        "reason": "Found",
        "message": message,
    }
