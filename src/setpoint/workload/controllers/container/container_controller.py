"""The controller of Containers: runs the container of each object as its spec says, and reports its status.

Each reconcile observes the current state and takes the next step. Long operations (a start with its pull, or a stop)
are tasks that wake the reconcile when they end; events of the engine wake the reconcile too, which then inspects its
container again.
"""

import asyncio
from contextlib import suppress
from functools import partial

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.timers import Channel
from setpoint.objects.tree import Object
from setpoint.workload.controllers.container import links
from setpoint.workload.controllers.container.engine_failure import error_text, problem_condition
from setpoint.workload.controllers.container.lifecycle import ContainerWorkload, report
from setpoint.workload.controllers.container.output import ContainerOutput
from setpoint.workload.controllers.container.start_sequence import KIND, remove_ours
from setpoint.workload.controllers.container.state_machine import AGAIN_SECONDS, ContainerStateMachine, restart_request
from setpoint.workload.controllers.endpoints import ServiceAddress, serve
from setpoint.workload.controllers.log_limits import limits_of
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine.events import Event, Told
from setpoint.workload.kinds.api_names import FINALIZERS
from setpoint.workload.kinds.container import Container, ContainerSpec
from setpoint.workload.kinds.parts import ends_with_object
from setpoint.workload.runtime import Machine

FINALIZER = FINALIZERS["Container"]
# Actions of the engine after which the status of a container may change.
_ACTIONS = (
    "start",
    "restart",
    "die",
    "stop",
    "destroy",
    "pause",
    "unpause",
    "oom",
    "health_status",
    "rename",
    "update",
)
_NEWS = frozenset((*(("container", each) for each in _ACTIONS), ("network", "connect"), ("network", "disconnect")))
# The requeue delay while a container stops; its end reconciles earlier.
_STOPPING_SECONDS = 60.0


class Containers:
    """The controller, and the known state of every Container."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._channel = Channel("containers")
        self._states: dict[str, ContainerWorkload] = {}
        self._conduct = ContainerStateMachine(machine, self.wake)
        self.controller = Controller(
            "container",
            self._reconcile,
            kind=Container,
            clock=machine.clock,
            ids=machine.ids,
            reads=READS,
            watches=(self._channel,),
            concurrency=16,
            condition_events=(),  # events are recorded by the state machine, in more detail
        )
        machine.engines.subscribe(self._on_engine_event)

    def find(self, uid: str) -> ContainerWorkload | None:
        """Returns the state of the container of an object, by uid."""
        return next((each for each in self._states.values() if each.uid == uid), None)

    def wake(self, name: str) -> None:
        """Enqueues a reconcile of a Container."""
        self._channel.send(Request(name))

    def restart(self, name: str, why: str, *, rebuild: bool = False) -> None:
        """Restarts a Container for a reason outside of its object, even if the container has ended or failed to start.
        With `rebuild`, builds a new image first."""
        found = self._states.get(name)
        if found is None or found.restarting:
            return
        if (found.seen is not None and found.seen.is_running) or found.is_over or found.due is not None:
            found.restarting, found.rebuild = why, rebuild
            self.wake(name)

    async def close(self) -> None:
        """Stops and removes the containers of this session, concurrently, and stops tracking the others."""
        for each in self._states.values():
            each.close_probing()
            if each.work is not None:
                each.work.cancel()
        await asyncio.gather(*(each.work for each in self._states.values() if each.work), return_exceptions=True)
        engine = self._machine.engines.current
        if isinstance(engine, Engine):
            gone = (self._end(engine, each) for each in self._states.values() if each.ends_with_us)
            await asyncio.gather(*gone, return_exceptions=True)
        for each in self._states.values():
            each.output.close()
            await each.end_terminal()

    async def _end(self, engine: Engine, workload: ContainerWorkload) -> None:
        await engine.containers.stop(workload.id, seconds=workload.stop_seconds)
        await workload.output.wait_end()
        await engine.containers.remove(workload.id)

    def _on_engine_event(self, event: Told | None) -> None:
        """Handles an event of the engine, or a change of the engine's availability."""
        if isinstance(event, Event) and (event.kind, event.action) not in _NEWS:
            return
        for name, workload in self._states.items():
            if not isinstance(event, Event) or _concerns(event, workload):
                workload.stale = True
                self.wake(name)

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: Container | None = await ctx.object()
        if obj is None:
            await self._discard(request.name)
            return None
        before = self._states.get(request.name)
        if before is not None and before.uid != obj.metadata.uid:
            await self._discard(request.name)
        workload = self._state_of(obj)
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(self._clean_up, ctx, obj, workload)):
            await self._discard(request.name)
            return None
        tree = links.tree_with_kind(obj)
        after = await self._conduct.advance(ctx, obj, tree, workload)
        if obj.spec.networks is not None:
            await links.connect(ctx, obj, workload.id)
            workload.networks = links.joined(ctx, obj.spec, workload.seen if workload.id else None)
        await self._serve(ctx, tree, workload)
        syncs = self._machine.syncs
        copied = syncs.report(workload.name, workload.seen) if syncs is not None else None
        workload.sync = copied.counts if copied is not None else None
        report(ctx, workload)
        if (watched := self._machine.watched("Container", workload.name)) is not None:
            ctx.status.condition("Watching", *watched)
        if copied is not None:
            ctx.status.condition("Synced", copied.status, copied.reason, copied.message)
        return Result(requeue_after=after)

    def _state_of(self, obj: Container) -> ContainerWorkload:
        uid, name = obj.metadata.uid or "", obj.metadata.name or ""
        found = self._states.get(name)
        if found is None or found.uid != uid:
            output = ContainerOutput(self._machine.logs, uid, self._machine.clock)
            found = self._states[name] = ContainerWorkload(uid, name, output=output, obeyed=restart_request(obj))
            found.restore(obj.status)
            if not found.is_over:
                # Containers that an earlier control plane ran in this session were removed with that control plane.
                found.state = ""
        found.is_session = obj.spec.effective_mode == "session"
        found.stop_seconds = _whole_seconds(obj.spec)
        found.awaits = obj.spec.container_name
        found.output.limits = limits_of(obj.spec.logs)
        return found

    async def _discard(self, name: str) -> None:
        found = self._states.pop(name, None)
        if found is not None:
            found.close_probing()
            found.output.close()
            await found.end_terminal()
            if found.work is not None:
                found.work.cancel()
            engine = self._machine.engines.current
            # A container is left only if our finalizer was removed by another client.
            if found.ends_with_us and isinstance(engine, Engine):
                with suppress(EngineError):
                    await engine.containers.remove(found.id)
            self._machine.logs.remove(found.uid)

    # Deletion

    async def _clean_up(self, ctx: Context, obj: Container, workload: ContainerWorkload) -> None:
        """Removes the container before the object is deleted, unless the container is persistent."""
        mode = obj.spec.effective_mode
        workload.close_probing()
        if workload.work is not None and not workload.work.done():
            if workload.starting:
                workload.work.cancel()
            self._conduct.set_state(workload, "Stopping", "Deleting", "the object is being deleted")
            report(ctx, workload)
            raise Requeue(_STOPPING_SECONDS, "the container is being stopped")
        if workload.work is not None:
            workload.work = None
            workload.stale = True
        await serve(ctx, links.tree_with_kind(obj), {}, workload.served)
        if ends_with_object(mode):
            await self._remove(ctx, obj, workload)
        # Disconnected last: Podman leaves the port rules of a container that is disconnected from its network while
        # running.
        if obj.spec.networks is not None:
            await links.connect(ctx, obj, "")
        if mode != "session":
            self._machine.records.release(KIND, obj.spec.container_name)

    async def _remove(self, ctx: Context, obj: Container, workload: ContainerWorkload) -> None:
        engine = self._machine.engines.current
        if not isinstance(engine, Engine):
            if workload.id or workload.attempted:
                self._conduct.without_engine(workload, problem_condition(engine))
                report(ctx, workload)
                raise Requeue(AGAIN_SECONDS, "no container engine is available to remove the container")
            return
        try:
            if workload.id and workload.stale:
                seen = await engine.containers.find(workload.id)
                workload.seen, workload.stale = seen, False
            if workload.id and workload.seen is not None and workload.seen.is_running:
                self._conduct.stop(engine, workload, "Deleting", "the object is being deleted")
                report(ctx, workload)
                raise Requeue(_STOPPING_SECONDS, "the container is being stopped")
            if workload.id:
                await engine.containers.remove(workload.id)
            if workload.attempted:
                await remove_ours(engine, workload.attempted, workload.uid)
        except EngineError as error:
            self._conduct.set_state(workload, "Stopping", "RemoveFailed", error_text(error))
            report(ctx, workload)
            raise Requeue(AGAIN_SECONDS, error.message) from None
        workload.id, workload.seen = "", None
        if obj.spec.effective_mode == "cleanup":
            self._machine.records.drop(KIND, obj.spec.container_name)

    # Status

    async def _serve(self, ctx: Context, tree: Object, workload: ContainerWorkload) -> None:
        """Creates an Endpoint for each Service that the container serves while the container runs."""
        engine, found = self._machine.engines.engine, dict[str, ServiceAddress]()
        # An engine that does not respond does not end the containers in the engine.
        if workload.seen is not None and engine is not None and workload.state in ("Running", "RuntimeUnhealthy"):
            with suppress(ValueError):
                found = links.served(tree, workload.seen, engine)
        workload.served |= found.keys()
        await serve(ctx, tree, found, workload.served)


def _concerns(event: Event, workload: ContainerWorkload) -> bool:
    """Returns True if the state of a container may change with an event."""
    if event.kind == "network":
        return bool(workload.id) and event.attributes.get("container") == workload.id
    return event.id == workload.id or (not workload.id and event.name == workload.awaits)


def _whole_seconds(spec: ContainerSpec) -> int:
    return -(-int(spec.stop_timeout.total_seconds() * 1000) // 1000)
