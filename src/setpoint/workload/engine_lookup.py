"""The container engine of a control plane: looked for when the first object needs it, and again until there is one.

Whoever needs it asks for `current`, which never waits, and is told when that changes and of all that happens in the
engine. Before anybody gets it, what dead control planes left in it is removed, and the guardian is told what to remove
should this one die: all that carries its session.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from setpoint.objects.clock import Clock
from setpoint.workload.engine import labels
from setpoint.workload.engine.choice import Unavailable
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, EngineLost
from setpoint.workload.engine.events import Resync, Told
from setpoint.workload.process.guardian import Removal
from setpoint.workload.process.identity import Identity, identity_of, is_alive, parse
from setpoint.workload.process.processes import Processes

# In which namespace of processes the creator's pid means something: elsewhere it is somebody else's, or nobody's.
NAMESPACE = "setpoint.dev/pid-namespace"
_KEY = "engine"
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 15.0

Connect: TypeAlias = Callable[[], Awaitable[Engine | Unavailable]]
# Told of events; None: whether there is an engine has changed.
Hear: TypeAlias = Callable[[Told | None], None]

_log = logging.getLogger(__name__)


class Engines:
    """The engine that a control plane uses, if there is one."""

    def __init__(self, clock: Clock, processes: Processes, connect: Connect) -> None:
        self._clock, self._processes, self._connect = clock, processes, connect
        self._engine: Engine | None = None
        self._trouble: Unavailable | None = None
        self._task: asyncio.Task[None] | None = None
        self._hearers: list[Hear] = []
        self._creator = identity_of(os.getpid()) or Identity(os.getpid(), 0)

    @property
    def current(self) -> Engine | Unavailable | None:
        """The engine, or why there is none; None while it is being looked for."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())
        return self._trouble if self._trouble is not None else self._engine

    @property
    def engine(self) -> Engine | None:
        """The engine that was chosen, whether it answers at this moment or not."""
        return self._engine

    def subscribe(self, hear: Hear) -> None:
        """Has somebody told of what happens."""
        self._hearers.append(hear)

    def made_by_us(self, *, persistent: bool) -> dict[str, str]:
        """Labels for what we make: what is not persistent goes with us, one way or another."""
        _, _, started = self._creator.text().partition(":")
        session = "" if persistent else self._processes.session
        made = labels.maker(pid=self._creator.pid, started=started, persistent=persistent, session=session)
        return {**made, NAMESPACE: pid_namespace()}

    async def close(self) -> None:
        """Lets go of the engine. What is left of this session in it is the guardian's business."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._engine is not None:
            ours: dict[str, str | None] = {labels.SESSION: self._processes.session}
            with suppress(EngineError):
                left = [
                    *await self._engine.containers.list(labels=ours),
                    *await self._engine.networks.list(labels=ours),
                    *await self._engine.volumes.list(labels=ours),
                ]
                if not left:
                    self._processes.unguard(_KEY)
            await self._engine.close()

    async def _run(self) -> None:
        wait = _FIRST_WAIT
        while not isinstance(found := await self._connected(), Engine):
            if found != self._trouble:
                _log.info("no container engine: %s; %s", found.message, found.remedy)
                self._trouble = found
                self._tell(None)
            await self._clock.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        self._engine = found
        if found.endpoint.unix:
            label = f"{labels.SESSION}={self._processes.session}"
            self._processes.guard(_KEY, Removal(found.endpoint.unix, labels=(label,)))
        while True:
            try:
                async for told in found.events(self._broken):
                    if isinstance(told, Resync):
                        self._trouble = None
                    self._tell(told)
            except Exception:  # an event that makes no sense must not be the last one
                _log.exception("the events of the container engine cannot be followed; it is tried again")
            await self._clock.sleep(_FIRST_WAIT)

    async def _connected(self) -> Engine | Unavailable:
        try:
            found = await self._connect()
            if isinstance(found, Engine) and found.endpoint.unix:
                await self._harvest(found)
            return found
        except EngineError as error:
            return Unavailable("Failing", error.message, error.remedy or "look into the log of the container engine")

    def _broken(self, reason: str) -> None:
        assert self._engine is not None
        name = self._engine.version.name.capitalize()
        self._trouble = Unavailable("NotRunning", f"{name} does not answer: {reason}", EngineLost.remedy)
        self._tell(None)

    def _tell(self, told: Told | None) -> None:
        for hear in self._hearers:
            hear(told)

    async def _harvest(self, engine: Engine) -> None:
        """Removes what control planes have left that were killed, and whose guardian was, too."""
        wanted = {labels.SESSION: None, NAMESPACE: pid_namespace()}
        for container in await engine.containers.list(labels=wanted):
            if is_left(container.labels):
                _log.warning("removing container %s, which a dead control plane left", container.name)
                with suppress(EngineError):
                    await engine.containers.remove(container.id)
        for network in await engine.networks.list(labels=wanted):
            if is_left(network.labels):
                _log.warning("removing network %s, which a dead control plane left", network.name)
                # Somebody else's container may be in it.
                with suppress(EngineError):
                    await engine.networks.remove(network.id)
        for volume in await engine.volumes.list(labels=wanted):
            if is_left(volume.labels):
                _log.warning("removing volume %s, which a dead control plane left", volume.name)
                with suppress(EngineError):
                    await engine.volumes.remove(volume.name)


def is_left(found: Mapping[str, str]) -> bool:
    """Whether who made a thing that was not to stay is gone; what an earlier boot made counts as left."""
    if labels.is_persistent(found):
        return False
    creator = parse(f"{found.get(labels.CREATOR_PROCESS_ID)}:{found.get(labels.CREATOR_PROCESS_START_TIME)}")
    return creator is None or not is_alive(creator)


def pid_namespace() -> str:
    """The namespace in which pids mean what they mean to us."""
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return "unknown"
