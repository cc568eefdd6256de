"""The networks of a container, by ContainerNetworkConnection objects, and the addresses on this machine of the Services
that the container serves."""

from collections.abc import Sequence
from contextlib import suppress

from setpoint.client.kinds import tree_of
from setpoint.controller.child_names import child_name
from setpoint.controller.context import Context
from setpoint.objects.errors import AlreadyExists, Conflict, NotFound
from setpoint.objects.tree import Object
from setpoint.workload.controllers.endpoints import ServiceAddress
from setpoint.workload.controllers.lookup import Lookup
from setpoint.workload.engine import body
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.results import Container as Seen
from setpoint.workload.kinds.container import Container, ContainerSpec
from setpoint.workload.kinds.container_network import ContainerNetwork
from setpoint.workload.kinds.container_network_connection import (
    ContainerNetworkConnection,
    ContainerNetworkConnectionSpec,
)
from setpoint.workload.kinds.container_network_tunnel_proxy import ContainerNetworkTunnelProxy
from setpoint.workload.service_producers import producers

_ANY_ADDRESS = ("", "0.0.0.0", "::")


async def connect(ctx: Context, obj: Container, container_id: str) -> None:
    """Creates a ContainerNetworkConnection for each network of a container and deletes the others. Without an id,
    deletes all."""
    wanted = {each.name: each for each in obj.spec.networks or ()} if container_id else {}
    name, uid = obj.metadata.name or "", obj.metadata.uid or ""
    for found in (await ctx.client.list(ContainerNetworkConnection)).items:
        if not any(owner.uid == uid for owner in found.metadata.owner_references or ()):
            continue
        network = found.spec.container_network_name
        attachment = wanted.get(network)
        if attachment is not None and found.spec.container_id == container_id:
            del wanted[network]
            if found.spec.aliases != attachment.aliases:
                edited = found.edit()
                edited.spec.aliases = attachment.aliases
                with suppress(NotFound):
                    await ctx.client.update(edited)
            continue
        with suppress(NotFound):
            await ctx.client.delete(ContainerNetworkConnection, found.metadata.name or "")
    for network, attachment in wanted.items():
        made = ContainerNetworkConnection(
            spec=ContainerNetworkConnectionSpec(
                container_network_name=network, container_id=container_id, aliases=attachment.aliases
            )
        )
        made.metadata.name = child_name(name, network, container_id[:12])
        try:
            await ctx.client.create(ctx.own(made))
        except AlreadyExists as error:
            # The connection of a deleted object with this name; the garbage collector is about to delete the
            # connection.
            raise Conflict(str(error)) from error


def places(spec: ContainerSpec, lookup: Lookup) -> list[body.EngineNetwork]:
    """Returns the engine's networks in which a container is created; all of them exist."""
    found = []
    for each in spec.networks or ():
        network = lookup.object("ContainerNetwork", each.name)
        runtime_name = ((network or {}).get("status") or {}).get("networkName") or each.name
        found.append(body.EngineNetwork(runtime_name, each.aliases, body.endpoint_settings(each.to_json())))
    return found


def joined(ctx: Context, spec: ContainerSpec, seen: Seen | None) -> list[str]:
    """Returns the ContainerNetworks that a container is connected to."""
    found = []
    for each in spec.networks or ():
        network: ContainerNetwork | None = ctx.lookup(ContainerNetwork, each.name)
        status = network.status if network is not None else None
        if seen is not None and status is not None and status.network_name in seen.networks:
            found.append(each.name)
    return found


async def tunnel_hosts(ctx: Context, spec: ContainerSpec) -> list[str]:
    """Returns the host names by which a container reaches this machine, as `name:address`, from the tunnels of its
    networks."""
    networks = {each.name for each in spec.networks or ()}
    hosts = []
    for proxy in (await ctx.client.list(ContainerNetworkTunnelProxy)).items:
        network = proxy.spec.container_network_name
        found: ContainerNetwork | None = ctx.lookup(ContainerNetwork, network) if network in networks else None
        if found is not None and found.status is not None and found.status.gateways:
            hosts += [f"{alias}:{found.status.gateways[0]}" for alias in proxy.spec.aliases]
    return hosts


def machine_address(ctx: Context, spec: ContainerSpec) -> str:
    """Returns the address of this machine in a network of the container; empty if there is none."""
    for each in spec.networks or ():
        found: ContainerNetwork | None = ctx.lookup(ContainerNetwork, each.name)
        if found is not None and found.status is not None and found.status.gateways:
            return found.status.gateways[0]
    return ""


def served(tree: Object, seen: Seen, engine: Engine) -> dict[str, ServiceAddress]:
    """Returns the addresses on this machine of the Services that a container serves. Raises ValueError."""
    found: dict[str, ServiceAddress] = {}
    for producer in producers(tree):
        place = _published(tree["spec"].get("ports") or (), seen, producer.port, engine)
        if place is not None:
            address, port = place
            found[producer.service] = ServiceAddress(producer.address or address, port)
    return found


def _published(ports: Sequence[Object], seen: Seen, port: int, engine: Engine) -> ServiceAddress | None:
    """Returns the published address of a port, given by its number on the host or in the container."""
    by_host = [each for each in ports if each.get("hostPort") == port]
    by_container = [each for each in ports if each["containerPort"] == port]
    for each in (*by_host, *by_container):
        protocol = (each.get("protocol") or "TCP").lower()
        for mapping in seen.ports:
            if (mapping.container_port, mapping.protocol) != (each["containerPort"], protocol) or not mapping.host_port:
                continue
            if each.get("hostPort") and mapping.host_port != each["hostPort"]:
                continue
            local = mapping.host_ip in _ANY_ADDRESS or mapping.host_ip.startswith("127.") or mapping.host_ip == "::1"
            own = mapping.host_ip if engine.endpoint.unix and mapping.host_ip not in _ANY_ADDRESS else ""
            return ServiceAddress(own or (engine.published_host if local else mapping.host_ip), mapping.host_port)
    return None


def tree_with_kind(obj: Container) -> Object:
    """Returns the object as JSON, with its kind."""
    return {**tree_of(obj), "kind": "Container"}
