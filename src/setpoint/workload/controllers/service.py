"""The controller of Services: runs a proxy for each Service, and forwards connections to the workloads that serve the
Service.

The address is known as soon as the proxy listens, before any workload serves: clients can connect. A connection waits
while a workload starts, and is refused with the reason if none can serve. A Proxyless Service has the address of its
first Endpoint and no proxy.
"""

import logging
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.handler import mapped
from setpoint.controller.request import Request, Result
from setpoint.controller.watch import Watch
from setpoint.objects.tree import Object
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.controllers.unserved import unserved
from setpoint.workload.kinds.api_names import FINALIZERS
from setpoint.workload.kinds.container import Container
from setpoint.workload.kinds.endpoint import Endpoint
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.kinds.service import EffectiveAddress, Service, ServiceSpec, ServiceStatus
from setpoint.workload.proxy.addresses import IPV4, AddressMode, NoAddressError, in_url, place_of, plain
from setpoint.workload.proxy.balance import Backend, Balancing
from setpoint.workload.proxy.ports import UDP, PortBusyError, Ports
from setpoint.workload.proxy.refusal import Unserved
from setpoint.workload.proxy.tcp import TCPProxy
from setpoint.workload.proxy.udp import UDPProxy
from setpoint.workload.runtime import Machine
from setpoint.workload.service_producers import CANNOT_LISTEN

FINALIZER = FINALIZERS["Service"]
_PRODUCERS: dict[str, type[Executable] | type[Container]] = {"Executable": Executable, "Container": Container}
# The delay before the next attempt to bind a busy port, and the interval of status updates while connections are open.
_BUSY_SECONDS = 2.0
_COUNTER_SECONDS = 5.0
_REASON_SECONDS = 0.1

_log = logging.getLogger(__name__)


@dataclass
class _Serving:
    """The proxy of one Service."""

    uid: str
    spec: ServiceSpec
    proxy: TCPProxy | UDPProxy
    shown: str
    port: int
    addresses: list[str] = field(default_factory=list)

    def fits(self, spec: ServiceSpec) -> bool:
        """Returns True if the proxy listens at the address and protocol of the spec."""
        return all(
            getattr(self.spec, name) == getattr(spec, name)
            for name in ("address", "port", "transport", "address_allocation_mode")
        )


class Services:
    """The controller, and the proxies."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._serving: dict[str, _Serving] = {}
        # The last computed reason of each Service, with its time.
        self._reasons: dict[str, tuple[float, Unserved | None]] = {}
        # The last logged refusal of each Service.
        self._refusals: dict[str, Unserved] = {}
        by_service = mapped(lambda endpoint: Request(endpoint.spec.service_name))
        self.controller = Controller(
            "service",
            self._reconcile,
            kind=Service,
            clock=machine.clock,
            ids=machine.ids,
            reads=READS,
            watches=(Watch(Endpoint, handler=by_service),),
            concurrency=8,
        )

    async def close(self) -> None:
        """Closes all proxies."""
        for name in list(self._serving):
            await self._end(name)

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: Service | None = await ctx.object()
        if obj is None:
            await self._end(request.name)
            return None
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(self._end, request.name)):
            self._machine.ports.release(self._owner(request.name))
            return None
        backends = list(self._backends(ctx, request.name))
        if obj.spec.address_allocation_mode == "Proxyless":
            await self._end(request.name)
            self._report_proxyless(ctx, obj, backends)
            return None
        try:
            serving = await self._proxy(obj)
        except (PortBusyError, NoAddressError, OSError) as error:
            self._report_failure(ctx, error)
            return Result(requeue_after=_BUSY_SECONDS)
        serving.proxy.balancer.balancing = Balancing(obj.spec.balancing)
        if isinstance(serving.proxy, TCPProxy):
            serving.proxy.drain = obj.spec.drain_timeout.total_seconds()
        serving.proxy.set_backends(backends)
        self._report(ctx, serving, backends)
        counters = serving.proxy.counters
        return Result(requeue_after=_COUNTER_SECONDS if counters.active or counters.parked else None)

    def _backends(self, ctx: Context, name: str) -> Iterator[Backend]:
        """Yields the addresses of the Service's Endpoints, with the health of their owners."""
        assert self._machine.find is not None
        for tree in self._machine.endpoints(name):
            owners = tree["metadata"].get("ownerReferences") or ()
            healthy = all(self._is_well(ctx, owner) for owner in owners)
            spec = tree["spec"]
            yield Backend(plain(spec["address"]), spec["port"], tree["metadata"]["name"], healthy)

    def _is_well(self, ctx: Context, owner: Object) -> bool:
        kind = _PRODUCERS.get(owner["kind"])
        found = None if kind is None else ctx.lookup(kind, owner["name"])
        # Endpoints of other owners count as healthy.
        return found is None or found.status is None or found.status.health_status != "Unhealthy"

    # The proxy

    async def _proxy(self, obj: Service) -> _Serving:
        """Returns the listening proxy of a Service. Raises PortBusyError, NoAddressError or OSError."""
        name, uid, spec = obj.metadata.name or "", obj.metadata.uid or "", obj.spec
        found = self._serving.get(name)
        if found is not None and found.uid == uid and found.fits(spec):
            found.spec = spec
            return found
        await self._end(name)
        owner = self._owner(name)
        place = place_of(AddressMode(spec.address_allocation_mode), spec.address, owner)
        reserved = self._ports.reserve(owner, spec.transport, place.addresses, spec.port or None)
        clock, ids = self._machine.clock, self._machine.ids
        proxy: TCPProxy | UDPProxy
        if spec.transport == UDP:
            proxy = UDPProxy(clock, ids, Balancing(spec.balancing))
        else:
            reason = None if self._machine.as_dcp else partial(self._unserved, name)
            drain = spec.drain_timeout.total_seconds()
            proxy = TCPProxy(clock, ids, Balancing(spec.balancing), drain, reason, self._refused)
        addresses = [each.getsockname()[0] for each in reserved.sockets]
        await proxy.start(reserved.sockets)
        serving = self._serving[name] = _Serving(uid, spec, proxy, place.shown, reserved.port, addresses)
        _log.debug("service %s listens at %s", name, ", ".join(f"{each}:{reserved.port}" for each in addresses))
        return serving

    def _unserved(self, name: str) -> Unserved:
        """Returns the reason why a Service is not served, computed at most every 0.1 s for any number of clients."""
        now = self._machine.clock.monotonic()
        at, found = self._reasons.get(name, (-math.inf, None))
        if found is None or now - at >= _REASON_SECONDS:
            found = unserved(name, self._machine.objects())
            self._reasons[name] = now, found
        return found

    def _refused(self, reason: Unserved) -> None:
        """Logs a refusal, once for each reason."""
        if self._refusals.get(reason.service) != reason:
            self._refusals[reason.service] = reason
            _log.warning("a connection to service %s was refused: %s", reason.service, reason.text(IPV4).strip())

    def _owner(self, name: str) -> str:
        return self._machine.port_owner("Service", name)

    @property
    def _ports(self) -> Ports:
        return self._machine.ports

    async def _end(self, name: str) -> None:
        found = self._serving.pop(name, None)
        for known in (self._refusals, self._reasons):
            known.pop(name, None)
        if found is not None:
            await found.proxy.close()

    # Status

    def _report(self, ctx: Context, serving: _Serving, backends: list[Backend]) -> None:
        counters = serving.proxy.counters
        ctx.status.put(
            ServiceStatus(
                state="Ready" if backends else "NotReady",
                proxy_process_pid=os.getpid(),
                effective_address=serving.shown,
                effective_port=serving.port,
                addresses=[EffectiveAddress(address=each, port=serving.port) for each in serving.addresses],
                connections=counters.connections,
                active_connections=counters.active,
                bytes_in=counters.bytes_in,
                bytes_out=counters.bytes_out,
                parked=counters.parked,
            )
        )
        if not backends:
            message = f"no workload serves this Service yet at {serving.shown}:{serving.port}"
            ctx.status.condition("Ready", False, "NoEndpoints", message)
        elif not any(each.healthy for each in backends):
            ctx.status.condition("Ready", True, "Unhealthy", "all endpoints are unhealthy")
        else:
            well = sum(each.healthy for each in backends)
            ctx.status.condition("Ready", True, "Serving", f"{well} of {len(backends)} endpoints are healthy")

    def _report_proxyless(self, ctx: Context, obj: Service, backends: list[Backend]) -> None:
        """Reports the address of the spec or of the first Endpoint."""
        first = backends[0] if backends else None
        address = obj.spec.address or (in_url(first.address) if first is not None else "")
        port = obj.spec.port or (first.port if first is not None else 0)
        ctx.status.put(
            ServiceStatus(
                state="Ready" if first is not None else "NotReady",
                effective_address=address,
                effective_port=port,
                proxyless_endpoint_name=first.name if first is not None else "",
            )
        )
        if first is None:
            ctx.status.condition(
                "Ready", False, "NoEndpoints", "no workload serves this Service yet, and it has no proxy"
            )
        else:
            ctx.status.condition("Ready", True, "Serving", f"at {address}:{port}")

    def _report_failure(self, ctx: Context, error: OSError | ValueError) -> None:
        message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        ctx.status.put(ServiceStatus(state="NotReady"))
        ctx.status.condition("Ready", False, CANNOT_LISTEN, message)
