"""The controller of ContainerNetworks: creates each network in the engine and connects the containers that
ContainerNetworkConnections name.

Only containers that were connected for such an object are disconnected: users may have connected other containers.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from setpoint.client.kinds import tree_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.handler import mapped
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.timers import Channel
from setpoint.controller.watch import Watch
from setpoint.workload.controllers.container.engine_failure import error_text, problem_condition
from setpoint.workload.engine import labels
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import BadRequest, EngineError, EngineLost, InUse, NameTaken, NotFound
from setpoint.workload.engine.events import Event, Told
from setpoint.workload.engine.results import Network
from setpoint.workload.kinds.api_names import FINALIZERS, GROUP, VERSION
from setpoint.workload.kinds.container_network import (
    ContainerNetwork,
    ContainerNetworkSpec,
    ContainerNetworkState,
    ContainerNetworkStatus,
)
from setpoint.workload.kinds.container_network_connection import ContainerNetworkConnection
from setpoint.workload.kinds.parts import creates_if_missing, ends_with_object, reuses_existing
from setpoint.workload.runtime import Machine

FINALIZER = FINALIZERS["ContainerNetwork"]
KIND = "ContainerNetwork"
# The delays before the next attempt: after a failure, for a missing network or one that another control plane manages;
# and for a network that is still in use.
_AGAIN_SECONDS = 5.0
_IN_USE_SECONDS = 1.0
# The states of containers that have ended or are ending.
_ENDED = frozenset({"stopping", "stopped", "exited", "removing", "dead"})


@dataclass
class _NetworkState:
    """The state of one network."""

    uid: str
    # Its name in the engine, and the network once found or created.
    network_name: str
    seen: Network | None = None
    # The containers that were connected for an object, with their aliases.
    connected: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # True: the network could not be removed because containers were connected.
    was_in_use: bool = False
    state: ContainerNetworkState = "Pending"
    reason: str = "Pending"
    message: str = ""

    def set_state(self, state: ContainerNetworkState, reason: str, message: str) -> None:
        self.state, self.reason, self.message = state, reason, message


class ContainerNetworks:
    """The controller, and the state of every network."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._channel = Channel("networks")
        self._states: dict[str, _NetworkState] = {}
        by_network = mapped(lambda each: [Request(tree_of(each)["spec"]["containerNetworkName"])])
        self.controller = Controller(
            "containernetwork",
            self._reconcile,
            kind=ContainerNetwork,
            clock=machine.clock,
            ids=machine.ids,
            reads=(ContainerNetworkConnection,),
            watches=(self._channel, Watch(ContainerNetworkConnection, handler=by_network)),
            concurrency=8,
        )
        machine.engines.subscribe(self._on_engine_event)

    async def close(self) -> None:
        """Removes the networks of this session; their containers are already removed."""
        engine = self._machine.engines.current
        for known in self._states.values():
            if isinstance(engine, Engine) and known.seen is not None and self._is_ours(known.seen):
                try:
                    await engine.networks.remove(known.seen.id)
                except EngineError:
                    continue  # the guardian tries once more

    def _is_ours(self, network: Network) -> bool:
        return network.labels.get(labels.SESSION) == self._machine.processes.session

    def _on_engine_event(self, event: Told | None) -> None:
        if isinstance(event, Event) and event.kind != "network":
            return
        for name, known in self._states.items():
            is_other = isinstance(event, Event) and event.name != known.network_name
            if not is_other or (known.seen is not None and isinstance(event, Event) and event.id == known.seen.id):
                self._channel.send(Request(name))

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: ContainerNetwork | None = await ctx.object()
        if obj is None:
            self._states.pop(request.name, None)
            return None
        known = self._of(obj)
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(self._clean_up, ctx, obj, known)):
            self._states.pop(request.name, None)
            return None
        after = await self._advance(ctx, obj, known)
        self._report(ctx, known)
        return Result(requeue_after=after)

    def _of(self, obj: ContainerNetwork) -> _NetworkState:
        name, uid = obj.metadata.name or "", obj.metadata.uid or ""
        found = self._states.get(name)
        if found is None or found.uid != uid:
            given = obj.spec.network_name or f"{name}-{self._machine.ids.suffix()}"
            found = self._states[name] = _NetworkState(uid, given)
        return found

    async def _advance(self, ctx: Context, obj: ContainerNetwork, known: _NetworkState) -> float | None:
        """Takes the next step. Returns the delay in seconds before the next one, or None."""
        engine = self._machine.engines.current
        if not isinstance(engine, Engine):
            known.set_state("Pending", *problem_condition(engine))
            return None
        mode = obj.spec.effective_mode
        if mode == "persistent" and (holder := self._machine.records.acquire(KIND, known.network_name)):
            known.set_state("Pending", "HeldElsewhere", f"{holder} manages this network: stop it, or wait")
            return _AGAIN_SECONDS
        try:
            found = await self._find_or_create(engine, obj, known)
            if found is None:
                message = f"network {known.network_name} does not exist: create it, or use another mode"
                known.set_state("NotFound", "NotFound", message)
                return _AGAIN_SECONDS
            trouble = await self._connect(ctx, engine, obj.metadata.name or "", known, found)
            known.seen = await engine.networks.inspect(found.id)
        except EngineLost as error:
            known.set_state("Pending", "EngineLost", error_text(error))
            return _AGAIN_SECONDS
        except BadRequest as error:
            known.set_state("FailedToStart", "Refused", f"{error.message}; delete the object and create it again")
            return None
        except EngineError as error:
            known.set_state("Pending", type(error).__name__, error_text(error))
            return _AGAIN_SECONDS
        known.set_state("Running", "Running", trouble or _difference(obj.spec, known.seen))
        return _AGAIN_SECONDS if trouble else None

    async def _find_or_create(self, engine: Engine, obj: ContainerNetwork, known: _NetworkState) -> Network | None:
        """Returns the network in the engine, and creates it if its mode says so. Raises EngineError."""
        spec = obj.spec
        mode = spec.effective_mode
        if known.seen is not None:
            found = await engine.networks.find(known.seen.id)
            if found is not None:
                return found
            # The removal of the network has disconnected all containers.
            known.seen = None
            known.connected.clear()
        if reuses_existing(mode) and (found := await engine.networks.find(known.network_name)) is not None:
            return found
        if not creates_if_missing(mode):
            return None
        persistent = mode == "persistent"
        ours = {
            **labels.resource_labels(group_version=f"{GROUP}/{VERSION}", name=obj.metadata.name or "", uid=known.uid),
            **{each.key: each.value for each in spec.labels},
            **self._machine.engines.made_by_us(persistent=persistent),
        }
        try:
            made = await engine.networks.create(
                known.network_name,
                driver=spec.driver or "bridge",
                ipv6=spec.ipv6,
                subnet=spec.subnet or "",
                internal=spec.internal,
                labels=ours,
                attachable=spec.attachable,
                options=spec.options,
                ipam=_ipam(spec),
            )
        except NameTaken:
            # The engine may have created the network although its response was lost.
            found = await engine.networks.inspect(known.network_name)
            if found.labels.get(labels.UID) != known.uid:
                raise
            return found
        if persistent:
            self._machine.records.keep(KIND, known.network_name, {"id": made}, self._machine.workload_id)
        return await engine.networks.inspect(made)

    async def _connect(self, ctx: Context, engine: Engine, name: str, known: _NetworkState, found: Network) -> str:
        """Connects and disconnects containers as their ContainerNetworkConnections say. Returns a message about
        failures. Raises EngineLost."""
        wanted: dict[str, tuple[str, ...]] = {}
        for each in (await ctx.client.list(ContainerNetworkConnection)).items:
            if each.spec.container_network_name == name and each.metadata.deletion_timestamp is None:
                wanted[each.spec.container_id] = tuple(each.spec.aliases)
        trouble = []
        for container, aliases in wanted.items():
            if known.connected.get(container) == aliases:
                continue
            try:
                if container in known.connected:
                    await engine.networks.disconnect(found.id, container)
                await engine.networks.connect(found.id, container, aliases)
            except EngineLost:
                raise
            except NotFound:
                continue  # the container is removed, and its connection will be
            except EngineError as error:
                trouble.append(f"container {container[:12]} cannot be connected: {error_text(error)}")
                continue
            known.connected[container] = aliases
            self._machine.engines.connection_changed(found.id, container)
        for container in known.connected.keys() - wanted.keys():
            await _disconnect(engine, found.id, container)
            del known.connected[container]
            self._machine.engines.connection_changed(found.id, container)
        return "; ".join(trouble)

    async def _clean_up(self, ctx: Context, obj: ContainerNetwork, known: _NetworkState) -> None:
        """Disconnects the containers, and removes the network if the network ends with its object."""
        if obj.spec.effective_mode == "persistent":
            self._machine.records.release(KIND, known.network_name)
        if known.seen is None:
            return
        engine = self._machine.engines.current
        if not isinstance(engine, Engine):
            known.set_state("Pending", *problem_condition(engine))
            self._report(ctx, known)
            raise Requeue(_AGAIN_SECONDS, "no container engine is available to remove the network")
        goes = ends_with_object(obj.spec.effective_mode)
        try:
            for container in known.connected if not goes else {*known.connected, *known.seen.container_ids}:
                await _disconnect(engine, known.seen.id, container, even_ended=known.was_in_use)
            if goes:
                await engine.networks.remove(known.seen.id)
                self._machine.records.drop(KIND, known.network_name)
        except EngineError as error:
            known.set_state("Pending", "RemoveFailed", error_text(error))
            self._report(ctx, known)
            known.was_in_use = isinstance(error, InUse)
            seconds = _IN_USE_SECONDS if known.was_in_use else _AGAIN_SECONDS
            raise Requeue(seconds, error.message) from None

    def _report(self, ctx: Context, known: _NetworkState) -> None:
        seen, is_running = known.seen, known.state == "Running"
        ctx.status.put(
            ContainerNetworkStatus(
                state=known.state,
                message="" if is_running else known.message,
                id=seen.id if seen is not None else "",
                network_name=known.network_name,
                driver=seen.driver if seen is not None else "",
                ipv6=seen is not None and seen.ipv6,
                subnets=list(seen.subnets) if seen is not None else [],
                gateways=list(seen.gateways) if seen is not None else [],
                container_ids=sorted(seen.container_ids) if seen is not None else [],
            )
        )
        ctx.status.condition("Ready", is_running, known.reason, known.message)


async def _disconnect(engine: Engine, network: str, container: str, *, even_ended: bool = False) -> None:
    """Disconnects a container from a network. An ended container stays connected: the container is about to be removed,
    and Podman cleans up by the networks of the container; otherwise the rules for its ports would stay forever."""
    found = await engine.containers.find(container)
    if found is not None and (even_ended or found.status not in _ENDED):
        await engine.networks.disconnect(network, container)


def _ipam(spec: ContainerNetworkSpec) -> dict[str, Any]:
    """Returns the settings of addresses, for the engine; empty if the spec has none."""
    pools = [
        {
            "Subnet": pool.subnet or "",
            "Gateway": pool.gateway,
            "IPRange": pool.ip_range,
            "AuxiliaryAddresses": dict(pool.auxiliary_addresses),
        }
        for pool in spec.address_pools
    ]
    found = {
        "Driver": spec.ipam_driver,
        "Options": dict(spec.ipam_options),
        "Config": [{name: value for name, value in pool.items() if value} for pool in pools],
    }
    return {name: value for name, value in found.items() if value}


def _difference(spec: ContainerNetworkSpec, found: Network) -> str:
    """Returns a message about differences between the spec and an existing network."""
    wanted = {
        "driver": (spec.driver, found.driver),
        "subnet": (spec.subnet, spec.subnet if spec.subnet in found.subnets else ", ".join(found.subnets)),
        "ipv6": (spec.ipv6, found.ipv6),
        "internal": (spec.internal, found.internal),
    }
    other = [
        f"{name} is {is_} instead of {should}"
        for name, (should, is_) in wanted.items()
        if should not in ("", None, False, is_)
    ]
    if other and spec.effective_mode != "session":
        return (
            f"network {found.name} already exists, and {'; '.join(other)}: remove the network to have it created again"
        )
    return f"network {found.name}"
