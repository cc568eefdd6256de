"""Starts the simulated nodes: their objects, the controller of their pods, and their functions for the server."""

from typing import Any

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Trigger
from setpoint.controller.watch import Watch
from setpoint.system.controller_host import ControllerHost
from setpoint.system.nodes.node_objects import NODE
from setpoint.system.nodes.simulated_functions import SimulatedFunctions
from setpoint.system.nodes.simulated_nodes import COMPONENT, FIELD_MANAGER, SimulatedNodes
from setpoint.system.persistentvolume.simulated_storage import create_class
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.state import POD

CONCURRENCY = 4


async def start(host: ControllerHost) -> None:
    """Creates the nodes of the setting and their class of storage, and starts their controller."""
    nodes = SimulatedNodes(host.client, host.nodes, host.recorder(COMPONENT))
    await nodes.register()
    await create_class(host.client)
    functions = SimulatedFunctions(nodes, host.cache, host.clock)
    host.server.nodes.add(functions)
    host.run(nodes.keep_alive)
    if host.nodes.stages or host.nodes.has_stage_objects:
        # Most planes have no stages: their start does not wait for these modules.
        from setpoint.system.stages.stage_controllers import Stages

        nodes.stages = Stages(host, nodes, nodes.has)

    def concerns(change: Any) -> bool:
        new, uid, facts = change.new, change.held.meta.uid, facts_of(change.held)
        if new is None and nodes.stages is not None:
            nodes.stages.pods.forget(uid)
        if new is None or facts.has_ended:
            nodes.observe(uid, facts.node, is_deleted=new is None)
        elif change.old is None and facts.addresses:
            nodes.keep_address(new.object)
        functions.observers.update(uid, new)
        return new is not None and nodes.has(facts.node)

    pods = Controller(
        host.name,
        nodes.reconcile,
        clock=host.clock,
        kind=Watch(POD, predicates=(Predicate(concerns, "is on a simulated node"),)),
        concurrency=CONCURRENCY,
        own_status_triggers=False,
        field_manager=FIELD_MANAGER,
        keep_runs=64,
    )

    async def reconcile_node(ctx: Context[Any], request: Request) -> None:
        for pod in await nodes.reconcile_node(ctx, request):
            pods.enqueue(pod, Trigger("requested", f"the return of node {request.name}"))

    await host.control(pods)
    await host.control(
        Controller(
            f"{host.name}-failures",
            reconcile_node,
            clock=host.clock,
            kind=Watch(NODE, predicates=(Predicate(lambda change: nodes.has(change.held.meta.name), "is simulated"),)),
            field_manager=FIELD_MANAGER,
            keep_runs=16,
        )
    )
    if nodes.stages is not None:
        await nodes.stages.start()
