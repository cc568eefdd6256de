"""A container engine: what it is, and its images, containers, networks, volumes and events."""

from collections.abc import AsyncIterator, Callable, Mapping

from setpoint.client.http.endpoint import Endpoint
from setpoint.objects.clock import Clock
from setpoint.workload.engine import results
from setpoint.workload.engine.containers import Containers
from setpoint.workload.engine.events import Events, Told
from setpoint.workload.engine.images import Images
from setpoint.workload.engine.networks import Networks, Volumes
from setpoint.workload.engine.results import Info, Version
from setpoint.workload.engine.wire import Wire

# The newest version of the API that we know. Engines refuse what is newer than they are, and the oldest ones.
NEWEST = (1, 47)
OLDEST = (1, 40)
_PING_SECONDS = 10.0


class TooOld(Exception):  # noqa: N818 - it says what is the matter
    """The engine speaks no version of the API that we do."""


class Engine:
    """An engine that answered. Made by `connect`; tests make scripted ones."""

    def __init__(self, wire: Wire, clock: Clock, environ: Mapping[str, str]) -> None:
        self.version = Version("", "", "")
        self._wire = wire
        self._clock = clock
        self.images = Images(wire, environ)
        self.containers = Containers(wire)
        self.networks = Networks(wire)
        self.volumes = Volumes(wire)

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""
        return self._wire.endpoint

    async def agree(self, seconds: float = _PING_SECONDS) -> Version:
        """Asks what it is, and settles on a version of the API. Raises EngineError, TooOld."""
        told = await self._wire.json("GET", "/version", timeout=seconds)
        offered = _numbers(str(told.get("ApiVersion") or "0"))
        if offered < OLDEST:
            raise TooOld(f"it speaks version {told.get('ApiVersion')} of the API")
        chosen = min(offered, NEWEST)
        components = {str(each.get("Name")) for each in told.get("Components") or ()}
        name = "podman" if "Podman Engine" in components else "docker"
        self.version = Version(name, str(told.get("Version") or ""), f"{chosen[0]}.{chosen[1]}")
        self._wire.prefix = f"/v{self.version.api_version}"
        self._wire.engine = name
        return self.version

    async def ping(self, seconds: float = _PING_SECONDS) -> None:
        """Asks whether it is there. Raises EngineLost."""
        await self._wire.ask("GET", "/_ping", timeout=seconds)

    async def info(self) -> Info:
        """What machine it is on, and what is amiss with it."""
        return results.info(await self._wire.json("GET", "/info"))

    @property
    def published_host(self) -> str:
        """Where ports that it publishes on this machine's loopback can be reached: for an engine on another machine,
        there."""
        return "127.0.0.1" if self.endpoint.unix else self.endpoint.host

    def events(self, broken: Callable[[str], None] | None = None) -> AsyncIterator[Told]:
        """What happens from now on, over all breaks; begins with a `Resync`. `broken` is told of each break."""
        return Events(self._wire, self._clock, broken).follow()

    async def close(self) -> None:
        """Lets go of its connections, and of what is under way on them."""
        await self._wire.close()


def _numbers(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return (int(major) if major.isdigit() else 0, int(minor) if minor.isdigit() else 0)
