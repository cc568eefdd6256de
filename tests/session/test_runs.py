"""The runs of a real app: recorded at the end and after a kill, and compared by the command."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.session.apps import WAITS, Running, app

from setpoint.cli.main import main
from setpoint.objects.clock import SystemClock
from setpoint.session.host import HostError, run_settings, usage_settings
from setpoint.workload.process.exit_wait import wait_exit
from setpoint.workload.process.identity import parse

Setpoint = Callable[..., Result]


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("SETPOINT_RUNS", raising=False)


def text(mode: str) -> str:
    return f"app: shop\nservices: {{ api: {{ run: {WAITS}, replicas: 2, env: {{ SAYS: {mode} }} }} }}\n"


async def ready(running: Running) -> None:
    def is_ready(tree: Any) -> bool:
        conditions = ((tree or {}).get("status") or {}).get("conditions") or ()
        # As of the last change of the spec.
        generation = tree["metadata"]["generation"] if tree else 0
        return any(
            (each["type"], each["status"], each["observedGeneration"]) == ("Ready", "True", generation)
            for each in conditions
        )

    kind = "usvc-dev.developer.microsoft.com/v1/ExecutableReplicaSet"
    await running.client.wait_for(kind, "api", until=is_ready, timeout=30.0)


async def listed(running: Running) -> list[Any]:
    answer = await running.client.raw("GET", "/apis/setpoint.dev/v1/runs")
    found: list[Any] = json.loads(answer.body)["items"]
    return found


async def difference(running: Running, number: int) -> Any:
    return json.loads((await running.client.raw("GET", f"/apis/setpoint.dev/v1/runs/{number}/difference")).body)


def setpoint(*words: str) -> Result:
    return CliRunner().invoke(main, ["--session", "shop", *words])


@pytest.mark.slow
async def test_a_changed_app_is_compared_with_its_earlier_run(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", text("fast")) as shop:
        await ready(shop)
    async with app(tmp_path / "shop", text("fast")) as shop:
        await ready(shop)
        current, first = await listed(shop)
        assert (current["number"], current["current"], first["number"], first["end"]) == (2, True, 1, "Stopped")
        assert [(each["name"], each["state"], each["ready"]) for each in first["parts"]] == [("api", "Ready", 2)]
        assert first["parts"][0]["readySeconds"] > 0
        assert first["isInLog"]
        objects = json.loads((await shop.client.raw("GET", "/apis/setpoint.dev/v1/runs/1/objects")).body)["items"]
        # Without the objects of the server, such as roles and the certificates of its authority.
        assert {each["kind"] for each in objects} == {"App", "Executable", "ExecutableReplicaSet"}
        same = await difference(shop, 1)
        # A machine under load may start an app noticeably slower.
        assert [each["fields"] for each in same["parts"] if each["fields"] != ["readySeconds"]] == []
        assert same["objects"] == []
        assert same["folded"]["identities"] > 2
        await shop.apply(text("slow"))
        await ready(shop)
        changed = await difference(shop, 1)
        paths = {each["path"] for found in changed["objects"] for each in found["changes"]}
        assert "spec.template.spec.env[SAYS].value" in paths


@pytest.mark.slow
async def test_a_killed_run_is_recorded_by_the_next_one(tmp_path: Path) -> None:
    async with app(tmp_path / "shop", text("fast")) as shop:
        await ready(shop)
        assert [each["number"] for each in await listed(shop)] == [1]
        host = parse(shop.started.session.process)
        assert host is not None
        os.kill(host.pid, signal.SIGKILL)
        await wait_exit(host, SystemClock())
    async with app(tmp_path / "shop", text("fast")) as shop:
        await ready(shop)
        current, killed = await listed(shop)
        assert (killed["number"], killed["end"], killed["isInLog"], current["isInLog"]) == (1, "Crashed", False, True)
        assert [(each["name"], each["state"], each["ready"]) for each in killed["parts"]] == [("api", "Ready", 2)]
        assert (await difference(shop, 1))["objects"] == []


@pytest.mark.slow
def test_runs_are_read_after_the_end_of_the_app(tmp_path: Path) -> None:
    async def twice() -> None:
        for mode in ("fast", "slow"):
            async with app(tmp_path / "shop", text(mode)) as shop:
                await ready(shop)

    asyncio.run(twice())
    ran = setpoint("runs", "-o", "json")
    assert ran.exit_code == 0, ran.output
    assert [(each["number"], each["end"]) for each in json.loads(ran.output)["items"]] == [
        (2, "Stopped"),
        (1, "Stopped"),
    ]
    ran = setpoint("runs", "diff", "1")
    assert "ExecutableReplicaSet/api\n  spec.template.spec.env[SAYS].value fast→slow\n" in ran.output
    assert "not shown: " in ran.output
    assert setpoint("runs", "pin", "1", "--name", "fast one").output == "run 1 pinned\n"
    lines = setpoint("runs").output.splitlines()
    assert [line.split()[0] for line in lines] == ["RUN", "2", "1"]
    assert "fast one" in lines[2]
    assert lines[2].endswith("yes")
    assert setpoint("runs", "unpin", "1").output == "run 1 unpinned\n"
    missing = setpoint("runs", "diff", "7")
    assert (missing.exit_code, missing.output.count("run 7 is not recorded")) == (3, 1)


@pytest.mark.slow
async def test_the_number_of_runs_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETPOINT_RUNS", '{"keep": 1}')
    for _ in range(2):
        async with app(tmp_path / "shop", "app: shop\nservices: {}\n"):
            pass
    monkeypatch.setenv("SETPOINT_RUNS", "off")
    async with app(tmp_path / "shop", "app: shop\nservices: {}\n") as shop:
        assert [each["number"] for each in await listed(shop)] == [2]


def test_no_module_of_the_runs_is_imported_before_the_session_is_ready() -> None:
    code = (
        "import asyncio, sys\n"
        "import setpoint.session.host\n"
        "from setpoint.plane import ControlPlane\n"
        "async def main():\n"
        "    async with ControlPlane('memory', system=False, runs=lambda services, first: None) as plane:\n"
        "        print([name for name in sys.modules if name.startswith('setpoint.past')])\n"
        "asyncio.run(main())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_settings_of_runs_are_read_from_the_variable() -> None:
    assert run_settings({}).keep == 5
    assert run_settings({"SETPOINT_RUNS": '{"keep": 9, "maxBytes": 2048}'}).max_bytes == 2048
    assert not run_settings({"SETPOINT_RUNS": "off"}).enabled


def test_settings_of_samples_are_read_from_the_variable() -> None:
    assert usage_settings({}).retention_seconds == 3600
    assert usage_settings({"SETPOINT_USAGE": '{"maxSamples": 9}'}).max_samples == 9
    assert not usage_settings({"SETPOINT_USAGE": "off"}).enabled
    with pytest.raises(HostError, match=r"^SETPOINT_USAGE: .*; set the variable to off, or to settings: "):
        usage_settings({"SETPOINT_USAGE": '{"maxSamples": 0}'})


@pytest.mark.parametrize("given", ['{"kept": 3}', '{"keep": -1}', "5", "{"])
def test_wrong_settings_of_runs_name_the_variable_and_an_example(given: str) -> None:
    with pytest.raises(HostError, match=r'^SETPOINT_RUNS: .*; set the variable to off, or to settings: \{"keep": 5\}$'):
        run_settings({"SETPOINT_RUNS": given})
