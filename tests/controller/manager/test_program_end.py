"""The program of an operator ends after SIGTERM, whatever its reconciles do and whether the server answers."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests.controller.manager.worlds import config_map

from setpoint.controller.shutdown import SHUTDOWN_SECONDS
from setpoint.plane import ControlPlane

pytestmark = pytest.mark.slow
GRACEFUL = 0.2
PROGRAM = """
import asyncio, threading
import setpoint as sp

@sp.controller("v1/ConfigMap", namespaces=["default"])
{reconcile}

election = sp.LeaderElection("ending", "default", lease_seconds=3, renew_seconds=2, retry_seconds=0.5)
sp.run(ending, leader_election=election, graceful={graceful})
"""
BEGIN = """    if request.name != "question":
        return
    {call}ctx.client.apply({{
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "answer", "namespace": "default"}},
    }})
"""
ASYNC, SYNC = (f"{head}\n" + BEGIN.format(call=call) for head, call in (
    ("async def ending(ctx, request):", "await "), ("def ending(ctx, request):", "")
))  # fmt: skip
STUBBORN = f"""{ASYNC}
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
"""
THREAD = f"{SYNC}    threading.Event().wait()\n"
EXECUTOR = f"{ASYNC}    await asyncio.to_thread(threading.Event().wait)\n"
BLOCKED = f"""{ASYNC}
    try:
        await asyncio.Event().wait()
    finally:
        threading.Event().wait()
"""
PATIENT = f"{ASYNC}    await asyncio.sleep(1000)\n"


@asynccontextmanager
async def operator(
    path: Path, reconcile: str, graceful: float
) -> AsyncIterator[tuple[asyncio.subprocess.Process, AsyncExitStack]]:
    """Provides the running program of an operator whose reconcile has begun, and its server, which may be closed."""
    (path / "ending.py").write_text(PROGRAM.format(reconcile=reconcile, graceful=graceful))
    async with AsyncExitStack() as server:
        plane = await server.enter_async_context(ControlPlane(system=False))
        client = await server.enter_async_context(plane.client())
        await plane.listen()
        plane.write_kubeconfig(path / "kubeconfig")
        await client.create(config_map("question"))
        environ = {**os.environ, "KUBECONFIG": str(path / "kubeconfig")}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "ending.py", env=environ, cwd=path, stderr=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(60):
                await client.wait_for("v1/ConfigMap", "answer", "default", "create")
            yield process, server
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@pytest.mark.parametrize(
    ("reconcile", "text"),
    [
        pytest.param(STUBBORN, "ending (ending.py:", id="ignores its cancellation"),
        pytest.param(THREAD, "still running: configmap at ending.py:", id="hangs in a thread"),
        pytest.param(EXECUTOR, "File", id="hangs in a thread of the event loop"),
        pytest.param(BLOCKED, "ending.py", id="blocks the event loop"),
    ],
)
async def test_a_program_with_hung_work_ends_by_itself(tmp_path: Path, reconcile: str, text: str) -> None:
    async with operator(tmp_path, reconcile, GRACEFUL) as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        async with asyncio.timeout(GRACEFUL + SHUTDOWN_SECONDS + 20):
            said = (await process.stderr.read()).decode()
            assert await process.wait() == 1
        assert text in said


async def test_a_program_without_a_server_ends_within_its_grace(tmp_path: Path) -> None:
    async with operator(tmp_path, PATIENT, 300) as (process, server):
        await server.aclose()
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            # The lease is lost long before the grace is over, and the reconcile is cancelled.
            assert await process.wait() == 0
