"""A container engine: its version, images, containers, networks, volumes and events."""

from collections.abc import AsyncIterator, Callable, Mapping

from setpoint.client.http.endpoint import Endpoint
from setpoint.objects.clock import Clock
from setpoint.workload.engine import results
from setpoint.workload.engine.containers import Containers
from setpoint.workload.engine.events import Events, Told
from setpoint.workload.engine.images import Images
from setpoint.workload.engine.networks import Networks, Volumes
from setpoint.workload.engine.podman_service import PodmanService
from setpoint.workload.engine.results import Info, Version
from setpoint.workload.engine.wire import Wire

# The newest API version that we support. Engines reject newer versions than their own, and very old ones.
NEWEST = (1, 47)
OLDEST = (1, 40)
_PING_SECONDS = 10.0


class TooOld(Exception):  # noqa: N818 - named after the condition
    """The engine supports no API version that we support."""


class Engine:
    """A connected engine, created by `connect`; tests create scripted ones."""

    def __init__(self, wire: Wire, clock: Clock, environ: Mapping[str, str]) -> None:
        self.version = Version("", "", "")
        self._wire = wire
        self._clock = clock
        self.images = Images(wire, environ)
        self.containers = Containers(wire)
        self.networks = Networks(wire)
        self.volumes = Volumes(wire)
        # The service that was started for this connection, and ends with it.
        self.service: PodmanService | None = None

    @property
    def endpoint(self) -> Endpoint:
        """The address of the engine."""
        return self._wire.endpoint

    async def agree(self, seconds: float = _PING_SECONDS) -> Version:
        """Requests the engine's version and selects an API version. Raises EngineError or TooOld."""
        version = await self._wire.json("GET", "/version", timeout=seconds)
        offered = _numbers(str(version.get("ApiVersion") or "0"))
        if offered < OLDEST:
            raise TooOld(f"its API version is {version.get('ApiVersion')}")
        chosen = min(offered, NEWEST)
        components = {str(each.get("Name")) for each in version.get("Components") or ()}
        name = "podman" if "Podman Engine" in components else "docker"
        self.version = Version(name, str(version.get("Version") or ""), f"{chosen[0]}.{chosen[1]}")
        self._wire.prefix = f"/v{self.version.api_version}"
        self._wire.engine = name
        return self.version

    async def ping(self, seconds: float = _PING_SECONDS) -> None:
        """Checks that the engine responds. Raises EngineLost."""
        await self._wire.request("GET", "/_ping", timeout=seconds)

    async def info(self) -> Info:
        """Returns information about the engine's machine, and the engine's warnings."""
        return results.info(await self._wire.json("GET", "/info"))

    @property
    def published_host(self) -> str:
        """The host at which ports are reached that the engine publishes on loopback: the engine's host if on another
        machine."""
        return "127.0.0.1" if self.endpoint.unix else self.endpoint.host

    def events(self, broken: Callable[[str], None] | None = None) -> AsyncIterator[Told]:
        """Yields events from now on, across reconnections, beginning with a `Resync`. `broken` is called on each lost
        connection."""
        return Events(self._wire, self._clock, broken).follow()

    async def close(self, *, service: bool = True) -> None:
        """Closes the connections and cancels pending requests. Without `service`, a service of ours ends only after the
        last connection of others."""
        await self._wire.close()
        if self.service is not None:
            await self.service.stop() if service else self.service.leave()


def _numbers(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return (int(major) if major.isdigit() else 0, int(minor) if minor.isdigit() else 0)
