"""The face of a scripted engine: what a test prepares, what it lets happen, which faults it injects, what it saw.

    scripted = ScriptedEngine(clock)
    scripted.offer("web:1")                              # can be pulled
    scripted.fail("containers.start", 500, "boom")       # the next start fails
    engine = scripted.engine                             # what the code under test gets
    ...
    scripted.exit("web-1", 3)                            # the program in it ends
    scripted.remove("web-1")                             # somebody removes it behind our back
    scripted.stop(); scripted.start()                    # the engine restarts under us

Operations are named as the client's methods: `containers.create`, `images.pull`, `networks.connect`, `events`, `ping`.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from tests.workload.engine.scripted.routes import ScriptedWire
from tests.workload.engine.scripted.state import (
    ScriptedContainer,
    ScriptedExec,
    ScriptedImage,
    ScriptedNetwork,
    ScriptedVolume,
)

from setpoint.client.transport import TransportError
from setpoint.objects.clock import Clock
from setpoint.workload.engine.choice import Unavailable
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineLost, error_from
from setpoint.workload.engine.results import Version


class Ran(NamedTuple):
    """How a command in a container ends, and what it prints."""

    code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""


Command: TypeAlias = Callable[[ScriptedContainer, list[str]], Ran]
_SECOND = 1_000_000_000


class ScriptedEngine:
    """An engine in memory. Containers run until they are stopped, or a test ends them."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.containers: dict[str, ScriptedContainer] = {}
        self.images: dict[str, ScriptedImage] = {}
        self.registry: dict[str, ScriptedImage] = {}
        self.networks: dict[str, ScriptedNetwork] = {}
        self.volumes: dict[str, ScriptedVolume] = {}
        self.execs: dict[str, ScriptedExec] = {}
        # Every operation that was asked for, in order, with the thing it was about.
        self.calls: list[tuple[str, str]] = []
        # Host ports that another program has.
        self.busy_ports: set[int] = set()
        # What commands in containers do.
        self.on_exec: Command = lambda container, command: Ran()
        # Called when a container starts: end it, or let it print, as the program in it would.
        self.on_start: Callable[[ScriptedContainer], None] = lambda container: None
        # How many networks there is room for.
        self.max_networks = 30
        # The output of a build that fails.
        self.failing_build: list[str] = []
        self.is_up = True
        self.unavailable = Unavailable("NotRunning", "the scripted engine is stopped", "start it")
        self._numbers = count(1)
        self._ports = count(40_000)
        self._failures: dict[str, list[tuple[int, str]]] = {}
        self._delays: dict[str, list[float]] = {}
        self._events: list[dict[str, Any]] = []
        self._streams: set[asyncio.Queue[dict[str, Any] | None]] = set()
        self._cut_pulls: Counter[str] = Counter()
        self._down = asyncio.Event()
        self.engine = Engine(ScriptedWire(self), clock, {})
        self.engine.version = Version("docker", "scripted", "1.47")

    async def connect(self) -> Engine | Unavailable:
        """What `choice.connect` would say."""
        return self.engine if self.is_up else self.unavailable

    # What a test prepares.

    def offer(self, image: str, **known: Any) -> None:
        """Puts an image into the registry."""
        self.registry[image] = ScriptedImage(image, self.new_id("sha256:"), **known)

    def add_image(self, image: str, **known: Any) -> None:
        """Puts an image onto the engine's machine."""
        self.images[image] = ScriptedImage(image, self.new_id("sha256:"), **known)

    # Faults.

    def fail(self, operation: str, status: int, message: str, *, times: int = 1) -> None:
        """Lets the next ones of an operation fail with what an engine would say."""
        self._failures.setdefault(operation, []).extend([(status, message)] * times)

    def delay(self, operation: str, seconds: float, *, times: int = 1) -> None:
        """Lets the next ones of an operation take so long, by the clock."""
        self._delays.setdefault(operation, []).extend([seconds] * times)

    def cut_pull(self, image: str, *, times: int = 1) -> None:
        """Lets the connection break in the middle of the next pulls of an image."""
        self._cut_pulls[image] += times

    def cut_events(self) -> None:
        """Ends every stream of events, as a broken connection does."""
        for stream in self._streams:
            stream.put_nowait(None)

    def stop(self) -> None:
        """The engine goes away: requests and streams break. Containers go on, as Podman's do."""
        self.is_up = False
        self._down.set()
        self.cut_events()

    def start(self, *, forgets_events: bool = True) -> None:
        """The engine is back. Like a real one, it has forgotten what happened before."""
        self.is_up = True
        self._down = asyncio.Event()
        if forgets_events:
            self._events.clear()

    # What happens behind our back.

    def find(self, name: str) -> ScriptedContainer | None:
        """A container by name, id, or the beginning of its id."""
        for each in self.containers.values():
            if name in (each.id, each.name) or (len(name) >= 12 and each.id.startswith(name)):
                return each
        return None

    def exit(self, name: str, code: int = 0) -> None:
        """The program in a container ends."""
        container = self._known(name)
        if container.is_running:
            container.status, container.exit_code, container.finished = "exited", code, self.clock.now()
            self.tell("container", "die", container, exitCode=str(code))

    def print(self, name: str, data: bytes, source: str = "stdout") -> None:
        """The program in a container prints."""
        container = self._known(name)
        container.printed.append((source, data, self.clock.now()))
        container.touch()

    def set_health(self, name: str, status: str) -> None:
        """The health check of a container comes to another result."""
        container = self._known(name)
        container.health = status
        self.tell("container", f"health_status: {status}", container)

    def remove(self, name: str) -> None:
        """Somebody removes a container."""
        self.exit(name, 137)
        container = self._known(name)
        del self.containers[container.id]
        self.tell("container", "destroy", container)

    # What the routes use.

    def new_id(self, prefix: str = "") -> str:
        return f"{prefix}{next(self._numbers):064x}"

    def image(self, name: str) -> ScriptedImage:
        """An image by name or id. Raises NoSuchImage."""
        for known, each in self.images.items():
            if name in (known, each.id) or f"{name}:latest" == known:
                return each
        raise error_from(404, f"No such image: {name}")

    def network(self, name: str) -> ScriptedNetwork:
        """A network by name or id. Raises NotFound."""
        for each in self.networks.values():
            if name in (each.id, each.name):
                return each
        raise error_from(404, f"network {name} not found: No such network")

    def new_port(self) -> str:
        return str(next(self._ports))

    def _known(self, name: str) -> ScriptedContainer:
        found = self.find(name)
        if found is None:
            raise KeyError(f"the scripted engine has no container {name}")
        return found

    def tell(self, kind: str, action: str, thing: ScriptedContainer | ScriptedNetwork, **attributes: str) -> None:
        """Tells whoever follows the events."""
        if isinstance(thing, ScriptedContainer):
            thing.touch()
            attributes = {**thing.labels, "image": thing.body.get("Image", ""), **attributes}
        # No two at one moment, whatever the clock says: that is how they are told apart.
        at = int(self.clock.now().timestamp() * _SECOND) + next(self._numbers)
        event = {
            "Type": kind,
            "Action": action,
            "Actor": {"ID": thing.id, "Attributes": {**attributes, "name": thing.name}},
            "time": at // _SECOND,
            "timeNano": at,
        }
        self._events.append(event)
        for stream in self._streams:
            stream.put_nowait(event)

    async def meet(self, operation: str, about: str) -> None:
        """What every request goes through: the record, delays and faults."""
        self.calls.append((operation, about))
        if delays := self._delays.get(operation):
            await self.clock.sleep(delays.pop(0))
        if not self.is_up:
            raise EngineLost("cannot connect to the scripted engine: it is stopped")
        if failures := self._failures.get(operation):
            status, message = failures.pop(0)
            raise error_from(status, message)

    def takes_cut(self, image: str) -> bool:
        """Whether this pull is to break."""
        if not self._cut_pulls[image]:
            return False
        self._cut_pulls[image] -= 1
        return True

    async def until_changed(self, container: ScriptedContainer) -> None:
        """Waits for a change of a container. Raises TransportError where the engine goes away."""
        waits = [asyncio.ensure_future(each.wait()) for each in (container.changed, self._down)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        if not self.is_up:
            raise TransportError("the scripted engine went away", sent=True)

    @asynccontextmanager
    async def followed(self, since: int | None) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """The events from a second on, and then those to come, until the stream is cut."""
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        for event in self._events if since is not None else ():
            if event["time"] >= (since or 0):
                queue.put_nowait(event)

        async def told() -> AsyncIterator[dict[str, Any]]:
            while (event := await queue.get()) is not None:
                yield event

        self._streams.add(queue)
        try:
            yield told()
        finally:
            self._streams.discard(queue)
