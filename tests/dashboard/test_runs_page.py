"""The runs of an app on the page of the time, in Chromium with a real server."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.dashboard.axe import violations
from tests.dashboard.browser import Page
from tests.dashboard.served_page import ServedPage, new_page

from setpoint.past.runs.record import RunObject, RunPart, RunRecord
from setpoint.past.runs.run_files import RunFiles
from setpoint.past.runs.run_history import RunHistory
from setpoint.past.runs.settings import RunSettings
from setpoint.server.request.context import Services

pytestmark = pytest.mark.slow

GROUP = "usvc-dev.developer.microsoft.com"
ADDRESS = "time?tab=runs"


def write_run(files: RunFiles, number: int, colour: str, **fields: Any) -> None:
    """Writes a run with two parts and a ConfigMap."""
    parts = (
        RunPart("Executable", "api", "executables", GROUP, ready_seconds=1.2, wanted=1, **fields.pop("api")),
        RunPart("Executable", "db", "executables", GROUP, "Ready", "Healthy", 1, 1, 0.4),
    )
    metadata = {"name": "settings", "namespace": "default", "uid": f"uid-{number}"}
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"colour": colour}}
    value = msgspec.Raw(json.dumps(tree).encode())
    record = RunRecord(
        number=number,
        started=f"2026-01-31T1{number}:00:00.000000Z",
        ended=f"2026-01-31T1{number}:03:20.000000Z",
        first_revision=1,
        last_revision=4,
        parts=parts,
        objects=1,
        **{"log": "an earlier one", "end": "Stopped", **fields},
    )
    files.write(record, (RunObject("/core/configmaps/default/settings", 4, value),))


@contextlib.asynccontextmanager
async def page_with_runs(tmp_path: Path) -> AsyncIterator[ServedPage]:
    files = RunFiles(tmp_path / "runs")
    write_run(files, 1, "red", api={"state": "Ready", "reason": "Healthy", "ready": 1})
    failed = {"state": "Failed", "reason": "ExitedWithError", "restarts": 2, "exit_code": 3}
    write_run(files, 2, "blue", api=failed, end="Crashed", name="before the upgrade", pinned=True)

    def runs(services: Services, first: int) -> RunHistory:
        return RunHistory(services, first, tmp_path / "runs", RunSettings())

    async with new_page(tmp_path / "profile", system=False, runs=runs) as served:
        served.plane.runs.begin()
        yield served


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPage]:
    async with page_with_runs(tmp_path) as served:
        yield served


async def rows(page: Page, selector: str) -> list[list[str]]:
    all_rows = f"[...document.querySelectorAll({json.dumps(selector)})]"
    cells = f"{all_rows}.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
    found: list[list[str]] = await page.run(cells)
    return found


async def test_two_runs_are_chosen_and_compared(served: ServedPage) -> None:
    page = await served.open(ADDRESS)
    await page.wait("document.querySelectorAll('.runs tbody tr').length === 3")
    assert [(row[2], row[5], row[6]) for row in await rows(page, ".runs tbody tr")] == [
        ("3", "running", "0"),
        ("2", "crashed", "1"),
        ("1", "stopped", "0"),
    ]
    await page.click("[aria-label='Compare from run 1']")
    await page.click("[aria-label='Compare to run 2']")
    await page.wait_text("From run 1 to run 2")
    await page.wait("document.querySelector('.changes tbody tr')")
    assert await rows(page, ".run-parts tbody tr") == [
        ["api", "Ready in 1.2 s", "Failed (ExitedWithError), 2 restarts, exit code 3"]
    ]
    assert await rows(page, ".changes tbody tr") == [["data.colour", "red", "blue"]]
    address = await page.run("location.hash")
    assert "run=1" in address
    assert "other=2" in address
    assert page.errors == []


async def test_a_link_opens_the_same_comparison(served: ServedPage) -> None:
    page = await served.open(f"{ADDRESS}&run=2&other=1")
    await page.wait_text("From run 2 to run 1")
    await page.wait("document.querySelector('.changes tbody tr')")
    assert await rows(page, ".changes tbody tr") == [["data.colour", "blue", "red"]]
    page = await served.open(f"{ADDRESS}&run=77&other=1")
    await page.wait_text("run 77 is not recorded")


async def test_runs_are_chosen_with_the_keyboard(served: ServedPage) -> None:
    page = await served.open(f"{ADDRESS}&run=2&other=3")
    await page.wait_text("From run 2 to run 3 (now)")
    await page.run("document.querySelector(\"[aria-label='Compare from run 2']\").focus()")
    await page.press("ArrowDown")
    await page.wait_text("From run 1 to run 3 (now)")
    assert await page.run("document.activeElement.getAttribute('aria-label')") == "Compare from run 1"


async def test_a_run_is_pinned_and_named(served: ServedPage) -> None:
    page = await served.open(ADDRESS)
    await page.wait("document.querySelector(\"[aria-label='Pin run 1']\")")
    assert await page.run("document.querySelector(\"[aria-label='Name of run 2']\").value") == "before the upgrade"
    await page.click("[aria-label='Pin run 1']")
    await page.wait("document.querySelector(\"[aria-label='Pin run 1']\").checked")
    name = "document.querySelector(\"[aria-label='Name of run 1']\")"
    await page.run(f"({name}.value = 'fast one', {name}.dispatchEvent(new Event('change', {{ bubbles: true }})))")

    async def stored() -> Any:
        return await served.api("GET", "/apis/setpoint.dev/v1/runs/1")

    await page.wait(
        "performance.getEntriesByType('resource').filter((each) => each.name.endsWith('/runs/1')).length >= 2"
    )
    found = await stored()
    assert (found["pinned"], found["name"]) == (True, "fast one")
    assert page.errors == []


async def test_the_end_of_a_run_in_the_log_is_shown(tmp_path: Path) -> None:
    async with page_with_runs(tmp_path) as served:
        namespace = await served.api("GET", "/api/v1/namespaces/kube-system")
        files = RunFiles(tmp_path / "runs")
        page = await served.open(ADDRESS)
        await page.wait("document.querySelectorAll('.runs tbody tr').length === 3")
        assert await page.run("document.querySelectorAll('.runs a').length") == 0
        begun = files.current()
        assert begun is not None
        write_run(files, 2, "blue", api={"state": "Ready"}, log=namespace["metadata"]["uid"])
        files.begin(begun)
        page = await served.open(f"{ADDRESS}&run=2")
        await page.wait("document.querySelector('.runs a')")
        await page.click("[aria-label='Show the end of run 2']")
        await page.wait("location.hash.includes('at=4')")
        await page.wait_text("Revision 4")


async def test_a_user_without_rights_reads_the_reason(served: ServedPage) -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": ["setpoint.dev"], "resources": ["dashboardlogins"], "verbs": ["create"]}
    await served.api("POST", f"{roles}/clusterroles", {"metadata": {"name": "page"}, "rules": [rule]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "page"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}
    binding = {"metadata": {"name": "page"}, "roleRef": reference, "subjects": [subject]}
    await served.api("POST", f"{roles}/clusterrolebindings", binding)
    page = await served.open(ADDRESS, user="ann", groups=("system:authenticated",))
    await page.wait("document.querySelector('main .problem')")
    assert "runs" in await page.run("document.querySelector('main .problem').innerText")


async def test_the_view_is_accessible_and_fits_into_400_pixels(served: ServedPage) -> None:
    page = await served.open(f"{ADDRESS}&run=1&other=2", width=400, theme="dark")
    await page.wait("document.querySelector('.changes tbody tr')")
    assert await page.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.errors == []
    assert await violations(page) == []
    await page.use_theme("light")
    await page.resize(1280)
    assert await violations(page) == []
