"""On Windows, client, SDK and worlds work; processes are refused with a recommendation of WSL. Windows is simulated."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
BEGIN = "from tests.machine import windows; windows.simulate()\n"
IMPORTS = """
import setpoint as sp
assert sp.__all__
for name in sp.__all__:
    getattr(sp, name)
import setpoint.testing, setpoint.client.client, setpoint.client.sync, setpoint.cli.main, setpoint.testing.plugin
"""
TEAM = """
import asyncio
import setpoint as sp
from setpoint import testing
from setpoint.api.core.v1 import ConfigMap

class Spec(sp.Model):
    members: list[str]

class Team(sp.Resource, group="example.com", version="v1"):
    spec: Spec

@sp.controller(Team, owns=[ConfigMap])
async def teams(ctx, request):
    team = await ctx.client.find(Team, request.name, request.namespace)
    if team is not None:
        data = {"members": ", ".join(team.spec.members)}
        await ctx.client.apply(ctx.own(ConfigMap(metadata=sp.ObjectMeta(name=request.name), data=data)))

team = Team(metadata=sp.ObjectMeta(name="a", namespace="default"), spec=Spec(members=["Ada"]))
"""
WORLD = f"""{TEAM}
async def main():
    async with testing.world(crds=[Team]) as world:
        ran = await world.run_once(teams, team)
        assert [str(write) for write in ran.writes] == ["apply ConfigMap default/a"], ran.writes
asyncio.run(main())
"""
HTTP = f"""{TEAM}
import pathlib
def read(path):
    with sp.SyncClient.from_kubeconfig(path) as client:
        return len(list(client.list(ConfigMap, namespace="default")))

async def main():
    async with sp.ControlPlane() as plane:
        await plane.listen()
        path = pathlib.Path("kubeconfig")
        plane.write_kubeconfig(path)
        async with sp.Client.from_kubeconfig(path) as client:
            for number in range(3):
                meta = sp.ObjectMeta(name=f"m{{number}}", namespace="default")
                await client.create(ConfigMap(metadata=meta))
        assert await asyncio.to_thread(read, path) >= 3
asyncio.run(main())
"""


def on_windows(program: str, tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "SETPOINT_RESIDENT": ""}
    return subprocess.run(
        [sys.executable, "-c", BEGIN + program, *arguments],
        env={**os.environ, **state, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("program", [IMPORTS, WORLD, HTTP], ids=["imports", "world", "http"])
def test_client_sdk_and_worlds_work(program: str, tmp_path: Path) -> None:
    done = on_windows(program, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", ["up", "up -d", "serve --workloads", "demo", "run --service api"])
def test_commands_that_run_processes_recommend_wsl(words: str, tmp_path: Path) -> None:
    (tmp_path / "setpoint.yaml").write_text("app: shop\nservices: { api: { run: sleep 1000 } }\n")
    done = on_windows("from setpoint.cli.start import start\nstart()", tmp_path, *words.split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: processes cannot run on Windows: run Setpoint in WSL: https://learn.microsoft.com/windows/wsl\n"
    )
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("words", [["--version"], ["render"], ["ps"], ["get", "pods"], ["doctor"]])
def test_other_commands_end_without_a_traceback(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "setpoint.yaml").write_text("app: shop\nservices: { api: { run: sleep 1000 } }\n")
    done = on_windows("from setpoint.cli.start import start\nstart()", tmp_path, *words)
    assert "Traceback" not in done.stderr, done.stderr
    if words in (["--version"], ["render"]):
        assert done.returncode == 0, done.stderr
    if words == ["doctor"]:
        assert "run Setpoint in WSL" in done.stdout
