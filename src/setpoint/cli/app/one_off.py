"""Runs one-off commands of services: `setpoint run --service`, and `setpoint exec` for processes."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import FAILED, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object
    from setpoint.session.one_off import OneOff

_LOOK_SECONDS = 0.05
# After this time, the command prints the dependency that a one-off waits for.
_PATIENCE_SECONDS = 1.0
_GONE_SECONDS = 60.0
_PENDING = ("", "Pending", "Starting", "Building", "RuntimeUnhealthy")
_OVER = ("Finished", "Terminated", "FailedToStart", "Exited", "Unknown", "NotFound")


async def run_one_off(
    client: "Client", service: "Object", how: "OneOff", word: str = "run", *, keeps: bool = False
) -> int:
    """Runs a one-off of a service and returns its exit code. Deletes the object afterwards unless `keeps`. Raises
    Failure."""
    from setpoint.objects import meta
    from setpoint.objects.ids import SystemIds
    from setpoint.session.isolated_ports import free_port
    from setpoint.session.one_off import ONE_OFF_OF, one_off

    made = one_off(service, "", how, free_port)
    if made["kind"] == "Container" and how.stdin and how.terminal is None:
        raise Failure("-i without a terminal applies to processes: for a container, use `setpoint exec -T`", USAGE)
    made["metadata"]["name"] = f"{meta.annotations(made)[ONE_OFF_OF]}-{word}-{SystemIds().suffix()}"
    created: Object = await client.create(made)
    try:
        code = await _OneOffRun(client, created, how).to_its_end()
    except BaseException:
        await asyncio.shield(_delete(client, created))
        raise
    if keeps:
        echo(f"{meta.name(created)} is kept · `setpoint logs {meta.name(created)}` shows its output", err=True)
    else:
        await asyncio.shield(_delete(client, created))
    return code


async def _delete(client: "Client", tree: "Object") -> None:
    from setpoint.client.kinds import ref_of
    from setpoint.objects import meta
    from setpoint.objects.errors import NotFound

    with suppress(NotFound):
        await client.delete(ref_of(tree), meta.name(tree))
        await client.wait_for(ref_of(tree), meta.name(tree), until="delete", timeout=_GONE_SECONDS)


class _OneOffRun:
    """One run of a one-off."""

    def __init__(self, client: "Client", tree: "Object", how: "OneOff") -> None:
        from setpoint.client.kinds import ref_of
        from setpoint.objects import meta

        self._client, self._tree, self._how = client, tree, how
        self._kind, self._name = ref_of(tree), meta.name(tree)

    async def to_its_end(self) -> int:
        """Copies output and input until the end, and returns the exit code. Raises Failure."""
        from setpoint.cli.app.run import copy_output

        if self._how.terminal is not None:
            await self._begun()
            await self._attach(with_terminal=True)
        else:
            feeding = asyncio.ensure_future(self._feed()) if self._how.stdin else None
            waiting = asyncio.ensure_future(self._begun())
            try:
                await copy_output(self._client, self._tree)
            finally:
                for task in (waiting, feeding):
                    if task is not None:
                        task.cancel()
                        with suppress(asyncio.CancelledError, Exception):
                            await task
        return await self._exit_code()

    async def _begun(self) -> "Object":
        """Waits until the command has begun or failed, and prints the dependencies that it waits for."""
        from setpoint.objects import conditions

        began, said = self._client.clock.monotonic(), ""
        while True:
            found: Object = await self._client.get(self._kind, self._name)
            if (found.get("status") or {}).get("state", "") not in _PENDING:
                return found
            ready = conditions.of(found, "Ready")
            is_late = self._client.clock.monotonic() - began > _PATIENCE_SECONDS
            if is_late and ready.get("reason", "").startswith("Waiting") and ready["message"] != said:
                said = ready["message"]
                echo(f"{self._name} {said}", err=True)
            await self._client.clock.sleep(_LOOK_SECONDS)

    async def _attach(self, *, with_terminal: bool) -> None:
        from setpoint.cli.workloads.exec_attach import feed, talk

        path = (await self._client.resource(self._kind)).path(name=self._name, subresource="attach")
        if with_terminal:
            await talk(self._client, path, [], stdin=True, tty=True)
        else:
            await feed(self._client, path)

    async def _feed(self) -> None:
        """Copies standard input to the command."""
        if (await self._begun())["status"]["state"] not in _OVER:
            await self._attach(with_terminal=False)

    async def _exit_code(self) -> int:
        while True:
            found: Object = await self._client.get(self._kind, self._name)
            status = found.get("status") or {}
            if status.get("state", "") in _OVER:
                break
            await self._client.clock.sleep(_LOOK_SECONDS)
        code: int | None = status.get("exitCode")
        if code is None:
            from setpoint.objects import conditions

            why = conditions.of(found, "Ready").get("message") or status.get("message") or "unknown reason"
            raise Failure(f"{self._name} failed: {why}", FAILED)
        return code
