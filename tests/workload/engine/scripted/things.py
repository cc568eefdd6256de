"""How a scripted engine answers for its images, networks and volumes."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from tests.workload.engine.scripted.state import ScriptedContainer, ScriptedNetwork, ScriptedVolume, has_labels

from setpoint.client.transport import TransportError
from setpoint.workload.engine.errors import error_from

if TYPE_CHECKING:
    from tests.workload.engine.scripted.engine import ScriptedEngine


class ThingAnswers:
    """The answers, by operation: each is given a name, the query and the body."""

    def __init__(self, engine: "ScriptedEngine", container: Callable[[str], ScriptedContainer]) -> None:
        self._engine = engine
        self._container = container
        self.known: dict[str, Callable[[str, Mapping[str, Any], Any], object]] = {
            "images.inspect": lambda name, query, body: engine.image(name).inspected(),
            "images.tag": self._tag,
            "images.remove": self._remove_image,
            "networks.create": self._create_network,
            "networks.list": lambda name, query, body: [
                self._told(each) for each in engine.networks.values() if has_labels(each.body, query)
            ],
            "networks.inspect": lambda name, query, body: self._told(self._engine.network(name)),
            "networks.remove": self._remove_network,
            "networks.connect": self._connect,
            "networks.disconnect": self._disconnect,
            "volumes.create": self._create_volume,
            "volumes.list": lambda name, query, body: {
                "Volumes": [each.inspected() for each in engine.volumes.values() if has_labels(each.body, query)]
            },
            "volumes.inspect": lambda name, query, body: self._volume(name).inspected(),
            "volumes.remove": self._remove_volume,
            "info": lambda name, query, body: {"Driver": "memory", "OSType": "linux", "Architecture": "x86_64"},
            "ping": lambda name, query, body: {"ApiVersion": "1.47", "Version": "scripted"},
        }

    # Images.

    def _tag(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        self._engine.images[f"{query['repo']}:{query['tag']}"] = self._engine.image(name)
        return None

    def _remove_image(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        gone = self._engine.image(name)
        self._engine.images = {known: each for known, each in self._engine.images.items() if each is not gone}
        return None

    async def pull(self, image: str) -> AsyncIterator[dict[str, Any]]:
        """What is told while an image is pulled."""
        engine = self._engine
        yield {"status": f"Pulling from {image}"}
        known = engine.registry.get(image) or engine.registry.get(image.removesuffix(":latest"))
        if known is None:
            yield {"error": f"manifest for {image} not found: manifest unknown"}
            return
        yield {"status": "Downloading", "id": "layer1", "progressDetail": {"current": 50, "total": 100}}
        if engine.takes_cut(image):
            raise TransportError("the connection broke in the middle of the pull", sent=True)
        yield {"status": "Pull complete", "id": "layer1", "progressDetail": {}}
        engine.images[known.name] = known

    async def build(self, query: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """What is told while an image is built."""
        engine = self._engine
        yield {"stream": "Step 1/1 : FROM scratch\n"}
        if engine.failing_build:
            for line in engine.failing_build:
                yield {"stream": f"{line}\n"}
            yield {"error": "The command returned a non-zero code: 1"}
        labels = json.loads(str(query.get("labels") or "{}"))
        tags = list(query.get("t") or ())
        for tag in tags or [engine.new_id("sha256:")]:
            engine.add_image(tag, labels=labels)
            yield {"aux": {"ID": engine.images[tag].id}}

    # Networks and volumes.

    def _told(self, network: ScriptedNetwork) -> dict[str, Any]:
        members = [each.id for each in self._engine.containers.values() if network.name in each.networks]
        return network.inspected(members)

    def _create_network(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        engine = self._engine
        if len(engine.networks) >= engine.max_networks:
            raise error_from(400, "all predefined address pools have been fully subnetted")
        wanted = ((body.get("IPAM") or {}).get("Config") or [{}])[0].get("Subnet", "").removesuffix(".0/24")
        made = ScriptedNetwork(engine.new_id(), body["Name"], body, wanted or f"10.90.{len(engine.networks)}")
        engine.networks[made.id] = made
        engine.tell("network", "create", made)
        return {"Id": made.id}

    def _remove_network(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        network = self._engine.network(name)
        if self._told(network)["Containers"]:
            raise error_from(403, f"error while removing network: network {name} has active endpoints")
        del self._engine.networks[network.id]
        self._engine.tell("network", "destroy", network)
        return None

    def _connect(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        network, container = self._engine.network(name), self._container(body["Container"])
        if network.name in container.networks:
            raise error_from(403, f"endpoint with name {container.name} already exists in network {network.name}")
        container.networks[network.name] = list((body.get("EndpointConfig") or {}).get("Aliases") or ())
        self._engine.tell("network", "connect", network, container=container.id)
        return None

    def _disconnect(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        network, container = self._engine.network(name), self._container(body["Container"])
        if container.networks.pop(network.name, None) is None:
            raise error_from(500, f"container {container.id} is not connected to network {network.name}")
        self._engine.tell("network", "disconnect", network, container=container.id)
        return None

    def _volume(self, name: str) -> ScriptedVolume:
        if name not in self._engine.volumes:
            raise error_from(404, f"get {name}: no such volume")
        return self._engine.volumes[name]

    def _create_volume(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        made = self._engine.volumes[body["Name"]] = ScriptedVolume(body["Name"], body)
        return made.inspected()

    def _remove_volume(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        self._volume(name)
        for each in self._engine.containers.values():
            mounts = (each.body.get("HostConfig") or {}).get("Mounts") or ()
            if any(mount.get("Type") == "volume" and mount.get("Source") == name for mount in mounts):
                raise error_from(409, f"remove {name}: volume is in use - [{each.id}]")
        del self._engine.volumes[name]
        return None
