"""The controller of ContainerNetworkTunnelProxies: containers of a network reach Services of this machine.

This machine has an address in each container network, the network's gateway. A proxy in the network is therefore not
needed: for each tunnel, this process listens at the gateway address and forwards to the Service. Containers use that
address, the aliases (host names of the gateway in every container created in the network), or the client Service's
Endpoint. An engine on another machine provides no such address; the status of the tunnel then has the remedy.
"""

import errno
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from setpoint.client.kinds import tree_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Result
from setpoint.controller.timers import Channel
from setpoint.objects.tree import Object
from setpoint.schema.types import MicroTime
from setpoint.workload.controllers.container.engine_failure import problem_condition
from setpoint.workload.controllers.endpoints import ServiceAddress, serve
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.events import Event, Told
from setpoint.workload.kinds.api_names import FINALIZERS
from setpoint.workload.kinds.container_network import ContainerNetwork
from setpoint.workload.kinds.container_network_tunnel_proxy import (
    ContainerNetworkTunnelProxy,
    ContainerNetworkTunnelProxyStatus,
    Tunnel,
    TunnelProxyState,
    TunnelState,
    TunnelStatus,
)
from setpoint.workload.kinds.service import Service
from setpoint.workload.proxy.addresses import plain
from setpoint.workload.proxy.balance import Backend
from setpoint.workload.proxy.ports import UDP
from setpoint.workload.proxy.tcp import TCPProxy
from setpoint.workload.proxy.udp import UDPProxy
from setpoint.workload.runtime import Machine

FINALIZER = FINALIZERS["ContainerNetworkTunnelProxy"]
# The engine creates a network's bridge with its first container: sockets must bind before the address exists.
_IP_FREEBIND, _IPV6_FREEBIND = 15, 78
_AGAIN_SECONDS = 5.0
_ELSEWHERE = (
    "the engine runs on another machine, whose containers cannot reach this machine: run the control plane "
    "on the engine's machine, or publish the Service at an address that containers can reach"
)


@dataclass
class _Listening:
    """One tunnel."""

    number: int
    protocol: str
    proxy: TCPProxy | UDPProxy
    address: str
    port: int
    state: TunnelState = "NotReady"
    message: str = ""


@dataclass
class _TunnelProxyState:
    """The state of one tunnel proxy object."""

    uid: str
    tunnels: dict[str, _Listening] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    state: TunnelProxyState = "Pending"
    reason: str = "Pending"
    message: str = ""
    version: int = 0
    served: set[str] = field(default_factory=set)
    statuses: dict[str, TunnelStatus] = field(default_factory=dict)

    def set_state(self, state: TunnelProxyState, reason: str, message: str) -> None:
        self.state, self.reason, self.message = state, reason, message


class TunnelProxies:
    """The controller, and the listening tunnels."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._channel = Channel("tunnels")
        self._states: dict[str, _TunnelProxyState] = {}
        self._numbers = 0
        self.controller = Controller(
            "containernetworktunnelproxy",
            self._reconcile,
            kind=ContainerNetworkTunnelProxy,
            clock=machine.clock,
            ids=machine.ids,
            reads=READS,
            watches=(self._channel,),
            concurrency=4,
        )
        machine.engines.subscribe(self._on_engine_event)

    async def close(self) -> None:
        """Closes all tunnels."""
        for known in self._states.values():
            await self._end(known)

    def _on_engine_event(self, event: Told | None) -> None:
        if not isinstance(event, Event):
            for name in self._states:
                self._channel.send(Request(name))

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: ContainerNetworkTunnelProxy | None = await ctx.object()
        if obj is None:
            await self._discard(request.name)
            return None
        known = await self._of(obj)
        tree: Object = {**tree_of(obj), "kind": "ContainerNetworkTunnelProxy"}
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(serve, ctx, tree, {}, known.served)):
            await self._discard(request.name)
            return None
        after = await self._advance(ctx, obj, known)
        ready = {
            each.client_service_name: ServiceAddress(listening.address, listening.port)
            for each in obj.spec.tunnels
            if (listening := known.tunnels.get(each.name)) is not None and listening.state == "Ready"
        }
        known.served |= {each.client_service_name for each in obj.spec.tunnels}
        await serve(ctx, tree, ready, known.served)
        self._report(ctx, obj, known)
        return Result(requeue_after=after)

    async def _of(self, obj: ContainerNetworkTunnelProxy) -> _TunnelProxyState:
        name, uid = obj.metadata.name or "", obj.metadata.uid or ""
        found = self._states.get(name)
        if found is None or found.uid != uid:
            await self._discard(name)
            found = self._states[name] = _TunnelProxyState(uid)
        return found

    async def _discard(self, name: str) -> None:
        found = self._states.pop(name, None)
        if found is not None:
            await self._end(found)

    async def _end(self, known: _TunnelProxyState) -> None:
        for listening in known.tunnels.values():
            await listening.proxy.close()
        known.tunnels.clear()

    async def _advance(self, ctx: Context, obj: ContainerNetworkTunnelProxy, known: _TunnelProxyState) -> float | None:
        """Takes the next step. Returns the delay in seconds before another attempt, or None."""
        name = obj.spec.container_network_name
        engine = self._machine.engines.engine
        if engine is None:
            current = self._machine.engines.current
            known.set_state("Pending", *problem_condition(current if not isinstance(current, Engine) else None))
            return None
        if not engine.endpoint.unix:
            known.set_state("Failed", "EngineElsewhere", _ELSEWHERE)
            return None
        network: ContainerNetwork | None = ctx.lookup(ContainerNetwork, name)
        status = network.status if network is not None else None
        if status is None or status.state != "Running":
            known.set_state("Pending", "WaitingForNetwork", f"waits for ContainerNetwork {name} to be Ready")
            await self._end(known)
            return None
        if not status.gateways:
            message = (
                f"ContainerNetwork {name} has no gateway, because its driver is {status.driver}: use the driver bridge"
            )
            known.set_state("Failed", "NoGateway", message)
            return None
        again = await self._listen(ctx, obj, known, status.gateways[0])
        if known.failed:
            known.set_state("Running", "SomeFailed", "; ".join(known.failed.values()))
            return again
        known.set_state("Running", "Running", f"tunnels end at {status.gateways[0]}")
        return None

    async def _listen(
        self, ctx: Context, obj: ContainerNetworkTunnelProxy, known: _TunnelProxyState, gateway: str
    ) -> float | None:
        """Opens the tunnels of the spec at the gateway, forwards them to their Services, and closes all others. Returns
        the delay in seconds before failed tunnels are tried again, or None."""
        again = None
        wanted = {each.name: each for each in obj.spec.tunnels}
        known.failed.clear()
        for name, listening in list(known.tunnels.items()):
            if name not in wanted or listening.address != gateway:
                await known.tunnels.pop(name).proxy.close()
                known.version += 1
        for name, tunnel in wanted.items():
            server: Service | None = ctx.lookup(Service, tunnel.server_service_name)
            client: Service | None = ctx.lookup(Service, tunnel.client_service_name)
            if trouble := _fault(tunnel, server, client):
                known.failed[name] = trouble
                continue
            status = server.status if server is not None else None
            port = status.effective_port if status is not None else 0
            there = known.tunnels.get(name)
            if there is not None and server is not None and there.protocol != server.spec.transport:
                await known.tunnels.pop(name).proxy.close()
            if name not in known.tunnels:
                if server is None or not port:
                    continue  # not published yet: the Service's port may become known and be free
                try:
                    known.tunnels[name] = await self._tunnel(gateway, server.spec.transport, port)
                except OSError as error:
                    known.failed[name] = f"tunnel {name} cannot listen at {gateway}: {error.strerror or error}"
                    again = _AGAIN_SECONDS
                    continue
                known.version += 1
            self._lead(known.tunnels[name], tunnel, status.effective_address if status is not None else "", port or 0)
        return again

    async def _tunnel(self, gateway: str, protocol: str, wanted: int) -> _Listening:
        """Listens at the gateway, at the port of the Service if that port is free. Raises OSError."""
        is_udp = protocol == UDP
        bound = _bound(gateway, wanted, socket.SOCK_DGRAM if is_udp else socket.SOCK_STREAM)
        proxy = (UDPProxy if is_udp else TCPProxy)(self._machine.clock, self._machine.ids)
        await proxy.start([bound])
        self._numbers += 1
        return _Listening(self._numbers, protocol, proxy, gateway, bound.getsockname()[1])

    def _lead(self, listening: _Listening, tunnel: Tunnel, address: str, port: int) -> None:
        """Forwards a tunnel to the address of its Service."""
        known = bool(address and port)
        listening.proxy.set_backends([Backend(plain(address), port, tunnel.server_service_name)] if known else [])
        listening.state = "Ready" if known else "NotReady"
        listening.message = "" if known else _pending_message(tunnel)

    def _report(self, ctx: Context, obj: ContainerNetworkTunnelProxy, known: _TunnelProxyState) -> None:
        statuses = []
        for each in obj.spec.tunnels:
            status = self._status(each, known.tunnels.get(each.name), known.failed)
            before = known.statuses.get(each.name)
            if before is not None and _same(before, status):
                status = before
            known.statuses[each.name] = status
            statuses.append(status)
        running = known.state == "Running"
        ctx.status.put(
            ContainerNetworkTunnelProxyStatus(
                state=known.state,
                tunnel_statuses=statuses,
                tunnel_configuration_version=known.version,
                server_proxy_process_id=os.getpid() if running else None,
                message="" if running and not known.failed else known.message,
            )
        )
        ctx.status.condition("Ready", running and not known.failed, known.reason, known.message)

    def _status(self, tunnel: Tunnel, listening: _Listening | None, failed: Mapping[str, str]) -> TunnelStatus:
        now = MicroTime.of(self._machine.clock.now())
        if tunnel.name in failed:
            return TunnelStatus(name=tunnel.name, state="Failed", error_message=failed[tunnel.name], timestamp=now)
        if listening is None:
            waits = _pending_message(tunnel)
            return TunnelStatus(name=tunnel.name, state="NotReady", error_message=waits, timestamp=now)
        return TunnelStatus(
            name=tunnel.name,
            tunnel_id=listening.number,
            state=listening.state,
            error_message=listening.message,
            client_proxy_addresses=[listening.address],
            client_proxy_port=listening.port,
            timestamp=now,
        )


def _same(one: TunnelStatus, other: TunnelStatus) -> bool:
    """Returns True if two statuses differ at most in their timestamps."""
    return {**one.to_json(), "timestamp": ""} == {**other.to_json(), "timestamp": ""}


def _fault(tunnel: Tunnel, server: Service | None, client: Service | None) -> str:
    """Returns a message if the Services of a tunnel are invalid. Missing Services are not an error: they may be created
    later."""
    if server is not None and client is not None and server.spec.transport != client.spec.transport:
        return (
            f"tunnel {tunnel.name}: Service {tunnel.server_service_name} is {server.spec.transport} and Service "
            f"{tunnel.client_service_name} {client.spec.transport}: use the same protocol for both"
        )
    if client is not None and client.spec.address_allocation_mode != "Proxyless":
        return (
            f"tunnel {tunnel.name}: Service {tunnel.client_service_name} must have addressAllocationMode Proxyless, "
            "because containers cannot reach its proxy: create the Service again"
        )
    return ""


def _pending_message(tunnel: Tunnel) -> str:
    return f"the address of Service {tunnel.server_service_name} is not known yet"


def _bound(address: str, wanted: int, kind: socket.SocketKind) -> socket.socket:
    """Returns a socket bound to an address that need not exist yet, at the wanted port if that port is free. Raises
    OSError."""
    is_v6 = ":" in address
    for port in (wanted, 0):
        made = socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET, kind)
        try:
            if kind == socket.SOCK_STREAM:  # with UDP, two sockets at one port would share the datagrams
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if is_v6:
                made.setsockopt(socket.IPPROTO_IPV6, _IPV6_FREEBIND, 1)
            else:
                made.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
            made.bind((address, port))
            return made
        except OSError as error:
            made.close()
            if port == 0 or error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise AssertionError("port 0 is always free")
