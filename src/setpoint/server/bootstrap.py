"""What every cluster has from its first moment: the namespaces that clients count on."""

from setpoint.objects import meta
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.server.context import Services
from setpoint.store.contract import ABSENT, ExpectationFailed

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
APISERVER = Actor("system:apiserver", ("system:masters",), field_manager="kube-apiserver")


async def fill(services: Services) -> None:
    """Makes what is missing."""
    resource = services.registry.resource("", "v1", "namespaces")
    if resource is None:
        return
    for name in NAMESPACES:
        key = resource.storage.key("", name)
        if await services.store.get(key) is not None:
            continue
        tree: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        resource.shape.admit(tree)
        resource.strategy.default(tree)
        meta.fill_system_fields(tree["metadata"], services.clock, services.ids)
        resource.strategy.prepare_for_create(tree)
        try:
            await services.commit(key, resource.encode(tree), ABSENT, APISERVER)
        except ExpectationFailed:
            continue
