"""The controllers of an app, in processes of their own, among the controllers of `setpoint.dev`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.session.controllers.hosting_app import HostedApp, greeting, hosted_app, program

from setpoint.client.options import Impersonation
from setpoint.objects.errors import Forbidden, NotFound

FILE = "controllers/greeting.py"
CONTROLLERS = "/apis/setpoint.dev/v1/controllers"
SAYS = """if found.spec.to == "nobody":
            raise sp.TerminalError("https://jane:geheim@host answers nobody")
        ctx.status["text"] = "hello"
"""


async def read(app: HostedApp, path: str = "") -> Any:
    return json.loads((await app.client.raw("GET", f"{CONTROLLERS}{path}")).body)


async def failed(app: HostedApp) -> Any:
    """Returns the row of the controller as soon as the reconcile of `second` has failed and is recorded, after those of
    `first`: a status is visible before its reconcile ends."""

    async def found() -> Any:
        [row] = (await read(app))["items"]
        return row if row["errors"] else None

    return await app.until(found)


async def test_controllers_of_the_app_are_listed_with_their_figures(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: program(SAYS)}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        await app.client.create(greeting("second", to="nobody"))
        row = await failed(app)
        about = {name: row[name] for name in ("name", "kind", "module", "state", "queueDepth", "errors")}
        assert about == {
            "name": "greeting",
            "kind": "Greeting.example.com",
            "module": FILE,
            "state": "Running",
            "queueDepth": 0,
            "errors": 1,
        }
        assert row["reconcilesPerSecond"] > 0
        assert 0 < row["latencySeconds"]["p50"] <= row["latencySeconds"]["p99"]
        assert "jane:***@host answers nobody" in row["note"]
        assert "geheim" not in json.dumps(row)


async def test_reconciles_of_the_app_are_listed_and_read(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: program(SAYS)}) as app:
        await app.run(FILE)
        await app.client.create(greeting("first", to="world"))
        await app.said("first")
        await app.client.create(greeting("second", to="nobody"))
        await failed(app)
        listed = (await read(app, "/greeting/reconciles"))["items"]
        last = {each["key"]: each for each in reversed(listed)}
        assert last["default/first"]["result"] == "success"
        assert last["default/second"]["error"] == "TerminalError: https://jane:***@host answers nobody"
        assert [each["started"] for each in listed] == sorted((each["started"] for each in listed), reverse=True)
        [first] = [each for each in listed if each["key"] == "default/first"][-1:]
        found = await read(app, f"/greeting/reconciles/{first['id']}")
        assert (found["kind"], found["of"], found["object"]) == ("Reconcile", "Greeting.example.com", "default/first")
        assert [each["subresource"] for each in found["writes"]] == ["status"]
        assert found["because"]
        assert "reads" not in first
        second = await read(app, f"/greeting/reconciles/{last['default/second']['id']}")
        assert second["error"] == "TerminalError: https://jane:***@host answers nobody"
        for path in ("/greeting/reconciles/none", f"/greeting/reconciles/{first['id'][:8]}", "/other/reconciles"):
            with pytest.raises(NotFound):
                await read(app, path)


async def test_controller_that_cannot_be_loaded_is_listed_with_the_reason(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: "spec"}) as app:
        await app.run(FILE)
        [row] = (await read(app))["items"]
        assert (row["name"], row["module"], row["state"], row["recorded"]) == (FILE, FILE, "Failed", 0)
        assert "name 'spec' is not defined" in row["note"]


async def test_controllers_of_the_app_leave_the_list_with_their_app(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: program("pass")}) as app:
        await app.run(FILE)
        assert [each["name"] for each in (await read(app))["items"]] == ["greeting"]
        await app.run()
        assert (await read(app))["items"] == []
        with pytest.raises(NotFound):
            await read(app, "/greeting/reconciles")


async def test_controllers_of_the_app_require_the_rights_of_all_controllers(tmp_path: Path) -> None:
    async with hosted_app(tmp_path, {FILE: program("pass")}) as app:
        await app.run(FILE)
        other = app.client.with_options(impersonate=Impersonation("eve"))
        for path in ("", "/greeting/reconciles", "/greeting/reconciles/none"):
            with pytest.raises(Forbidden):
                await other.raw("GET", f"{CONTROLLERS}{path}")
