"""Networks and volumes of an engine."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from setpoint.workload.engine import results
from setpoint.workload.engine.containers import label_filter
from setpoint.workload.engine.errors import AlreadyConnected, NameTaken, NotConnected, NotFound
from setpoint.workload.engine.results import Network, Volume
from setpoint.workload.engine.wire import USUAL_SECONDS, Wire, segment


class Networks:
    """The networks of one engine."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def create(
        self,
        name: str,
        *,
        driver: str = "bridge",
        ipv6: bool = False,
        subnet: str = "",
        internal: bool = False,
        labels: Mapping[str, str] | None = None,
        attachable: bool = False,
        options: Mapping[str, str] | None = None,
        ipam: Mapping[str, Any] | None = None,
    ) -> str:
        """Creates a network and returns its id. `ipam` has the settings of addresses, as the engine's API names them.
        Raises NameTaken or SubnetsExhausted."""
        if await self.find(name) is not None:
            # Docker allows duplicate network names by default, and some versions ignore `CheckDuplicate`.
            raise NameTaken(409, f"network with name {name} already exists")
        body: dict[str, Any] = {
            "Name": name,
            "CheckDuplicate": True,
            "Driver": driver,
            "EnableIPv6": ipv6,
            "Internal": internal,
            "Labels": dict(labels or {}),
        }
        if attachable:
            body["Attachable"] = True
        if options:
            body["Options"] = dict(options)
        pools = [*([{"Subnet": subnet}] if subnet else ()), *((ipam or {}).get("Config") or ())]
        if pools or ipam:
            body["IPAM"] = {"Driver": "default", **(ipam or {}), "Config": pools}
        return str((await self._wire.json("POST", "/networks/create", body=body))["Id"])

    async def inspect(self, network: str) -> Network:
        """Returns a network with its containers. Raises NotFound."""
        return results.network(await self._wire.json("GET", f"/networks/{segment(network)}"))

    async def find(self, network: str) -> Network | None:
        """Returns a network, or None if missing."""
        try:
            return await self.inspect(network)
        except NotFound:
            return None

    async def list(self, *, labels: Mapping[str, str | None] | None = None) -> list[Network]:
        """Lists the networks with all of the labels (None: any value), without their containers."""
        found = await self._wire.json("GET", "/networks", {"filters": label_filter(labels)})
        return [results.network(each) for each in found]

    async def remove(self, network: str) -> None:
        """Removes a network; a missing network is not an error. Raises InUse while containers are connected."""
        with suppress(NotFound):
            await self._wire.request("DELETE", f"/networks/{segment(network)}")

    async def connect(
        self, network: str, container: str, aliases: Sequence[str] = (), settings: Mapping[str, Any] | None = None
    ) -> None:
        """Connects a container, with the addresses and options of `settings`; a connected container is not an
        error."""
        body = {"Container": container, "EndpointConfig": {"Aliases": list(aliases), **(settings or {})}}
        with suppress(AlreadyConnected):
            await self._wire.request("POST", f"/networks/{segment(network)}/connect", body=body)

    async def disconnect(self, network: str, container: str, *, force: bool = True) -> None:
        """Disconnects a container; a missing network, container or connection is not an error."""
        body = {"Container": container, "Force": force}
        with suppress(NotFound, NotConnected):
            await self._wire.request("POST", f"/networks/{segment(network)}/disconnect", body=body)


class Volumes:
    """The volumes of one engine."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def create(
        self,
        name: str,
        *,
        driver: str = "local",
        options: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Volume:
        """Creates a volume. Raises NameTaken."""
        if await self.find(name) is not None:
            # The engine would return the existing volume, even with other options.
            raise NameTaken(409, f"volume with name {name} already exists")
        body = {"Name": name, "Driver": driver, "DriverOpts": dict(options or {}), "Labels": dict(labels or {})}
        return results.volume(await self._wire.json("POST", "/volumes/create", body=body))

    async def inspect(self, name: str) -> Volume:
        """Returns a volume. Raises NotFound."""
        return results.volume(await self._wire.json("GET", f"/volumes/{segment(name)}"))

    async def find(self, name: str) -> Volume | None:
        """Returns a volume, or None if missing."""
        try:
            return await self.inspect(name)
        except NotFound:
            return None

    async def list(self, *, labels: Mapping[str, str | None] | None = None) -> list[Volume]:
        """Lists the volumes with all of the labels (None: any value)."""
        found = await self._wire.json("GET", "/volumes", {"filters": label_filter(labels)})
        return [results.volume(each) for each in found.get("Volumes") or ()]

    async def remove(self, name: str, *, force: bool = False) -> None:
        """Removes a volume; a missing volume is not an error. Raises InUse while a container uses the volume."""
        with suppress(NotFound):
            await self._wire.request("DELETE", f"/volumes/{segment(name)}", {"force": force}, timeout=USUAL_SECONDS)
