"""`sp.run`: a whole operator in a file, against the server that KUBECONFIG names, until a signal ends it."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.controller.manager.worlds import config_map

from setpoint.plane import ControlPlane

PROGRAM = """
import setpoint as sp

@sp.controller("v1/ConfigMap", namespaces=["default"])
async def answering(ctx, request):
    if request.name == "question":
        await ctx.client.apply({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "answer", "namespace": "default"}, "data": {"to": request.name},
        })

sp.run(answering, leader_election=sp.LeaderElection("answering", "default"), health="127.0.0.1:0")
"""


@pytest.mark.feature("E80")
async def test_an_operator_in_one_file_works_until_it_is_told_to_end(tmp_path: Path) -> None:
    (tmp_path / "answering.py").write_text(PROGRAM)
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await plane.listen()
        plane.write_kubeconfig(tmp_path / "kubeconfig")
        await client.create(config_map("question"))
        environ = {**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")}
        process = await asyncio.create_subprocess_exec(sys.executable, str(tmp_path / "answering.py"), env=environ)
        try:
            answer = None
            async with asyncio.timeout(60):
                while answer is None and process.returncode is None:
                    found = (await client.list("v1/ConfigMap", "default")).items
                    answer = next((one for one in found if one["metadata"]["name"] == "answer"), None)
                    await asyncio.sleep(0.02)
            assert answer is not None
            assert answer["data"] == {"to": "question"}
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 30) == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        lease = await client.get("coordination.k8s.io/v1/Lease", "answering", "default")
        assert not lease["spec"].get("holderIdentity")


HANGING = """
import threading
import setpoint as sp

@sp.controller("v1/ConfigMap", namespaces=["default"])
def hanging(ctx, request):
    if request.name == "question":
        ctx.client.apply({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "answer", "namespace": "default"},
        })
        threading.Event().wait()

sp.run(hanging, leader_election=sp.LeaderElection("hanging", "default"), graceful=0.1)
"""


@pytest.mark.slow
async def test_an_operator_with_a_hung_thread_names_the_line_and_ends_with_a_second_signal(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    async with ControlPlane(system=False) as plane, plane.client() as client:
        await plane.listen()
        plane.write_kubeconfig(tmp_path / "kubeconfig")
        await client.create(config_map("question"))
        environ = {**os.environ, "KUBECONFIG": str(tmp_path / "kubeconfig")}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "hanging.py", env=environ, cwd=tmp_path, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        try:
            async with asyncio.timeout(60):
                await client.wait_for("v1/ConfigMap", "answer", "default", "create")
                process.send_signal(signal.SIGTERM)
                line = HANGING.splitlines().index("        threading.Event().wait()") + 1
                said = ""
                while f"still runs at hanging.py:{line} in the thread" not in said:
                    said = (await process.stderr.readline()).decode()
                    assert said, "the program has ended"
                process.send_signal(signal.SIGTERM)
                rest = (await process.stderr.read()).decode()
                await process.wait()
            assert f"ends while a function still runs at hanging.py:{line}" in rest
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
