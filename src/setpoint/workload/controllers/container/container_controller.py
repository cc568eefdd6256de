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
from setpoint.workload.controllers.container.engine_failure import told_trouble, words_of
from setpoint.workload.controllers.container.lifecycle import ContainerLife, report
from setpoint.workload.controllers.container.output import ContainerOutput
from setpoint.workload.controllers.container.start_sequence import KIND, remove_ours
from setpoint.workload.controllers.container.state_machine import AGAIN_SECONDS, ContainerConduct, restart_request
from setpoint.workload.controllers.endpoints import ServiceAddress, serve
from setpoint.workload.controllers.log_limits import limits_of
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine.events import Event, Told
from setpoint.workload.kinds.api_names import GROUP
from setpoint.workload.kinds.container import Container, ContainerSpec
from setpoint.workload.kinds.parts import ends_with_object
from setpoint.workload.runtime import Machine

FINALIZER = f"{GROUP}/container-reconciler"
# Actions of the engine after which the status of a container may change.
_NEWS = frozenset(
    ("start", "restart", "die", "stop", "destroy", "pause", "unpause", "oom", "health_status", "rename", "update")
)
# The requeue delay while a container stops; its end reconciles earlier.
_STOPPING_SECONDS = 60.0


class Containers:
    """The controller, and the known state of every Container."""

    def __init__(self, world: Machine) -> None:
        self._world = world
        self._channel = Channel("containers")
        self._known: dict[str, ContainerLife] = {}
        self._conduct = ContainerConduct(world, self.wake)
        self.controller = Controller(
            "container",
            self._reconcile,
            kind=Container,
            clock=world.clock,
            ids=world.ids,
            reads=READS,
            watches=(self._channel,),
            concurrency=16,
            condition_events=(),  # events are recorded by the state machine, in more detail
        )
        world.engines.subscribe(self._hear)

    def find(self, uid: str) -> ContainerLife | None:
        """Returns the state of the container of an object, by uid."""
        return next((each for each in self._known.values() if each.uid == uid), None)

    def wake(self, name: str) -> None:
        """Enqueues a reconcile of a Container."""
        self._channel.send(Request(name))

    def restart(self, name: str, why: str, *, rebuild: bool = False) -> None:
        """Restarts a Container for a reason outside of its object, even if the container has ended or failed to start.
        With `rebuild`, builds a new image first."""
        found = self._known.get(name)
        if found is None or found.restarting:
            return
        if (found.seen is not None and found.seen.is_running) or found.is_over or found.due is not None:
            found.restarting, found.rebuild = why, rebuild
            self.wake(name)

    async def close(self) -> None:
        """Stops and removes the containers of this session, concurrently, and stops tracking the others."""
        for each in self._known.values():
            each.close_probing()
            if each.work is not None:
                each.work.cancel()
        await asyncio.gather(*(each.work for each in self._known.values() if each.work), return_exceptions=True)
        engine = self._world.engines.current
        if isinstance(engine, Engine):
            gone = (self._end(engine, each) for each in self._known.values() if each.ends_with_us)
            await asyncio.gather(*gone, return_exceptions=True)
        for each in self._known.values():
            each.output.close()
            await each.end_terminal()

    async def _end(self, engine: Engine, life: ContainerLife) -> None:
        await engine.containers.stop(life.id, seconds=life.stop_seconds)
        await life.output.settle()
        await engine.containers.remove(life.id)

    def _hear(self, told: Told | None) -> None:
        """Handles an event of the engine, or a change of the engine's availability."""
        if isinstance(told, Event) and (told.kind != "container" or told.action not in _NEWS):
            return
        for name, life in self._known.items():
            if not isinstance(told, Event) or told.id == life.id or (not life.id and told.name == life.awaits):
                life.stale = True
                self.wake(name)

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: Container | None = await ctx.object()
        if obj is None:
            await self._forget(request.name)
            return None
        before = self._known.get(request.name)
        if before is not None and before.uid != obj.metadata.uid:
            await self._forget(request.name)
        life = self._life(obj)
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(self._clean_up, ctx, obj, life)):
            await self._forget(request.name)
            return None
        tree = links.tree_with_kind(obj)
        after = await self._conduct.advance(ctx, obj, tree, life)
        if obj.spec.networks is not None:
            await links.connect(ctx, obj, life.id)
            life.networks = links.joined(ctx, obj.spec, life.seen if life.id else None)
        await self._serve(ctx, tree, life)
        report(ctx, life)
        if (watched := self._world.watched("Container", life.name)) is not None:
            ctx.status.condition("Watching", *watched)
        return Result(requeue_after=after)

    def _life(self, obj: Container) -> ContainerLife:
        uid, name = obj.metadata.uid or "", obj.metadata.name or ""
        found = self._known.get(name)
        if found is None or found.uid != uid:
            output = ContainerOutput(self._world.logs, uid, self._world.clock)
            found = self._known[name] = ContainerLife(uid, name, output=output, obeyed=restart_request(obj))
            found.remember(obj.status)
            if not found.is_over:
                # Containers that an earlier control plane ran in this session were removed with that control plane.
                found.state = ""
        found.is_session = obj.spec.effective_mode == "session"
        found.stop_seconds = _whole_seconds(obj.spec)
        found.awaits = obj.spec.container_name
        found.output.limits = limits_of(obj.spec.logs)
        return found

    async def _forget(self, name: str) -> None:
        found = self._known.pop(name, None)
        if found is not None:
            found.close_probing()
            found.output.close()
            await found.end_terminal()
            if found.work is not None:
                found.work.cancel()
            engine = self._world.engines.current
            # A container is left only if our finalizer was removed by another client.
            if found.ends_with_us and isinstance(engine, Engine):
                with suppress(EngineError):
                    await engine.containers.remove(found.id)
            self._world.logs.remove(found.uid)

    # Deletion

    async def _clean_up(self, ctx: Context, obj: Container, life: ContainerLife) -> None:
        """Removes the container before the object is deleted, unless the container is persistent."""
        mode = obj.spec.effective_mode
        life.close_probing()
        if life.work is not None and not life.work.done():
            if life.starting:
                life.work.cancel()
            self._conduct.tell(life, "Stopping", "Deleting", "the object is being deleted")
            report(ctx, life)
            raise Requeue(_STOPPING_SECONDS, "the container is being stopped")
        if life.work is not None:
            life.work = None
            life.stale = True
        await serve(ctx, links.tree_with_kind(obj), {}, life.served)
        if ends_with_object(mode):
            await self._remove(ctx, obj, life)
        # Disconnected last: Podman leaves the port rules of a container that is disconnected from its network while
        # running.
        if obj.spec.networks is not None:
            await links.connect(ctx, obj, "")
        if mode != "session":
            self._world.records.give_back(KIND, obj.spec.container_name)

    async def _remove(self, ctx: Context, obj: Container, life: ContainerLife) -> None:
        engine = self._world.engines.current
        if not isinstance(engine, Engine):
            if life.id or life.attempted:
                self._conduct.without_engine(life, told_trouble(engine))
                report(ctx, life)
                raise Requeue(AGAIN_SECONDS, "no container engine is available to remove the container")
            return
        try:
            if life.id and life.stale:
                seen = await engine.containers.find(life.id)
                life.seen, life.stale = seen, False
            if life.id and life.seen is not None and life.seen.is_running:
                self._conduct.stop(engine, life, "Deleting", "the object is being deleted")
                report(ctx, life)
                raise Requeue(_STOPPING_SECONDS, "the container is being stopped")
            if life.id:
                await engine.containers.remove(life.id)
            if life.attempted:
                await remove_ours(engine, life.attempted, life.uid)
        except EngineError as error:
            self._conduct.tell(life, "Stopping", "RemoveFailed", words_of(error))
            report(ctx, life)
            raise Requeue(AGAIN_SECONDS, error.message) from None
        life.id, life.seen = "", None
        if obj.spec.effective_mode == "cleanup":
            self._world.records.drop(KIND, obj.spec.container_name)

    # Status

    async def _serve(self, ctx: Context, tree: Object, life: ContainerLife) -> None:
        """Creates an Endpoint for each Service that the container serves while the container runs."""
        engine, found = self._world.engines.engine, dict[str, ServiceAddress]()
        # An engine that does not respond does not end the containers in the engine.
        if life.seen is not None and engine is not None and life.state in ("Running", "RuntimeUnhealthy"):
            with suppress(ValueError):
                found = links.served(tree, life.seen, engine)
        life.served |= found.keys()
        await serve(ctx, tree, found, life.served)


def _whole_seconds(spec: ContainerSpec) -> int:
    return -(-int(spec.stop_timeout.total_seconds() * 1000) // 1000)
