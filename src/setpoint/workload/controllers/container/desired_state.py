"""Computes the desired container of an object with all templates filled in, or the reason why it cannot start yet."""

from typing import NamedTuple

from setpoint.controller.context import Context
from setpoint.objects.tree import Object
from setpoint.workload.controllers.container import file_secrets, links
from setpoint.workload.controllers.container.lifecycle import ContainerWorkload
from setpoint.workload.controllers.container.start_sequence import KIND, DesiredContainer
from setpoint.workload.dependencies import WAITING, waiting_for, waiting_message
from setpoint.workload.environment import EnvironmentProblem, arguments, environment
from setpoint.workload.exporters import exporter_variables, with_variables
from setpoint.workload.kinds.container import Container, ContainerSpec, ContainerState
from setpoint.workload.kinds.container_volume import ContainerVolume
from setpoint.workload.runtime import Machine
from setpoint.workload.templates import NotYet

# The delay before the next attempt to acquire a container that another control plane manages.
_HELD_SECONDS = 2.0


class Blocked(NamedTuple):
    """The reason why a container cannot start, or cannot start yet. `again` is the delay in seconds before the next
    attempt; None: a reconcile is triggered by an event."""

    state: ContainerState
    reason: str
    message: str
    again: float | None = None


async def wanted(
    ctx: Context, machine: Machine, obj: Container, tree: Object, workload: ContainerWorkload
) -> DesiredContainer | Blocked:
    """Returns the desired container of an object, or Blocked. Stores the environment and arguments in `workload`."""
    spec, lookup = obj.spec, machine.lookup(find=ctx.lookup)
    waiting = [*map(str, waiting_for(tree, lookup.object)), *await _volumes(ctx, spec)]
    if waiting:
        # As in DCP, a workload starts while it waits for values; `dependsOn` is an addition.
        state: ContainerState = "Starting" if workload.restarts or not spec.depends_on else "Pending"
        return Blocked(state, WAITING, waiting_message(waiting))
    mode = spec.effective_mode
    if mode != "session" and (holder := machine.records.acquire(KIND, spec.container_name)):
        return Blocked("Pending", "HeldElsewhere", f"{holder} manages this container: stop it, or wait", _HELD_SECONDS)
    try:
        tolerated = machine.tolerated(KIND, workload.uid)
        env = environment(tree, ambient={}, read=machine.read, lookup=lookup, tolerate=tolerated)
        args = arguments(spec.args, tree, lookup, tolerated)
    except NotYet as needs:
        return Blocked("Starting", "WaitingForValues", str(needs))
    except EnvironmentProblem as problem:
        return Blocked("FailedToStart", problem.reason, str(problem))
    variables = await exporter_variables(machine.exporters, tree, env.values, links.machine_address(ctx, spec))
    workload.environment, workload.args = with_variables(env, variables), [each.shown for each in args]
    if missing := file_secrets.missing(spec, lookup):
        return Blocked("Starting", "WaitingForValues", f"waits for {missing}")
    tree = file_secrets.filled(tree, lookup)
    if hosts := await links.tunnel_hosts(ctx, spec):
        own = tree["spec"].get("extraHosts") or ()
        tree = {**tree, "spec": {**tree["spec"], "extraHosts": [*own, *hosts]}}
    places = links.places(spec, lookup)
    texts = [each.text for each in args]
    return DesiredContainer(
        tree, mode, env.values, texts, places, spec.networks is not None, spec.terminal, spec.file_actions, variables
    )


async def _volumes(ctx: Context, spec: ContainerSpec) -> list[str]:
    """Returns the volumes of a container that have an object and are not ready."""
    mounted = {each.source for each in spec.volume_mounts if each.type == "volume"}
    if not mounted:
        return []
    found = (await ctx.client.list(ContainerVolume)).items
    return [
        f"ContainerVolume {each.metadata.name} to be Ready"
        for each in found
        if each.spec.name in mounted and (each.status is None or each.status.state != "Ready")
    ]
