"""The controller of load balancers gives each Service of type LoadBalancer an address.

The addresses are in the status of the Services only, so that a deleted Service releases its address at once, and needs
no finalizer.
"""

from typing import TYPE_CHECKING, Any

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Requeue
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.loadbalancer.addresses import RANGES, candidates, family_of, index_values, ingress_of

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

SERVICE = "v1/Service"
COMPONENT = "service-controller"
# The class that selects this controller explicitly; a Service of another class belongs to another controller.
CLASS = "setpoint.dev/simulated"
_INDEX = "address of the load balancer"


class LoadBalancerReconciler:
    """Reconciles the addresses of Services."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    async def reconcile(self, ctx: Context[Any], request: Request) -> None:
        """Assigns the addresses of a Service. Raises Requeue if no address is free."""
        try:
            service: Object = await ctx.client.get(SERVICE, request.name, request.namespace)
        except NotFound:
            return
        spec = service["spec"]
        if service["metadata"].get("deletionTimestamp") or spec.get("loadBalancerClass") not in (None, CLASS):
            return
        if spec.get("type") != "LoadBalancer":
            return  # the server removes the addresses with the type
        current = ingress_of(service)
        families = list(spec.get("ipFamilies") or ("IPv4",))
        if [family_of(each) for each in current] == families:
            return
        self._recorder.normal(service, "EnsuringLoadBalancer", "Ensuring load balancer")
        addresses = [await self._free(ctx, service, family, current) for family in families]
        await _write(ctx, service, addresses)
        self._recorder.normal(service, "EnsuredLoadBalancer", "Ensured load balancer")

    async def _free(self, ctx: Context[Any], service: Object, family: str, current: list[str]) -> str:
        """Returns the address of a family: the present one, or the first free one. Raises Requeue."""
        for address in current:
            if family_of(address) == family:
                return address
        for address in candidates(family, service["spec"].get("loadBalancerIP")):
            if not await ctx.client.cache.by_index(SERVICE, _INDEX, index_values, (address,)):
                return address
        text = f"Error syncing load balancer: failed to ensure load balancer: no address of {RANGES[family]} is free"
        self._recorder.warning(service, "SyncLoadBalancerFailed", text)
        raise Requeue(None, text)


async def _write(ctx: Context[Any], service: Object, addresses: list[str]) -> None:
    """Writes the addresses to the status."""
    balancer = {"ingress": [{"ip": each, "ipMode": "VIP"} for each in addresses]}
    status = {**(service.get("status") or {}), "loadBalancer": balancer}
    await ctx.client.update({**service, "status": status}, subresource="status")


async def start(host: ControllerHost) -> None:
    """Starts the controller. One reconcile at a time: two must not choose the same address."""
    await host.control(
        Controller(
            host.name,
            LoadBalancerReconciler(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=SERVICE,
            concurrency=1,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
