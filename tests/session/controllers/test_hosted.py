"""Controllers of an app run beside its control plane, and are replaced when their files change."""

import os
import signal
from pathlib import Path

import pytest
from tests.processes import has_ended
from tests.session.controllers.hosting_app import GREETING, greeting, hosted_app, program

from setpoint.client.patches import merge
from setpoint.client.requests import decode

pytestmark = pytest.mark.slow

HELLO = program('ctx.status["text"] = "hello"')
FILE = "controllers/greet.py"


async def test_the_controllers_of_an_app_run_with_the_kinds_that_they_define(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: HELLO}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        await app.said("first")
        [row] = (await app.rows()).values()
        about = {name: row[name] for name in ("name", "kind", "state", "module", "note", "errorPercent", "queue")}
        assert about == {
            "name": "greeting",
            "kind": "Greeting.example.com",
            "state": "Running",
            "module": FILE,
            "note": "",
            "errorPercent": 0.0,
            "queue": 0,
        }
        assert await app.until(lambda: app.events("ControllersLoaded")) == [f"Normal: {FILE} loaded (greeting)"]
        told = decode((await app.client.raw("GET", "/apis/setpoint.dev/v1/revisions")).body)["items"]
        [wrote] = [
            each for each in told if each["object"]["kind"] == "Greeting" and each.get("cause", {}).get("controller")
        ]
        assert wrote["cause"]["controller"] == "greeting"
        assert wrote["actor"]["user"] == f"system:setpoint:controllers:{FILE}"


async def test_a_change_of_a_file_or_of_what_it_imports_replaces_what_runs(tmp_path: Path) -> None:
    uses = program('import words; ctx.status["text"] = words.HELLO')
    async with hosted_app(tmp_path, {FILE: uses, "controllers/words.py": 'HELLO = "hello"\n'}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        await app.said("first")
        await app.client.patch(GREETING, merge({"metadata": {"annotations": {"state": "kept"}}}), "first", "default")
        app.write({"controllers/words.py": 'HELLO = "moin"\n'})  # which was imported only when it was needed
        found = await app.said("first", "moin")
        assert found["metadata"]["annotations"] == {"state": "kept"}
        app.write({FILE: program('ctx.status["text"] = "servus"')})
        await app.said("first", "servus")
        lines = await app.logged("greeting", f"[setpoint] {FILE} reloaded: {FILE} changed (greeting)")
        assert f"[setpoint] {FILE} reloaded: controllers/words.py changed (greeting)" in lines
        app.write({"controllers/words.py": "is no part of it any more ("})
        app.write({FILE: HELLO})
        await app.said("first")


async def test_a_file_with_a_mistake_leaves_the_version_before_running_and_says_why(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: HELLO}) as app:
        await app.run(FILE)
        app.write({FILE: HELLO + "\nprint(undefined)\n"})
        why = f"{FILE}:32: NameError: name 'undefined' is not defined"
        row = await app.note("greeting", "NameError")
        assert (row["state"], row["note"]) == ("Running", f"the previous version is still running: {why}")
        await app.client.create(greeting("first", to="world"))
        await app.said("first")
        told = await app.until(lambda: app.events("ControllersNotLoaded"))
        assert told == [f"Warning: {why}; the previous version is still running"]
        assert f"[setpoint] {why}; the previous version is still running" in await app.log("greeting")
        app.write({FILE: HELLO.replace("hello", "mended")})
        await app.said("first", "mended")
        assert (await app.rows())["greeting"]["note"] == ""


async def test_a_file_that_never_ran_is_tried_again_when_any_file_changes(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: f"import words\n{HELLO}"}) as app:
        await app.run(FILE)
        row = (await app.rows())[FILE]
        assert row["state"] == "Failed"
        assert row["note"].startswith(f"{FILE}:1: no module words")
        app.write({"controllers/words.py": ""})
        await app.until(lambda: app.runs("greeting"))


async def test_reconciles_that_run_are_finished_before_the_next_version_takes_over(tmp_path: Path) -> None:
    slow = program('print("begins"); await asyncio.sleep(1.5); ctx.status["text"] = "slow"')
    async with hosted_app(tmp_path, {FILE: slow}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        await app.logged("greeting", "begins")
        app.write({FILE: HELLO})
        await app.said("first", "slow")
        await app.said("first")


async def test_who_keeps_the_next_version_waiting_is_told(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    waits = f'while not Path("{sign}").exists(): await asyncio.sleep(0.05)'
    slow = program(f'print("begins")\n        {waits}\n        ctx.status["text"] = "slow"')
    async with hosted_app(tmp_path, {FILE: f"from pathlib import Path\n{slow}"}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        await app.logged("greeting", "begins")
        app.write({FILE: HELLO})
        waiting = f"{FILE}: waiting for the previous version, which has 10 s to finish"
        await app.logged("greeting", f"[setpoint] {waiting}")
        sign.touch()
        await app.said("first")


async def test_two_files_cannot_have_a_controller_of_one_name(tmp_path: Path) -> None:
    other = "controllers/other.py"
    text = 'import setpoint as sp\n\n\n@sp.controller("v1/Secret", name="greeting")\nasync def it(ctx, request): ...\n'
    async with hosted_app(tmp_path, {FILE: HELLO, other: text}) as app:
        await app.run(FILE)
        await app.run(FILE, other)
        rows = await app.rows()
        assert rows["greeting"]["state"] == "Running"
        assert rows[other]["state"] == "Failed"
        assert rows[other]["note"] == f"{other} has a controller named 'greeting', as does {FILE}: rename one of them"
        app.write({other: text.replace('"greeting"', '"other"')})
        await app.until(lambda: app.runs("other"))


async def test_what_the_app_does_not_list_any_more_ends(tmp_path: Path) -> None:
    text = 'import setpoint as sp\n\n\n@sp.controller("v1/ConfigMap", name="{}")\nasync def it(ctx, request): ...\n'
    async with hosted_app(tmp_path, {"one.py": text.format("one"), "two.py": text.format("two")}) as app:
        await app.run("one.py", "two.py")
        assert list(await app.rows()) == ["one", "two"]
        await app.run("two.py")
        assert list(await app.rows()) == ["two"]
        await app.client.delete("setpoint.dev/v1/App", "shop")
        await app.until(app.has_none)
    assert not _programs()  # though nobody waited for the last of them


async def test_one_controller_of_a_file_can_be_chosen(tmp_path: Path) -> None:
    text = 'import setpoint as sp\n\n\n@sp.controller("v1/ConfigMap", name="{0}")\nasync def {0}(ctx, request): ...\n'
    async with hosted_app(tmp_path, {FILE: text.format("one") + text.format("two")}) as app:
        await app.run({"module": FILE, "name": "two"})
        assert list(await app.rows()) == ["two"]


async def test_a_kind_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    text = """
        import setpoint as sp


        @sp.controller("example.com/v1/Later")
        async def later(ctx: sp.Context, request: sp.Request) -> None:
            print("saw", request)
    """
    async with hosted_app(tmp_path, {FILE: text}) as app:
        await app.run(FILE)
        row = await app.note("later", "is its definition installed?")
        assert row["state"] == "Waiting"
        await app.client.install(_definition("Later"))
        await app.until(lambda: app.runs("later"))
        metadata = {"name": "first", "namespace": "default"}
        await app.client.create({"apiVersion": "example.com/v1", "kind": "Later", "metadata": metadata})
        assert "saw default/first" in await app.logged("later", "saw")


async def test_a_program_that_dies_is_started_again(tmp_path: Path) -> None:
    pid = program('import os; print("pid", os.getpid()); ctx.status["text"] = "hello"')
    async with hosted_app(tmp_path, {FILE: pid}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        first = (await app.logged("greeting", "pid"))[-1]
        os.kill(int(first.split()[1]), signal.SIGKILL)
        told = await app.until(lambda: app.events("ControllersEnded"))
        assert told == [f"Warning: {FILE} exited: its process was killed by SIGKILL"]
        await app.logged("greeting", f"[setpoint] {FILE} reloaded: restarted after exit")


async def test_nothing_is_left_when_all_ends(tmp_path: Path) -> None:
    child = program("import subprocess; print('child', subprocess.Popen(['sleep', '600']).pid)")
    async with hosted_app(tmp_path, {FILE: child}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        pid = int((await app.logged("greeting", "child"))[-1].split()[1])
        kubeconfig = tmp_path / "data" / "controllers" / "controllers%2Fgreet.py.kubeconfig"
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
    assert has_ended(pid)
    assert not kubeconfig.exists()


def _definition(kind: str) -> dict[str, object]:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


async def test_an_end_in_the_middle_of_a_load_leaves_nothing(tmp_path: Path) -> None:
    slow = f"import os, time\nopen('pids', 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(30)\n{HELLO}"
    async with hosted_app(tmp_path, {FILE: HELLO}) as app:
        await app.run(FILE)
        app.write({FILE: slow})
        pids = app.directory / "pids"
        await app.until(lambda: _exists(pids))
    for pid in pids.read_text().split():
        assert not Path(f"/proc/{pid}").exists()


def _programs() -> list[str]:
    """The programs that this process has started and that still run."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    commands = [Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ") for child in children]
    return [command for command in commands if "setpoint.session.controllers.worker" in command]


async def _exists(path: Path) -> bool:
    return path.exists() and bool(path.read_text())
