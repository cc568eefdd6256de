"""How a scripted engine answers the requests of the real client."""

import asyncio
import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from setpoint.client.http.endpoint import Endpoint
from setpoint.client.transport import Answer, Stream, TransportError
from setpoint.workload.engine.errors import EngineLost, error_from
from setpoint.workload.engine.scripted.state import ScriptedContainer, ScriptedExec, ScriptedNetwork, ScriptedVolume
from setpoint.workload.engine.wire import USUAL_SECONDS, ByteStream, Query, Wire

if TYPE_CHECKING:
    from setpoint.workload.engine.scripted.engine import ScriptedEngine

_ROUTES = (
    ("POST", r"/containers/create", "containers.create"),
    ("GET", r"/containers/json", "containers.list"),
    ("GET", r"/containers/(?P<name>[^/]+)/json", "containers.inspect"),
    ("DELETE", r"/containers/(?P<name>[^/]+)", "containers.remove"),
    ("GET", r"/containers/(?P<name>[^/]+)/archive", "containers.get_archive"),
    ("PUT", r"/containers/(?P<name>[^/]+)/archive", "containers.put_archive"),
    ("GET", r"/containers/(?P<name>[^/]+)/logs", "containers.logs"),
    ("GET", r"/containers/(?P<name>[^/]+)/stats", "containers.stats"),
    ("POST", r"/containers/(?P<name>[^/]+)/exec", "containers.exec"),
    ("POST", r"/containers/(?P<name>[^/]+)/(?P<verb>[a-z]+)", "containers.{verb}"),
    ("POST", r"/exec/(?P<name>[^/]+)/start", "exec.start"),
    ("POST", r"/exec/(?P<name>[^/]+)/resize", "exec.resize"),
    ("GET", r"/exec/(?P<name>[^/]+)/json", "exec.inspect"),
    ("POST", r"/images/create", "images.pull"),
    ("GET", r"/images/(?P<name>.+)/json", "images.inspect"),
    ("POST", r"/images/(?P<name>.+)/tag", "images.tag"),
    ("DELETE", r"/images/(?P<name>.+)", "images.remove"),
    ("POST", r"/build", "images.build"),
    ("POST", r"/networks/create", "networks.create"),
    ("GET", r"/networks", "networks.list"),
    ("POST", r"/networks/(?P<name>[^/]+)/(?P<verb>connect|disconnect)", "networks.{verb}"),
    ("GET", r"/networks/(?P<name>[^/]+)", "networks.inspect"),
    ("DELETE", r"/networks/(?P<name>[^/]+)", "networks.remove"),
    ("POST", r"/volumes/create", "volumes.create"),
    ("GET", r"/volumes", "volumes.list"),
    ("GET", r"/volumes/(?P<name>[^/]+)", "volumes.inspect"),
    ("DELETE", r"/volumes/(?P<name>[^/]+)", "volumes.remove"),
    ("GET", r"/events", "events"),
    ("GET", r"/_ping", "ping"),
    ("GET", r"/version", "ping"),
    ("GET", r"/info", "info"),
)
_COMPILED = tuple((method, re.compile(f"{pattern}$"), name) for method, pattern, name in _ROUTES)
_SOURCES = {"stdin": 0, "stdout": 1, "stderr": 2}


class ScriptedWire(Wire):
    """The way to a scripted engine."""

    def __init__(self, engine: "ScriptedEngine") -> None:
        self.endpoint = Endpoint("localhost", 80, unix="/scripted")
        self.prefix = ""
        self.engine = "docker"
        self._engine = engine
        self._answers: dict[str, Callable[[str, Mapping[str, Any], Any], object]] = {
            "containers.create": self._create,
            "containers.list": self._list,
            "containers.inspect": lambda name, query, body: self._container(name).inspected(),
            "containers.remove": self._remove,
            "containers.start": self._start,
            "containers.stop": self._stop,
            "containers.restart": self._restart,
            "containers.kill": self._kill,
            "containers.pause": lambda name, query, body: self._turn(name, "running", "paused", "pause"),
            "containers.unpause": lambda name, query, body: self._turn(name, "paused", "running", "unpause"),
            "containers.rename": self._rename,
            "containers.resize": lambda name, query, body: self._container(name) and None,
            "containers.update": self._update,
            "containers.stats": lambda name, query, body: self._container(name) and {},
            "containers.put_archive": self._put_archive,
            "containers.exec": self._exec,
            "exec.inspect": lambda name, query, body: engine.execs[name].inspected(),
            "exec.resize": lambda name, query, body: None,
            "images.inspect": self._inspect_image,
            "images.tag": self._tag,
            "images.remove": lambda name, query, body: engine.images.pop(name, None) and None,
            "networks.create": self._create_network,
            "networks.list": lambda name, query, body: [
                self._told(each) for each in engine.networks.values() if _has(each.body, query)
            ],
            "networks.inspect": lambda name, query, body: self._told(self._network(name)),
            "networks.remove": self._remove_network,
            "networks.connect": self._connect,
            "networks.disconnect": self._disconnect,
            "volumes.create": self._create_volume,
            "volumes.list": lambda name, query, body: {
                "Volumes": [each.inspected() for each in engine.volumes.values() if _has(each.body, query)]
            },
            "volumes.inspect": lambda name, query, body: self._volume(name).inspected(),
            "volumes.remove": self._remove_volume,
            "info": lambda name, query, body: {"Driver": "memory", "OSType": "linux", "Architecture": "x86_64"},
            "ping": lambda name, query, body: {"ApiVersion": "1.47", "Version": "scripted"},
        }

    async def close(self) -> None:
        pass

    async def ask(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = USUAL_SECONDS,
    ) -> Answer:
        operation, name = _operation(method, path)
        await self._engine.meet(operation, name or str((query or {}).get("name") or _named(body)))
        if operation == "containers.wait":
            return _answer(await self._wait(name))
        answer = self._answers.get(operation)
        if answer is None:
            raise error_from(501, f"the scripted engine does not do {operation}")
        return _answer(answer(name, query or {}, body))

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: object = None,
        pieces: AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = USUAL_SECONDS,
    ) -> AsyncIterator[Stream]:
        operation, name = _operation(method, path)
        query = query or {}
        about = name or str(query.get("fromImage") or query.get("t") or "")
        await self._engine.meet(operation, about)
        async for _ in _all(pieces):
            pass
        try:
            if operation == "events":
                since = query.get("since")
                async with self._engine.followed(None if since is None else int(str(since))) as events:
                    yield _Pieces(_encoded(events))
            elif operation == "containers.logs":
                yield _Pieces(self._logs(self._container(name), follow=bool(query.get("follow"))))
            elif operation == "images.pull":
                yield _Pieces(_encoded(self._pull(f"{query['fromImage']}:{query['tag']}")))
            elif operation == "images.build":
                yield _Pieces(_encoded(self._build(query)))
            else:
                raise error_from(501, f"the scripted engine does not do {operation}")
        except TransportError as error:
            raise EngineLost(str(error)) from None

    @asynccontextmanager
    async def hijack(self, path: str, query: Query | None = None, *, body: object = None) -> AsyncIterator[ByteStream]:
        operation, name = _operation("POST", path)
        await self._engine.meet(operation, name)
        if operation == "exec.start":
            yield _ExecStream(self._engine, self._engine.execs[name])
            return
        container = self._container(name)
        yield _AttachedStream(self._logs(container, follow=True, past=False), container)

    # Containers.

    def _container(self, name: str) -> ScriptedContainer:
        found = self._engine.find(name)
        if found is None:
            raise error_from(404, f"No such container: {name}")
        return found

    def _create(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        engine = self._engine
        wanted = query.get("name") or f"made-{len(engine.containers) + 1}"
        taken = engine.find(wanted)
        if taken is not None:
            message = f'The container name "/{wanted}" is already in use by container "{taken.id}"'
            raise error_from(409, message)
        if body["Image"] not in engine.images:
            raise error_from(404, f"No such image: {body['Image']}")
        made = ScriptedContainer(engine.new_id(), wanted, body, engine.clock.now())
        host = body.get("HostConfig") or {}
        endpoints = (body.get("NetworkingConfig") or {}).get("EndpointsConfig") or {}
        mode = host.get("NetworkMode") or "bridge"
        made.networks = {each: list(said.get("Aliases") or ()) for each, said in endpoints.items()} or {mode: []}
        for each in endpoints:
            self._network(each)
        engine.containers[made.id] = made
        engine.tell("container", "create", made)
        return {"Id": made.id, "Warnings": []}

    def _list(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        found = self._engine.containers.values()
        every = bool(query.get("all"))
        return [each.summarised() for each in found if (every or each.is_running) and _has(each.body, query)]

    def _start(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        engine, container = self._engine, self._container(name)
        if container.is_running:
            return None
        bindings = (container.body.get("HostConfig") or {}).get("PortBindings") or {}
        ports: dict[str, list[dict[str, str]]] = {}
        for key, wanted in bindings.items():
            for each in wanted:
                port = each.get("HostPort") or engine.new_port()
                if int(port) in engine.busy_ports:
                    message = f"failed to bind host port {each.get('HostIp')}:{port}/tcp: address already in use"
                    raise error_from(500, message)
                ports.setdefault(key, []).append({"HostIp": each.get("HostIp", ""), "HostPort": port})
        container.ports = ports
        container.status, container.started, container.finished = "running", engine.clock.now(), None
        image = engine.images.get(container.body["Image"])
        if container.body.get("Healthcheck") or (image is not None and image.has_health_check):
            container.health = "starting"
        engine.tell("container", "start", container)
        engine.on_start(container)
        return None

    def _stop(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self._container(name)
        if container.is_running:
            self._engine.exit(container.id, 0)
            self._engine.tell("container", "stop", container)
        return None

    def _restart(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        self._stop(name, query, body)
        return self._start(name, query, body)

    def _kill(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self._container(name)
        if not container.is_running:
            raise error_from(409, f"Container {container.id} is not running")
        self._engine.tell("container", "kill", container, signal=str(query.get("signal")))
        if query.get("signal") in ("SIGKILL", "KILL", "9"):
            self._engine.exit(container.id, 137)
        return None

    def _turn(self, name: str, before: str, after: str, action: str) -> object:
        container = self._container(name)
        if container.status != before:
            raise error_from(409, f"Container {container.id} is not {before}")
        container.status = after
        self._engine.tell("container", action, container)
        return None

    def _rename(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self._container(name)
        if self._engine.find(query["name"]) is not None:
            raise error_from(409, f'The container name "/{query["name"]}" is already in use by another')
        container.name = query["name"]
        self._engine.tell("container", "rename", container)
        return None

    def _update(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self._container(name)
        container.body["HostConfig"] = {**(container.body.get("HostConfig") or {}), **body}
        self._engine.tell("container", "update", container)
        return {"Warnings": []}

    def _remove(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self._container(name)
        if container.is_running and not query.get("force"):
            raise error_from(409, f"cannot remove container {container.id}: it is running: stop it or force it")
        self._engine.remove(container.id)
        return None

    async def _wait(self, name: str) -> object:
        container = self._container(name)
        try:
            while container.is_running or (container.status == "created" and container.id in self._engine.containers):
                await self._engine.until_changed(container)
        except TransportError as error:
            raise EngineLost(str(error)) from None
        return {"StatusCode": container.exit_code}

    async def _logs(self, container: ScriptedContainer, *, follow: bool, past: bool = True) -> AsyncIterator[bytes]:
        at = 0 if past else len(container.printed)
        while True:
            for source, data in container.printed[at:]:
                at += 1
                yield _frame(source, data)
            over = not container.is_running and container.status != "created"
            if not follow or over or container.id not in self._engine.containers:
                return
            await self._engine.until_changed(container)

    def _put_archive(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        self._container(name).archives.append((str(query["path"]), body))
        return None

    def _exec(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self._container(name)
        if not container.is_running:
            raise error_from(409, f"Container {container.id} is not running")
        made = ScriptedExec(self._engine.new_id(), container, body)
        self._engine.execs[made.id] = made
        return {"Id": made.id}

    # Images.

    def _inspect_image(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        for each in self._engine.images.values():
            if name in (each.name, each.id) or f"{name}:latest" == each.name:
                return each.inspected()
        raise error_from(404, f"No such image: {name}")

    def _tag(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        known = self._engine.images.get(name)
        if known is None:
            raise error_from(404, f"No such image: {name}")
        self._engine.images[f"{query['repo']}:{query['tag']}"] = known
        return None

    async def _pull(self, image: str) -> AsyncIterator[dict[str, Any]]:
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

    async def _build(self, query: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        engine = self._engine
        yield {"stream": "Step 1/1 : FROM scratch\n"}
        labels = json.loads(str(query.get("labels") or "{}"))
        tags = list(query.get("t") or ())
        for tag in tags or [engine.new_id("sha256:")]:
            engine.add_image(tag, labels=labels)
            yield {"aux": {"ID": engine.images[tag].id}}

    # Networks and volumes.

    def _network(self, name: str) -> ScriptedNetwork:
        for each in self._engine.networks.values():
            if name in (each.id, each.name):
                return each
        raise error_from(404, f"network {name} not found: No such network")

    def _told(self, network: ScriptedNetwork) -> dict[str, Any]:
        members = [each.id for each in self._engine.containers.values() if network.name in each.networks]
        return network.inspected(members)

    def _create_network(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        engine = self._engine
        if len(engine.networks) >= engine.max_networks:
            raise error_from(400, "all predefined address pools have been fully subnetted")
        made = ScriptedNetwork(engine.new_id(), body["Name"], body, f"10.90.{len(engine.networks)}")
        engine.networks[made.id] = made
        engine.tell("network", "create", made)
        return {"Id": made.id}

    def _remove_network(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        network = self._network(name)
        if self._told(network)["Containers"]:
            raise error_from(403, f"error while removing network: network {name} has active endpoints")
        del self._engine.networks[network.id]
        self._engine.tell("network", "destroy", network)
        return None

    def _connect(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        network, container = self._network(name), self._container(body["Container"])
        if network.name in container.networks:
            raise error_from(403, f"endpoint with name {container.name} already exists in network {network.name}")
        container.networks[network.name] = list((body.get("EndpointConfig") or {}).get("Aliases") or ())
        self._engine.tell("network", "connect", network, container=container.id)
        return None

    def _disconnect(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        network, container = self._network(name), self._container(body["Container"])
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


class _Pieces:
    """An answer that comes bit by bit."""

    answer = Answer(200)

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    def cut(self, why: str) -> None:
        pass


class _AttachedStream:
    """The input and outputs of a container."""

    def __init__(self, pieces: AsyncIterator[bytes], container: ScriptedContainer) -> None:
        self._pieces = pieces
        self._container = container

    async def read(self) -> bytes:
        return await anext(self._pieces, b"")

    async def write(self, data: bytes) -> None:
        self._container.heard += data

    def write_eof(self) -> None:
        pass


class _ExecStream:
    """A command: what it prints is read once its input has ended, or there is none."""

    def __init__(self, engine: "ScriptedEngine", run: ScriptedExec) -> None:
        self._engine = engine
        self._run = run
        self._ended = asyncio.Event()
        if not run.body.get("AttachStdin"):
            self._ended.set()

    async def read(self) -> bytes:
        if self._run.exit_code is not None:
            return b""
        await self._ended.wait()
        ran = self._engine.on_exec(self._run.container, self._run.body["Cmd"])
        self._run.exit_code = ran.code
        printed = b"".join(_frame(source, data) for source, data in (("stdout", ran.stdout), ("stderr", ran.stderr)))
        return ran.stdout + ran.stderr if self._run.body.get("Tty") else printed

    async def write(self, data: bytes) -> None:
        self._run.container.heard += data

    def write_eof(self) -> None:
        self._ended.set()


def _operation(method: str, path: str) -> tuple[str, str]:
    for expected, pattern, operation in _COMPILED:
        found = pattern.match(path) if method == expected else None
        if found is not None:
            parts = found.groupdict()
            return operation.format(verb=parts.get("verb", "")), unquote(parts.get("name") or "")
    raise error_from(501, f"the scripted engine does not know {method} {path}")


def _named(body: object) -> str:
    return str(body.get("Name") or "") if isinstance(body, dict) else ""


def _has(body: Mapping[str, Any], query: Mapping[str, Any]) -> bool:
    """Whether a thing has the labels that a filter names."""
    labels = body.get("Labels") or {}
    for wanted in json.loads(query.get("filters") or "{}").get("label", ()):
        name, equals, value = wanted.partition("=")
        if name not in labels or (equals and labels[name] != value):
            return False
    return True


def _answer(said: object) -> Answer:
    return Answer(204) if said is None else Answer(200, {}, json.dumps(said).encode())


def _frame(source: str, data: bytes) -> bytes:
    return bytes((_SOURCES[source], 0, 0, 0)) + len(data).to_bytes(4) + data if data else b""


async def _encoded(messages: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    async for message in messages:
        yield json.dumps(message).encode() + b"\n"


async def _all(pieces: AsyncIterable[bytes] | None) -> AsyncIterator[bytes]:
    if pieces is not None:
        async for piece in pieces:
            yield piece
