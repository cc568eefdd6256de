"""The view of an app whose server goes away, and of one that nobody can see."""

import asyncio
import io
import os
from pathlib import Path

import pytest

import setpoint as sp
from setpoint.cli.app.view.app_view import Outcome, watch_app
from setpoint.cli.app.view.parts import Part
from setpoint.cli.app.view.view_settings import ViewSettings
from setpoint.cli.output.terminal import Terminal
from setpoint.client.client import Client
from setpoint.workload.workloads import WorkloadSettings

pytestmark = pytest.mark.slow

SLEEPS = {
    "apiVersion": "usvc-dev.developer.microsoft.com/v1",
    "kind": "Executable",
    "metadata": {"name": "api", "labels": {"setpoint.dev/part": "api"}},
    "spec": {"executablePath": "sleep", "args": ["600"]},
}
VIEW = ViewSettings("shop", "shop-3f2a", "http://127.0.0.1:41873", (Part("api"),))


async def test_a_view_ends_with_its_server(tmp_path: Path) -> None:
    printed = io.StringIO()
    async with sp.ControlPlane("memory", workloads=WorkloadSettings(tmp_path)) as plane:
        await plane.listen()
        (tmp_path / "kubeconfig").write_text(plane.kubeconfig())
        client = Client.from_kubeconfig(tmp_path / "kubeconfig")
        await client.create(SLEEPS)
        watching = asyncio.ensure_future(watch_app(client, VIEW, place=Terminal(), stdout=printed))
        async with asyncio.timeout(20):
            while "all ready" not in printed.getvalue():
                await asyncio.sleep(0.01)
    async with client:
        assert await watching == Outcome("ended")
    lines = printed.getvalue().splitlines()
    assert lines[0] == "shop · session shop-3f2a · http://127.0.0.1:41873"
    assert "all ready" in lines
    # That it went with everything else is nothing that happened to it.
    assert not any("removed" in line for line in lines)


async def test_a_pipe_that_nobody_reads_any_more_ends_the_view(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    async with sp.ControlPlane("memory", workloads=WorkloadSettings(tmp_path)) as plane, plane.client() as client:
        with os.fdopen(writer, "w") as stream:
            assert await watch_app(client, VIEW, place=Terminal(), stdout=stream) == Outcome("quit")
