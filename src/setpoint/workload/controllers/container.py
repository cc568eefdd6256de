"""Containers: has the container of each run as its spec says, and tells how it is.

Every reconcile looks at what is and does the next thing. What takes long, a start with its pull or a stop, is a task
that wakes it; what happens in the engine wakes it too, and it looks at its container again.
"""

import asyncio
import logging
from contextlib import suppress
from functools import partial

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.timers import Channel
from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.workload.controllers import container_links as links
from setpoint.workload.controllers.container_health import ContainerHealth
from setpoint.workload.controllers.container_life import ContainerLife, ended, report, should_restart
from setpoint.workload.controllers.container_output import Output
from setpoint.workload.controllers.container_start import KIND, ContainerStart, StartProblem, remove_ours
from setpoint.workload.controllers.container_wanted import Blocked, wanted
from setpoint.workload.controllers.endpoints import Place, serve
from setpoint.workload.controllers.engine_trouble import told_trouble, words_of
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, EngineLost
from setpoint.workload.engine.events import Event, Told
from setpoint.workload.engine.results import Container as Seen
from setpoint.workload.kinds.container import Container, ContainerSpec, ContainerState
from setpoint.workload.kinds.parts import GROUP, RESTART_REQUESTED, RestartBackoff, ends_with_object
from setpoint.workload.logs.capture import DEFAULT_LIMITS, Limits
from setpoint.workload.world import World

FINALIZER = f"{GROUP}/container-reconciler"
# What may happen to a container that changes what is told of it.
_NEWS = frozenset(
    ("start", "restart", "die", "stop", "destroy", "pause", "unpause", "oom", "health_status", "rename", "update")
)
# How soon an engine that failed is asked again.
_AGAIN_SECONDS = 2.0
# How long what is being stopped is not looked at, unless it says that it has ended.
_STOPPING_SECONDS = 60.0
_LINES = 5

_log = logging.getLogger(__name__)


class Containers:
    """The controller, and what it knows of every Container."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._channel = Channel("containers")
        self._known: dict[str, ContainerLife] = {}
        self._health = ContainerHealth(world, self.wake)
        self.controller = Controller(
            "container",
            self._reconcile,
            kind=Container,
            clock=world.clock,
            ids=world.ids,
            reads=READS,
            watches=(self._channel,),
            concurrency=16,
            condition_events=(),  # told where they happen, with more to say
        )
        world.engines.subscribe(self._hear)

    def find(self, uid: str) -> ContainerLife | None:
        """What runs for an object."""
        return next((each for each in self._known.values() if each.uid == uid), None)

    def wake(self, name: str) -> None:
        """Has a Container looked at."""
        self._channel.send(Request(name))

    def restart(self, name: str, why: str, *, rebuild: bool = False) -> None:
        """Has a Container started again, for a reason that is not in the object; `rebuild`: from a new image."""
        found = self._known.get(name)
        if found is not None and found.seen is not None and found.seen.is_running and not found.restarting:
            found.restarting, found.rebuild = why, rebuild
            self.wake(name)

    async def close(self) -> None:
        """Stops and removes the containers of this session, all at once; others are let go of."""
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

    async def _end(self, engine: Engine, life: ContainerLife) -> None:
        await engine.containers.stop(life.id, seconds=life.stop_seconds)
        await life.output.settle()
        await engine.containers.remove(life.id)

    def _hear(self, told: Told | None) -> None:
        """Something happened in the engine, or to it."""
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
        life = self._life(obj)
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(self._clean_up, ctx, obj, life)):
            await self._forget(request.name)
            return None
        tree = links.tree_with_kind(obj)
        after = await self._advance(ctx, obj, tree, life)
        if obj.spec.networks is not None:
            await links.connect(ctx, obj, life.id)
            life.networks = links.joined(ctx, obj.spec, life.seen if life.id else None)
        await self._serve(ctx, tree, life)
        report(ctx, life)
        return Result(requeue_after=after)

    def _life(self, obj: Container) -> ContainerLife:
        uid, name = obj.metadata.uid or "", obj.metadata.name or ""
        found = self._known.get(name)
        if found is None or found.uid != uid:
            output = Output(self._world.logs, uid, self._world.clock)
            found = self._known[name] = ContainerLife(uid, name, output, obeyed=_restart_request(obj))
            found.remember(obj.status)
            if not found.is_over:
                # Whatever an earlier control plane had running in this session is gone with it.
                found.state = ""
        found.is_session = obj.spec.effective_mode == "session"
        found.stop_seconds = _whole_seconds(obj.spec)
        found.awaits = obj.spec.container_name
        found.output.limits = _limits(obj.spec)
        return found

    async def _forget(self, name: str) -> None:
        found = self._known.pop(name, None)
        if found is not None:
            found.close_probing()
            found.output.close()
            self._world.logs.remove(found.uid)

    # The next thing

    async def _advance(self, ctx: Context, obj: Container, tree: Object, life: ContainerLife) -> float | None:
        """Does the next thing; how long until there is something to look at again."""
        spec = obj.spec
        if life.work is not None:
            if not life.work.done():
                if life.starting and spec.stop:
                    life.work.cancel()
                return None
            if (after := self._take_work(spec, life)) is not None:
                return after
        if not spec.start and not life.id:
            self._tell(life, "Pending", "NotStarted", "start is false: set it to true to start it")
            return None
        engine = self._world.engines.current
        if not isinstance(engine, Engine):
            self._without_engine(life, told_trouble(engine) if engine else None)
            return None
        try:
            if life.id and life.stale:
                await self._look(engine, obj, life)
        except EngineLost as error:
            self._without_engine(life, ("EngineLost", words_of(error)))
            return _AGAIN_SECONDS
        if life.id and life.seen is not None and life.seen.is_running:
            self._tend(engine, obj, life)
            return None
        if life.is_over:
            if not self._asked_to_restart(obj, life):
                return None
            life.starts_anew()
        if spec.stop:
            self._tell(life, "FailedToStart", "Stopped", "stop was set before it was started")
            return None
        if life.due is not None:
            left = life.due - self._world.clock.monotonic()
            if left > 0 and not self._asked_to_restart(obj, life):
                return left
            life.starts_anew()
        return await self._begin(ctx, engine, obj, tree, life)

    def _without_engine(self, life: ContainerLife, trouble: tuple[str, str] | None) -> None:
        """Tells that there is no engine. It says by itself when there is one again."""
        if trouble is None:
            self._tell(life, life.state or "Pending", *told_trouble(None))
        elif not life.is_over:
            self._tell(life, "RuntimeUnhealthy", *trouble)
            life.stale = True

    async def _look(self, engine: Engine, obj: Container, life: ContainerLife) -> None:
        """Looks at the container again, and takes over what has become of it. Raises EngineLost."""
        # What happens from here on is news.
        life.stale = False
        try:
            seen = await engine.containers.find(life.id)
        except EngineLost:
            life.stale = True
            raise
        if seen is None:
            await self._removed(life)
            return
        was_running = life.seen is not None and life.seen.is_running and life.seen.started_at == seen.started_at
        life.looks_like(seen, self._world.clock.now())
        if life.on_demand:
            self._world.logs.of(life.uid).demand = partial(life.output.fetch, engine, seen)
        elif seen.status != "created":
            life.output.follow(engine, seen)
        if seen.is_running:
            self._health.attend(engine, obj, life)
            self._tell(life, *_state_of(seen))
        elif seen.status in ("exited", "dead") and (was_running or life.state not in ("Exited", "FailedToStart")):
            await self._take_end(obj.spec, life, seen)

    async def _removed(self, life: ContainerLife) -> None:
        life.close_probing()
        await life.output.settle()
        life.id, life.seen = "", None
        life.finished_at = life.finished_at or self._world.clock.now()
        self._ends(life)
        message = "its container was removed, and not by us: ask for a restart, or create the object anew"
        self._tell(life, "Unknown", "Removed", message)

    def _tend(self, engine: Engine, obj: Container, life: ContainerLife) -> None:
        """Sees to what runs."""
        if obj.spec.stop:
            self._stop(engine, life, "Stopping", "stop was set")
        elif self._asked_to_restart(obj, life):
            life.restarting = "a restart was asked for"
            self._stop(engine, life, "Restarting", life.restarting)
        elif life.restarting:
            self._stop(engine, life, "Restarting", life.restarting)
        elif life.probing is not None and (dead := life.probing.dead) is not None:
            life.restarting = f"the liveness probe {dead.probe.name} failed: {dead.reason}"
            life.restart_waits = True
            self._stop(engine, life, "LivenessProbeFailed", life.restarting)

    def _asked_to_restart(self, obj: Container, life: ContainerLife) -> bool:
        request = _restart_request(obj)
        if not request or request == life.obeyed or obj.spec.stop:
            return False
        life.obeyed = request
        return True

    def _take_work(self, spec: ContainerSpec, life: ContainerLife) -> float | None:
        """A start or a stop has ended; seconds to wait, where it has to be tried again."""
        work, life.work = life.work, None
        assert work is not None
        life.stale, life.rebuild = True, False
        if work.cancelled():
            self._tell(life, "FailedToStart", "Stopped", "stop was set before it had started")
            return None
        error = work.exception()
        if error is None:
            return None
        if isinstance(error, StartProblem):
            life.close_probing()
            life.finished_at = None if error.again else self._world.clock.now()
            if error.again is None and spec.restart_backoff is not None and should_restart(spec, None):
                self._later(spec, life, error.message)
                return None
            self._tell(life, error.state, error.reason, error.message)
            if error.again is None:
                self._ends(life)
            return error.again
        if isinstance(error, EngineLost):
            self._without_engine(life, ("EngineLost", words_of(error)))
            return _AGAIN_SECONDS
        if isinstance(error, EngineError):
            self._tell(life, "Stopping", "StopFailed", words_of(error))
            return _AGAIN_SECONDS
        raise error

    async def _take_end(self, spec: ContainerSpec, life: ContainerLife, seen: Seen) -> None:
        """The container has ended: for good, or to be started again."""
        life.close_probing()
        await life.output.settle()
        reason, said = ended(seen)
        if life.restarting and not life.restart_waits:
            self._note(life, f"{said}; {life.restarting}")
            life.starts_anew()
            return
        if not spec.stop and (life.restarting or should_restart(spec, seen.exit_code)):
            why = f"{life.restarting}; {said}" if life.restarting else said
            self._later(spec, life, await self._with_output(life, why))
            return
        self._ends(life)
        if spec.stop:
            self._tell(life, "Exited", "Stopped", f"{said} after it was asked to stop")
        else:
            self._tell(life, "Exited", reason, await self._with_output(life, said))

    def _later(self, spec: ContainerSpec, life: ContainerLife, why: str) -> None:
        """Has it started again, after a while."""
        clock = self._world.clock
        backoff = spec.restart_backoff or RestartBackoff()
        seconds = life.next_wait(backoff, clock.monotonic() - life.began)
        life.restart_waits, life.restarting = False, ""
        life.due, life.due_at = clock.monotonic() + seconds, clock.now() + (life.wait or backoff.initial)
        self._tell(life, "Starting", "BackOff", f"{why}; it is started again in {seconds:g} s")

    # Starting and stopping

    async def _begin(
        self, ctx: Context, engine: Engine, obj: Container, tree: Object, life: ContainerLife
    ) -> float | None:
        found = await wanted(ctx, self._world, obj, tree, life)
        if isinstance(found, Blocked):
            self._tell(life, found.state, found.reason, found.message)
            if life.is_over:
                self._ends(life)
            return found.again
        life.began = self._world.clock.monotonic()
        life.due = life.due_at = None
        directory = self._world.logs.of(life.uid).directory
        life.files = str(directory / "startup_stdout.0.log"), str(directory / "startup_stderr.0.log")
        start = ContainerStart(self._world, engine, found, life, partial(self._tell_from_start, life))
        self._works(life, asyncio.ensure_future(start.run()), starting=True)
        return None

    def _works(self, life: ContainerLife, work: "asyncio.Task[None]", *, starting: bool) -> None:
        life.work, life.starting = work, starting
        work.add_done_callback(lambda _: self.wake(life.name))

    def _tell_from_start(self, life: ContainerLife, state: ContainerState, reason: str, message: str) -> None:
        self._tell(life, state, reason, message)
        self.wake(life.name)

    def _stop(self, engine: Engine, life: ContainerLife, reason: str, message: str) -> None:
        """Begins to stop what runs; its end wakes us."""
        self._tell(life, "Stopping", reason, message)
        life.close_probing()
        stopping = asyncio.ensure_future(engine.containers.stop(life.id, seconds=life.stop_seconds))
        self._works(life, stopping, starting=False)

    async def _clean_up(self, ctx: Context, obj: Container, life: ContainerLife) -> None:
        """The object is to go: its container goes first, unless it is to outlive it."""
        mode = obj.spec.effective_mode
        life.close_probing()
        if life.work is not None and not life.work.done():
            if life.starting:
                life.work.cancel()
            self._tell(life, "Stopping", "Deleting", "the object is being deleted")
            report(ctx, life)
            raise Requeue(_STOPPING_SECONDS, "it is being stopped")
        if life.work is not None:
            life.work = None
            life.stale = True
        await serve(ctx, links.tree_with_kind(obj), {}, life.served)
        if obj.spec.networks is not None:
            await links.connect(ctx, obj, "")
        if ends_with_object(mode):
            await self._remove(ctx, obj, life)
        if mode != "session":
            self._world.records.give_back(KIND, obj.spec.container_name)

    async def _remove(self, ctx: Context, obj: Container, life: ContainerLife) -> None:
        engine = self._world.engines.current
        if not isinstance(engine, Engine):
            if life.id or life.attempted:
                self._without_engine(life, told_trouble(engine))
                report(ctx, life)
                raise Requeue(_AGAIN_SECONDS, "the engine is not there to remove it")
            return
        try:
            if life.id and life.stale:
                seen = await engine.containers.find(life.id)
                life.seen, life.stale = seen, False
            if life.id and life.seen is not None and life.seen.is_running:
                self._stop(engine, life, "Deleting", "the object is being deleted")
                report(ctx, life)
                raise Requeue(_STOPPING_SECONDS, "it is being stopped")
            if life.id:
                await engine.containers.remove(life.id)
            if life.attempted:
                await remove_ours(engine, life.attempted, life.uid)
        except EngineError as error:
            self._tell(life, "Stopping", "RemoveFailed", words_of(error))
            report(ctx, life)
            raise Requeue(_AGAIN_SECONDS, error.message) from None
        life.id, life.seen = "", None
        if obj.spec.effective_mode == "cleanup":
            self._world.records.drop(KIND, obj.spec.container_name)

    # Telling

    async def _serve(self, ctx: Context, tree: Object, life: ContainerLife) -> None:
        """Has an Endpoint for every Service that it serves while it runs."""
        engine, found = self._world.engines.engine, dict[str, Place]()
        # An engine that does not answer does not end what runs in it.
        if life.seen is not None and engine is not None and life.state in ("Running", "RuntimeUnhealthy"):
            with suppress(ValueError):
                found = links.served(tree, life.seen, engine)
        life.served |= found.keys()
        await serve(ctx, tree, found, life.served)

    def _tell(self, life: ContainerLife, state: ContainerState, reason: str, message: str) -> None:
        if life.becomes(state, reason, message):
            self._world.telling.tell(KIND, life, state, reason, message, again=life.restarts > 0)

    def _ends(self, life: ContainerLife) -> None:
        """Nothing more will be in its logs, for now."""
        life.output.end()
        self._world.logs.end(life.uid)

    def _note(self, life: ContainerLife, text: str) -> None:
        _log.debug("container %s: %s", life.name, text)
        self._world.logs.note(life.uid, text)

    async def _with_output(self, life: ContainerLife, text: str) -> str:
        """The same, and the last that it said about what is wrong."""
        if not life.exit_code:
            return text
        logs, since = self._world.logs, life.started_at
        tail = await logs.tail(life.uid, "stderr", _LINES, since) or await logs.tail(life.uid, "stdout", _LINES, since)
        return f"{text}; its last words: {tail}" if tail else text


def _state_of(seen: Seen) -> tuple[ContainerState, str, str]:
    if seen.status == "paused":
        return "Paused", "Paused", "it is paused: unpause it in the engine"
    if seen.status == "restarting":
        return "Starting", "Restarting", f"the engine starts it again; that was its restart {seen.restart_count}"
    return "Running", "Running", f"container {seen.id[:12]}"


def _restart_request(obj: Container) -> str:
    return meta.annotations(links.tree_with_kind(obj)).get(RESTART_REQUESTED, "")


def _whole_seconds(spec: ContainerSpec) -> int:
    return -(-int(spec.stop_timeout.total_seconds() * 1000) // 1000)


def _limits(spec: ContainerSpec) -> Limits:
    logs = spec.logs
    if logs is None:
        return DEFAULT_LIMITS
    return Limits(logs.max_bytes or DEFAULT_LIMITS.max_bytes, logs.max_files or DEFAULT_LIMITS.max_files)
