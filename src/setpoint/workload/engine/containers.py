"""Containers of an engine. Asking for what is so already is fine: to start what runs, to stop what stopped, to remove
what is gone."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

from setpoint.workload.engine import results
from setpoint.workload.engine.attachment import Attached, Exec
from setpoint.workload.engine.errors import EngineError, EngineLost, NotFound
from setpoint.workload.engine.output_stream import Output, outputs
from setpoint.workload.engine.results import Container, ContainerSummary, Created, Stats
from setpoint.workload.engine.wire import SLOW_SECONDS, USUAL_SECONDS, Wire, json_lines, segment

# What an engine may take on top of the time that a container has to stop.
_STOP_MARGIN_SECONDS = 20.0


class Containers:
    """The containers of one engine."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def create(self, name: str, body: Mapping[str, Any], *, platform: str = "") -> Created:
        """Makes a container from what `create_body` says. Raises NameTaken, NoSuchImage."""
        query = {"name": name or None, "platform": platform or None}
        made = await self._wire.json("POST", "/containers/create", query, body=body, timeout=SLOW_SECONDS)
        return Created(made["Id"], tuple(made.get("Warnings") or ()))

    async def start(self, container: str) -> None:
        """Starts it. Raises AddressInUse where a port cannot be published."""
        await self._act(container, "start", timeout=SLOW_SECONDS)

    async def stop(self, container: str, *, seconds: int = 10) -> None:
        """Sends it its stop signal, and kills it where it has not stopped in time."""
        await self._act(container, "stop", {"t": seconds}, timeout=seconds + _STOP_MARGIN_SECONDS)

    async def restart(self, container: str, *, seconds: int = 10) -> None:
        await self._act(container, "restart", {"t": seconds}, timeout=seconds + _STOP_MARGIN_SECONDS)

    async def kill(self, container: str, signal: str = "SIGKILL") -> None:
        """Sends it a signal. Raises NotRunning."""
        await self._act(container, "kill", {"signal": signal})

    async def pause(self, container: str) -> None:
        await self._act(container, "pause")

    async def unpause(self, container: str) -> None:
        await self._act(container, "unpause")

    async def rename(self, container: str, name: str) -> None:
        """Gives it another name. Raises NameTaken."""
        await self._act(container, "rename", {"name": name})

    async def remove(self, container: str, *, force: bool = True, volumes: bool = True) -> None:
        """Removes it, and its anonymous volumes. It is fine if there is none."""
        query = {"force": force, "v": volumes}
        with suppress(NotFound):
            await self._wire.ask("DELETE", f"/containers/{segment(container)}", query, timeout=SLOW_SECONDS)

    async def inspect(self, container: str) -> Container:
        """What it is and does. Raises NotFound."""
        return results.container(await self._wire.json("GET", f"/containers/{segment(container)}/json"))

    async def find(self, container: str) -> Container | None:
        """What it is and does; None if there is none."""
        try:
            return await self.inspect(container)
        except NotFound:
            return None

    async def list(
        self, *, labels: Mapping[str, str | None] | None = None, every: bool = True
    ) -> list[ContainerSummary]:
        """Containers that have all of the labels (None: with any value); `every`: those that do not run, too."""
        query = {"all": every, "filters": label_filter(labels)}
        return [results.summary(each) for each in await self._wire.json("GET", "/containers/json", query)]

    async def wait(self, container: str, condition: str = "not-running") -> int:
        """The exit code, once it does not run (or as `condition` says: next-exit, removed)."""
        path = f"/containers/{segment(container)}/wait"
        # As a stream: it may take days, and must not count among the requests under way.
        async with self._wire.stream("POST", path, {"condition": condition}, timeout=None) as stream:
            async for ended in json_lines(stream):
                if said := (ended.get("Error") or {}).get("Message"):
                    raise EngineError(0, said)
                return int(ended["StatusCode"])
        raise EngineLost(f"the engine ended the wait for container {container} without a word")

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
    ) -> AsyncIterator[Output]:
        """What it printed and, followed, prints. `tty` saves asking whether it has a terminal."""
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
        """Its outputs from now on, and its input; `logs`: what it printed before, first. It need not run yet."""
        tty = (await self.inspect(container)).tty
        path = f"/containers/{segment(container)}"
        query = {"stream": True, "stdout": True, "stderr": True, "stdin": stdin, "logs": logs}
        async with self._wire.hijack(f"{path}/attach", query) as stream:
            yield Attached(self._wire, stream, f"{path}/resize", tty=tty)

    async def resize(self, container: str, columns: int, rows: int) -> None:
        """Gives its terminal another size."""
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
        """Runs a command in it. Leaving the context ends its streams, not the command. Raises NotRunning."""
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
        """Unpacks a tar archive at a directory that the container has. It need not run."""
        query = {"path": path, "noOverwriteDirNonDir": "true"}
        headers = {"content-type": "application/x-tar"}
        target = f"/containers/{segment(container)}/archive"
        await self._wire.ask("PUT", target, query, body=archive, headers=headers, timeout=SLOW_SECONDS)

    async def get_archive(self, container: str, path: str) -> bytes:
        """A tar archive of a file or directory. Raises NotFound."""
        target = f"/containers/{segment(container)}/archive"
        return (await self._wire.ask("GET", target, {"path": path}, timeout=SLOW_SECONDS)).body

    async def stats(self, container: str) -> Stats:
        """What it uses now."""
        path = f"/containers/{segment(container)}/stats"
        return results.stats(await self._wire.json("GET", path, {"stream": "false", "one-shot": True}))

    async def update(self, container: str, changes: Mapping[str, Any]) -> None:
        """Changes limits and the restart policy while it runs; `changes` are fields of the engine's HostConfig."""
        await self._wire.ask("POST", f"/containers/{segment(container)}/update", body=changes)

    async def check_health(self, container: str) -> str:
        """Runs the health check once, where the engine (Podman) leaves that to others: `healthy`, `unhealthy`. Raises
        NotFound where the engine runs it by itself, NotRunning."""
        path = f"/libpod/containers/{segment(container)}/healthcheck"
        return str((await self._wire.json("GET", path, timeout=SLOW_SECONDS)).get("Status") or "")

    async def _act(
        self, container: str, verb: str, query: Mapping[str, str | int] | None = None, timeout: float = USUAL_SECONDS
    ) -> None:
        await self._wire.ask("POST", f"/containers/{segment(container)}/{verb}", query, timeout=timeout)


def label_filter(labels: Mapping[str, str | None] | None) -> str | None:
    """The filter that engines take for labels."""
    if not labels:
        return None
    return json.dumps({"label": [name if value is None else f"{name}={value}" for name, value in labels.items()]})


def _seconds(when: datetime | None) -> str | None:
    return None if when is None else f"{when.timestamp():.9f}"
