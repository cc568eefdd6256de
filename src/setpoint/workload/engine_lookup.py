"""The container engine of a control plane: connected when the first object needs an engine, with retries.

`current` never waits; subscribers are notified when `current` changes and of all engine events. After connecting,
resources of dead control planes are removed, and the guardian is told to remove all resources with the label of this
session if this control plane dies.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from setpoint.machine.chosen import system
from setpoint.objects.clock import Clock
from setpoint.workload.engine import labels
from setpoint.workload.engine.choice import Unavailable
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError, EngineLost
from setpoint.workload.engine.events import Event, Resync, Told
from setpoint.workload.process.guardian import Removal
from setpoint.workload.process.identity import Identity, identity_of, is_alive, parse
from setpoint.workload.process.processes import Processes

# The pid namespace of the creator: in another namespace its pid is meaningless.
NAMESPACE = "setpoint.dev/pid-namespace"
_KEY = "engine"
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 15.0
_START_SECONDS = 30.0

Connect: TypeAlias = Callable[[], Awaitable[Engine | Unavailable]]
# Called with events; None: the availability of the engine has changed.
Hear: TypeAlias = Callable[[Told | None], None]

_log = logging.getLogger(__name__)


class Engines:
    """The engine of a control plane, if available."""

    def __init__(self, clock: Clock, processes: Processes, connect: Connect) -> None:
        self._clock, self._processes, self._connect = clock, processes, connect
        self._engine: Engine | None = None
        self._problem: Unavailable | None = None
        self._task: asyncio.Task[None] | None = None
        self._restart: asyncio.Future[str] | None = None
        self._hearers: list[Hear] = []
        self._creator = identity_of(os.getpid()) or Identity(os.getpid(), 0)

    @property
    def current(self) -> Engine | Unavailable | None:
        """The engine, or the reason why none is available; None while connecting."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())
        return self._problem if self._problem is not None else self._engine

    @property
    def engine(self) -> Engine | None:
        """The selected engine, even if not responding at the moment."""
        return self._engine

    def subscribe(self, handler: Hear) -> None:
        """Adds a subscriber for events."""
        self._hearers.append(handler)

    def connection_changed(self, network: str, container: str) -> None:
        """Notifies the subscribers that a container was connected to a network, or disconnected: Podman sends no event
        for that."""
        self._notify(Event("network", "connect", network, "", {"container": container}, 0))

    def made_by_us(self, *, persistent: bool) -> dict[str, str]:
        """Returns the labels of resources that we create: those that are not persistent are removed with this control
        plane."""
        _, _, started = self._creator.text().partition(":")
        session = "" if persistent else self._processes.session
        made = labels.maker(pid=self._creator.pid, started=started, persistent=persistent, session=session)
        return {**made, NAMESPACE: system.pid_namespace()}

    async def close(self) -> None:
        """Closes the connection. The guardian removes resources of this session that are left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._restart is not None:
            await self._restart
        if self._engine is not None:
            ours: dict[str, str | None] = {labels.SESSION: self._processes.session}
            # Until known otherwise, the guardian needs the engine.
            left: list[object] = [self._engine]
            with suppress(EngineError):
                left = [
                    *await self._engine.containers.list(labels=ours),
                    *await self._engine.networks.list(labels=ours),
                    *await self._engine.volumes.list(labels=ours),
                ]
                if not left:
                    self._processes.unguard(_KEY)
            await self._engine.close(service=not left)

    async def _run(self) -> None:
        wait = _FIRST_WAIT
        while not isinstance(found := await self._connected(), Engine):
            if found != self._problem:
                _log.info("no container engine: %s; %s", found.message, found.remedy)
                self._problem = found
                self._notify(None)
            await self._clock.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        self._engine = found
        if found.endpoint.unix:
            label = f"{labels.SESSION}={self._processes.session}"
            self._processes.guard(_KEY, Removal(found.endpoint.unix, labels=(label,)))
        while True:
            try:
                async for event in found.events(self._broken):
                    if isinstance(event, Resync):
                        self._problem = None
                    self._notify(event)
            except Exception:  # an invalid event must not end the subscription
                _log.exception("cannot follow the events of the container engine; retrying")
            await self._clock.sleep(_FIRST_WAIT)

    async def _connected(self) -> Engine | Unavailable:
        try:
            found = await self._connect()
            if isinstance(found, Engine) and found.endpoint.unix:
                await self._harvest(found)
            return found
        except EngineError as error:
            return Unavailable("Failing", error.message, error.remedy or "check the log of the container engine")

    def _broken(self, reason: str) -> None:
        assert self._engine is not None
        name = self._engine.version.name.capitalize()
        self._problem = Unavailable("NotRunning", f"{name} does not respond: {reason}", EngineLost.remedy)
        if self._engine.service is not None:
            self._restart = asyncio.ensure_future(self._engine.service.start(_START_SECONDS))
        self._notify(None)

    def _notify(self, event: Told | None) -> None:
        for hear in self._hearers:
            hear(event)

    async def _harvest(self, engine: Engine) -> None:
        """Removes resources of control planes that were killed together with their guardian."""
        wanted = {labels.SESSION: None, NAMESPACE: system.pid_namespace()}
        for container in await engine.containers.list(labels=wanted):
            if is_left(container.labels):
                _log.warning("removing container %s of a dead control plane", container.name)
                with suppress(EngineError):
                    await engine.containers.remove(container.id)
        for network in await engine.networks.list(labels=wanted):
            if is_left(network.labels):
                _log.warning("removing network %s of a dead control plane", network.name)
                # Containers of others may be connected.
                with suppress(EngineError):
                    await engine.networks.remove(network.id)
        for volume in await engine.volumes.list(labels=wanted):
            if is_left(volume.labels):
                _log.warning("removing volume %s of a dead control plane", volume.name)
                with suppress(EngineError):
                    await engine.volumes.remove(volume.name)


def is_left(found: Mapping[str, str]) -> bool:
    """Returns True if the creator of a resource that is not persistent is dead; a creator of an earlier boot counts as
    dead."""
    if labels.is_persistent(found):
        return False
    creator = parse(f"{found.get(labels.CREATOR_PROCESS_ID)}:{found.get(labels.CREATOR_PROCESS_START_TIME)}")
    return creator is None or not is_alive(creator)
