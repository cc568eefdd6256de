"""GET of ComponentStatuses: the health of the components of this server, checked for every request and never stored.

The components have the names of a Kubernetes cluster: `etcd-0` is the store, whatever its backend, `controller-manager`
the system controllers in this process or a kube-controller-manager, and `scheduler` a kube-scheduler.
"""

import asyncio

from setpoint.objects.errors import NotFound
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object
from setpoint.server.codec.response import list_answer, object_answer
from setpoint.server.message import Response
from setpoint.server.registry.object_page import ObjectPage
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.selectors import ObjectSelector
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import list_options
from setpoint.store.contract import Item

# Seconds. A check that hangs has failed.
_PATIENCE = 2.0
# The name of the resource in the real server's error.
_RESOURCE = GroupResource("", "componentstatus")


async def get_component_status(context: Context, resource: Resource) -> Response:
    """Answers with the health of one component."""
    name = context.info.name
    if name not in context.services.components:
        raise NotFound.of(_RESOURCE, name)
    return await object_answer(context, resource, resource.encode(await _status(context, name)))


async def list_component_statuses(context: Context, resource: Resource) -> Response:
    """Answers with the health of all components. The list has no revision, because none of its objects is stored."""
    options = await list_options(context)
    selector = ObjectSelector(resource, "", options.label_selector, options.field_selector)
    items = []
    for name in sorted(context.services.components):
        item = Item(resource.storage.key("", name), resource.encode(await _status(context, name)), 0, 0)
        if selector.matches(item.key, item.value, item.revision):
            items.append(item)
    return await list_answer(context, resource, ObjectPage(resource, items, 0))


async def _status(context: Context, name: str) -> Object:
    condition = {"type": "Healthy", "status": "True", "message": "ok"}
    try:
        async with asyncio.timeout(_PATIENCE):
            await context.services.components[name]()
    except Exception as error:  # any exception is a failed check
        why = str(error) or type(error).__name__
        condition = {"type": "Healthy", "status": "False", "message": why}
    return {"apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": name}, "conditions": [condition]}
