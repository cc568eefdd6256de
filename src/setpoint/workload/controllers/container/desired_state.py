"""What a container should be, with all templates filled in; or what it still waits for."""

from typing import NamedTuple

from setpoint.controller.context import Context
from setpoint.objects.tree import Object
from setpoint.workload.controllers.container import links
from setpoint.workload.controllers.container.lifecycle import ContainerLife
from setpoint.workload.controllers.container.start_sequence import KIND, Wanted
from setpoint.workload.controllers.lookup import Lookup
from setpoint.workload.dependencies import waiting_for
from setpoint.workload.environment import EnvironmentProblem, arguments, environment
from setpoint.workload.kinds.container import Container, ContainerSpec, ContainerState
from setpoint.workload.kinds.container_volume import ContainerVolume
from setpoint.workload.runtime import World
from setpoint.workload.templates import NotYet

# How soon a container is asked for again that another control plane takes care of.
_HELD_SECONDS = 2.0


class Blocked(NamedTuple):
    """Why it cannot be started, or not yet. `again` are the seconds after which to ask once more; None: it is woken."""

    state: ContainerState
    reason: str
    message: str
    again: float | None = None


async def wanted(ctx: Context, world: World, obj: Container, tree: Object, life: ContainerLife) -> Wanted | Blocked:
    """What to make of a Container; its life knows the environment and arguments then."""
    spec, lookup = obj.spec, Lookup(ctx.lookup)
    waiting = [*map(str, waiting_for(tree, lookup.object)), *await _volumes(ctx, spec)]
    if waiting:
        state: ContainerState = "Starting" if life.restarts else "Pending"
        return Blocked(state, "WaitingForDependencies", f"waits for {'; '.join(waiting)}")
    mode = spec.effective_mode
    if mode != "session" and (holder := world.records.take(KIND, spec.container_name)):
        return Blocked("Pending", "HeldElsewhere", f"{holder} takes care of it: stop that one, or wait", _HELD_SECONDS)
    try:
        env = environment(tree, ambient={}, read=world.read, lookup=lookup)
        args = arguments(spec.args, tree, lookup)
    except NotYet as needs:
        return Blocked("Starting", "WaitingForValues", str(needs))
    except EnvironmentProblem as problem:
        return Blocked("FailedToStart", problem.reason, str(problem))
    life.environment, life.args = env, [each.shown for each in args]
    if hosts := await links.tunnel_hosts(ctx, spec):
        own = tree["spec"].get("extraHosts") or ()
        tree = {**tree, "spec": {**tree["spec"], "extraHosts": [*own, *hosts]}}
    places = links.places(spec, lookup)
    texts = [each.text for each in args]
    return Wanted(tree, mode, env.values, texts, places, spec.networks is not None, spec.terminal)


async def _volumes(ctx: Context, spec: ContainerSpec) -> list[str]:
    """The volumes of a container that have an object and are not there yet."""
    mounted = {each.source for each in spec.volume_mounts if each.type == "volume"}
    if not mounted:
        return []
    found = (await ctx.client.list(ContainerVolume)).items
    return [
        f"ContainerVolume {each.metadata.name} to be Ready"
        for each in found
        if each.spec.name in mounted and (each.status is None or each.status.state != "Ready")
    ]
