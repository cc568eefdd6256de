"""The containers of an engine. Operations are idempotent: starting a running, stopping a stopped, or removing a removed
container is not an error."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

from setpoint.workload.engine import results
from setpoint.workload.engine.attachment import Attached, Exec
from setpoint.workload.engine.errors import EngineError, EngineLost, NotFound
from setpoint.workload.engine.output_stream import OutputChunk, outputs
from setpoint.workload.engine.results import Container, ContainerSummary, Created, Stats
from setpoint.workload.engine.wire import SLOW_SECONDS, USUAL_SECONDS, Wire, json_lines, segment

# The time for the engine in addition to the container's stop timeout.
_STOP_MARGIN_SECONDS = 20.0


class Containers:
    """The containers of one engine."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def create(self, name: str, body: Mapping[str, Any], *, platform: str = "") -> Created:
        """Creates a container from the body of `create_body`. Raises NameTaken or NoSuchImage."""
        query = {"name": name or None, "platform": platform or None}
        made = await self._wire.json("POST", "/containers/create", query, body=body, timeout=SLOW_SECONDS)
        return Created(made["Id"], tuple(made.get("Warnings") or ()))

    async def start(self, container: str) -> None:
        """Starts a container. Raises AddressInUse if a port cannot be published."""
        await self._act(container, "start", timeout=SLOW_SECONDS)

    async def stop(self, container: str, *, seconds: int = 10) -> None:
        """Sends the stop signal, and kills the container after the timeout."""
        await self._act(container, "stop", {"t": seconds}, timeout=seconds + _STOP_MARGIN_SECONDS)

    async def restart(self, container: str, *, seconds: int = 10) -> None:
        await self._act(container, "restart", {"t": seconds}, timeout=seconds + _STOP_MARGIN_SECONDS)

    async def kill(self, container: str, signal: str = "SIGKILL") -> None:
        """Sends a signal. Raises NotRunning."""
        await self._act(container, "kill", {"signal": signal})

    async def pause(self, container: str) -> None:
        await self._act(container, "pause")

    async def unpause(self, container: str) -> None:
        await self._act(container, "unpause")

    async def rename(self, container: str, name: str) -> None:
        """Renames a container. Raises NameTaken."""
        await self._act(container, "rename", {"name": name})

    async def remove(self, container: str, *, force: bool = True, volumes: bool = True) -> None:
        """Removes a container and its anonymous volumes. A missing container is not an error."""
        query = {"force": force, "v": volumes}
        with suppress(NotFound):
            await self._wire.request("DELETE", f"/containers/{segment(container)}", query, timeout=SLOW_SECONDS)

    async def inspect(self, container: str) -> Container:
        """Returns the state of a container. Raises NotFound."""
        return results.container(await self._wire.json("GET", f"/containers/{segment(container)}/json"))

    async def find(self, container: str) -> Container | None:
        """Returns the state of a container, or None if missing."""
        try:
            return await self.inspect(container)
        except NotFound:
            return None

    async def list(
        self, *, labels: Mapping[str, str | None] | None = None, every: bool = True
    ) -> list[ContainerSummary]:
        """Lists the containers with all of the labels (None: any value); with `every`, also those that are not
        running."""
        query = {"all": every, "filters": label_filter(labels)}
        return [results.summary(each) for each in await self._wire.json("GET", "/containers/json", query)]

    async def wait(self, container: str, condition: str = "not-running") -> int:
        """Waits until the container is not running (or for `condition`: next-exit, removed). Returns its exit code."""
        path = f"/containers/{segment(container)}/wait"
        # As a stream: the wait may take days, and must not count among the concurrent requests.
        async with self._wire.stream("POST", path, {"condition": condition}, timeout=None) as stream:
            async for ended in json_lines(stream):
                if message := (ended.get("Error") or {}).get("Message"):
                    raise EngineError(0, message)
                return int(ended["StatusCode"])
        raise EngineLost(f"the engine ended the wait for container {container} without a result")

    async def logs(
        self,
        container: str,
        *,
        follow: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        tail: int | None = None,
        timestamps: bool = False,
        tty: bool | None = None,
    ) -> AsyncIterator[OutputChunk]:
        """Yields the past output and, with `follow`, the future output. `tty` saves a request for the container's
        terminal setting."""
        if tty is None:
            tty = (await self.inspect(container)).tty
        query: dict[str, str | int | bool | None] = {
            "stdout": True,
            "stderr": True,
            "follow": follow,
            "since": _seconds(since),
            "until": _seconds(until),
            "tail": tail,
            "timestamps": timestamps,
        }
        async with self._wire.stream("GET", f"/containers/{segment(container)}/logs", query) as stream:
            async for output in outputs(stream, tty=tty):
                yield output

    @asynccontextmanager
    async def attach(self, container: str, *, stdin: bool = False, logs: bool = False) -> AsyncIterator[Attached]:
        """Attaches to the output from now on and the input; with `logs`, the earlier output comes first. The container
        may be not running yet."""
        tty = (await self.inspect(container)).tty
        path = f"/containers/{segment(container)}"
        query = {"stream": True, "stdout": True, "stderr": True, "stdin": stdin, "logs": logs}
        async with self._wire.hijack(f"{path}/attach", query) as stream:
            yield Attached(self._wire, stream, f"{path}/resize", tty=tty)

    async def resize(self, container: str, columns: int, rows: int) -> None:
        """Resizes the terminal."""
        await self._act(container, "resize", {"w": columns, "h": rows})

    @asynccontextmanager
    async def exec(
        self,
        container: str,
        command: Sequence[str],
        *,
        env: Sequence[str] = (),
        directory: str = "",
        user: str = "",
        stdin: bool = False,
        tty: bool = False,
        privileged: bool = False,
    ) -> AsyncIterator[Exec]:
        """Runs a command in the container. Leaving the context closes the streams, but does not end the command. Raises
        NotRunning."""
        body = {
            "Cmd": list(command),
            "Env": list(env),
            "WorkingDir": directory,
            "User": user,
            "AttachStdin": stdin,
            "AttachStdout": True,
            "AttachStderr": True,
            "Tty": tty,
            "Privileged": privileged,
        }
        body = {name: value for name, value in body.items() if value}
        made = await self._wire.json("POST", f"/containers/{segment(container)}/exec", body=body)
        async with self._wire.hijack(f"/exec/{made['Id']}/start", body={"Detach": False, "Tty": tty}) as stream:
            yield Exec(self._wire, stream, made["Id"], tty=tty)

    async def put_archive(self, container: str, path: str, archive: bytes) -> None:
        """Unpacks a tar archive at an existing directory of the container, running or not."""
        query = {"path": path, "noOverwriteDirNonDir": "true"}
        headers = {"content-type": "application/x-tar"}
        target = f"/containers/{segment(container)}/archive"
        await self._wire.request("PUT", target, query, body=archive, headers=headers, timeout=SLOW_SECONDS)

    async def get_archive(self, container: str, path: str) -> bytes:
        """Returns a tar archive of a file or directory. Raises NotFound."""
        target = f"/containers/{segment(container)}/archive"
        return (await self._wire.request("GET", target, {"path": path}, timeout=SLOW_SECONDS)).body

    async def stats(self, container: str) -> Stats:
        """Returns the current resource usage."""
        path = f"/containers/{segment(container)}/stats"
        return results.stats(await self._wire.json("GET", path, {"stream": "false", "one-shot": True}))

    async def update(self, container: str, changes: Mapping[str, Any]) -> None:
        """Changes limits and the restart policy of a running container; `changes` are fields of the engine's
        HostConfig."""
        await self._wire.request("POST", f"/containers/{segment(container)}/update", body=changes)

    async def check_health(self, container: str) -> str:
        """Runs the health check once, for engines (Podman) without a scheduler. Returns `healthy` or `unhealthy`.
        Raises NotFound if the engine schedules health checks, and NotRunning."""
        path = f"/libpod/containers/{segment(container)}/healthcheck"
        return str((await self._wire.json("GET", path, timeout=SLOW_SECONDS)).get("Status") or "")

    async def _act(
        self, container: str, verb: str, query: Mapping[str, str | int] | None = None, timeout: float = USUAL_SECONDS
    ) -> None:
        await self._wire.request("POST", f"/containers/{segment(container)}/{verb}", query, timeout=timeout)


def label_filter(labels: Mapping[str, str | None] | None) -> str | None:
    """Returns the engine's filter for labels."""
    if not labels:
        return None
    return json.dumps({"label": [name if value is None else f"{name}={value}" for name, value in labels.items()]})


def _seconds(when: datetime | None) -> str | None:
    return None if when is None else f"{when.timestamp():.9f}"
