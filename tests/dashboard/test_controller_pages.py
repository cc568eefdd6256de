"""The controllers of an app on the page: their figures, their problems and their reconciles."""

from pathlib import Path

import pytest
from tests.dashboard.axe import violations
from tests.dashboard.served_page import ServedPage, new_page
from tests.session.controllers.hosting_app import HostedApp, greeting, program

from setpoint.session.controllers.page import ControllersPage
from setpoint.session.controllers.supervisor import hosting
from setpoint.workload.kinds.app import App

pytestmark = pytest.mark.slow

FILE, BROKEN = "controllers/greeting.py", "controllers/broken.py"
ROWS = "[...document.querySelectorAll(\"[aria-label='Controllers of the app'] [role=row][id]\")]"


def cells(name: str) -> str:
    """Returns an expression for the cells of a controller."""
    return (
        f"[...({ROWS}.find((row) => row.innerText.startsWith('{name}'))?.children ?? [])].map((cell) => cell.innerText)"
    )


async def serve_app(served: ServedPage, directory: Path, page: ControllersPage) -> HostedApp:
    app = HostedApp(served.client, page, directory)
    app.write({FILE: program('ctx.status["text"] = "hello"'), BROKEN: "spec"})
    await app.run(FILE, BROKEN)
    await served.client.create(greeting("first", to="world"))
    await app.said("first")
    return app


async def test_controllers_of_the_app_lead_to_their_reconciles(tmp_path: Path) -> None:
    reports = ControllersPage()
    (tmp_path / "app").mkdir()
    async with new_page(tmp_path / "profile") as served:
        await served.client.install(App)
        await served.plane.listen()
        async with hosting(served.plane, reports, directory=tmp_path / "app", data=tmp_path / "data"):
            await serve_app(served, tmp_path / "app", reports)
            page = await served.open("controllers")
            await page.wait(f"{ROWS}.length === 2")
            name, state, queue, _, median, _, errors = await page.run(cells("greeting"))
            assert (name, state, queue, errors) == ("greeting", "Running", "0", "0")
            assert median
            assert "name 'spec' is not defined" in (await page.run(cells("controllers/broken")))[1]
            await page.wait("document.querySelector(\"[aria-label='Built-in controllers'] [role=row][id]\")")
            assert await violations(page) == []
            await page.run(f"{ROWS}.find((row) => row.innerText.startsWith('controllers/broken')).click()")
            await page.wait_text("name 'spec' is not defined")
            await page.wait_text("No reconcile is remembered")
            assert not any("broken.py/reconciles" in each for each in page.requests)
            await page.run("location.hash = '#/controllers/greeting'")
            await page.click("[aria-label='Reconciles'] [role=row][id]")
            await page.wait("document.querySelector('main h1').innerText.startsWith('Reconcile')")
            await page.wait_text("Greeting.example.com default/first")
            for title in ("Causes", "Reads", "Writes"):
                await page.wait_text(title)
            assert await violations(page) == []
            assert page.errors == []
