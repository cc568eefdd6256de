"""How a scripted engine answers for its containers, and the commands in them."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from tests.workload.engine.scripted.state import ScriptedContainer, ScriptedExec, has_labels
from tests.workload.engine.scripted.streams import frame

from setpoint.workload.engine.errors import error_from

if TYPE_CHECKING:
    from tests.workload.engine.scripted.engine import ScriptedEngine


class ContainerAnswers:
    """The answers, by operation: each is given a name, the query and the body."""

    def __init__(self, engine: "ScriptedEngine") -> None:
        self._engine = engine
        self.known: dict[str, Callable[[str, Mapping[str, Any], Any], object]] = {
            "containers.create": self._create,
            "containers.list": self._list,
            "containers.inspect": lambda name, query, body: self.container(name).inspected(),
            "containers.remove": self._remove,
            "containers.start": self._start,
            "containers.stop": self._stop,
            "containers.restart": self._restart,
            "containers.kill": self._kill,
            "containers.pause": lambda name, query, body: self._turn(name, "running", "paused", "pause"),
            "containers.unpause": lambda name, query, body: self._turn(name, "paused", "running", "unpause"),
            "containers.rename": self._rename,
            "containers.resize": lambda name, query, body: self.container(name) and None,
            "containers.update": self._update,
            "containers.stats": lambda name, query, body: self.container(name) and {},
            "containers.put_archive": self._put_archive,
            "containers.exec": self._exec,
            "exec.inspect": lambda name, query, body: engine.execs[name].inspected(),
            "exec.resize": lambda name, query, body: None,
        }

    def container(self, name: str) -> ScriptedContainer:
        """A container. Raises NotFound."""
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
        engine.image(body["Image"])
        made = ScriptedContainer(engine.new_id(), wanted, body, engine.clock.now())
        host = body.get("HostConfig") or {}
        endpoints = (body.get("NetworkingConfig") or {}).get("EndpointsConfig") or {}
        mode = host.get("NetworkMode") or "bridge"
        made.networks = {each: list(said.get("Aliases") or ()) for each, said in endpoints.items()} or {mode: []}
        for each in endpoints:
            self._engine.network(each)
        engine.containers[made.id] = made
        engine.tell("container", "create", made)
        return {"Id": made.id, "Warnings": []}

    def _list(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        found = self._engine.containers.values()
        every = bool(query.get("all"))
        return [each.summarised() for each in found if (every or each.is_running) and has_labels(each.body, query)]

    def _start(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        engine, container = self._engine, self.container(name)
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
        container.status, container.started = "running", engine.clock.now()
        if container.body.get("Healthcheck") or engine.image(container.body["Image"]).has_health_check:
            container.health = "starting"
        engine.tell("container", "start", container)
        engine.on_start(container)
        return None

    def _stop(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self.container(name)
        if container.is_running:
            self._engine.exit(container.id, 0)
            self._engine.tell("container", "stop", container)
        return None

    def _restart(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        self._stop(name, query, body)
        return self._start(name, query, body)

    def _kill(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self.container(name)
        if not container.is_running:
            raise error_from(409, f"Container {container.id} is not running")
        self._engine.tell("container", "kill", container, signal=str(query.get("signal")))
        if query.get("signal") in ("SIGKILL", "KILL", "9"):
            self._engine.exit(container.id, 137)
        return None

    def _turn(self, name: str, before: str, after: str, action: str) -> object:
        container = self.container(name)
        if container.status != before:
            raise error_from(409, f"Container {container.id} is not {before}")
        container.status = after
        self._engine.tell("container", action, container)
        return None

    def _rename(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self.container(name)
        if self._engine.find(query["name"]) is not None:
            raise error_from(409, f'The container name "/{query["name"]}" is already in use by another')
        container.name = query["name"]
        self._engine.tell("container", "rename", container)
        return None

    def _update(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self.container(name)
        container.body["HostConfig"] = {**(container.body.get("HostConfig") or {}), **body}
        self._engine.tell("container", "update", container)
        return {"Warnings": []}

    def _remove(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self.container(name)
        if container.is_running and not query.get("force"):
            raise error_from(409, f"cannot remove container {container.id}: it is running: stop it or force it")
        self._engine.remove(container.id)
        return None

    async def wait(self, container: ScriptedContainer) -> AsyncIterator[dict[str, Any]]:
        """The exit code, once it does not run."""
        while container.is_running:
            await self._engine.until_changed(container)
        yield {"StatusCode": container.exit_code}

    async def logs(
        self, container: ScriptedContainer, *, follow: bool, past: bool = True, timestamps: bool = False
    ) -> AsyncIterator[bytes]:
        """What it printed, and prints; with the time before each line, if that is wanted."""
        at = 0 if past else len(container.printed)
        while True:
            for source, data, when in container.printed[at:]:
                at += 1
                stamp = f"{when.isoformat()} ".encode() if timestamps else b""
                yield frame(source, b"".join(stamp + line for line in data.splitlines(keepends=True)))
            over = not container.is_running and container.status != "created"
            if not follow or over or container.id not in self._engine.containers:
                return
            await self._engine.until_changed(container)

    def _put_archive(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        self.container(name).archives.append((str(query["path"]), body))
        return None

    def _exec(self, name: str, query: Mapping[str, Any], body: Any) -> object:
        container = self.container(name)
        if not container.is_running:
            raise error_from(409, f"Container {container.id} is not running")
        made = ScriptedExec(self._engine.new_id(), container, body)
        self._engine.execs[made.id] = made
        return {"Id": made.id}
