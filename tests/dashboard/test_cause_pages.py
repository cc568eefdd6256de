"""The diagram of causes and the controllers on the page, with a real Deployment."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.dashboard.axe import violations
from tests.dashboard.served_page import ServedPage, new_page

pytestmark = pytest.mark.slow

LABELS = {"app": "web"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": TEMPLATE},
}
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
NODES = "document.querySelectorAll('.diagram .node')"
SELECTED = "document.querySelector('.diagram [aria-selected=true]')"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPage]:
    async with new_page(tmp_path / "profile") as served:
        await served.api("POST", DEPLOYMENTS, WEB)
        yield served


async def test_arrow_keys_lead_from_the_symptom_to_an_origin(served: ServedPage) -> None:
    page = await served.open("why/deployments.apps/default/web")
    await page.wait(f"{NODES}.length > 2")
    assert "symptom" in await page.run(f"{SELECTED}.className.baseVal")
    await page.run(f"{SELECTED}.focus()")
    await page.press("ArrowDown")
    await page.wait(f"!{SELECTED}.className.baseVal.includes('symptom') && document.activeElement === {SELECTED}")
    await page.press("ArrowUp")
    await page.wait(f"{SELECTED}.className.baseVal.includes('symptom')")
    await page.click("main .row button")
    await page.wait(f"{SELECTED}.className.baseVal.includes('origin')")
    assert await page.run("location.hash.includes('node=')")
    assert await violations(page) == []
    assert page.errors == []


async def test_a_write_of_the_diagram_leads_to_its_object_at_that_revision(served: ServedPage) -> None:
    page = await served.open("why/deployments.apps/default/web")
    await page.click(".diagram .node.write")
    await page.wait("document.querySelector('.details a[href*=\"#/object/\"]')")
    await page.click(".details a[href*='#/object/']")
    await page.wait("location.hash.startsWith('#/object/') && location.hash.includes('at=')")
    await page.wait_text("kind: ")


async def test_a_reconcile_shows_its_causes_reads_and_writes(served: ServedPage) -> None:
    page = await served.open("controllers/service-account-controller")
    await page.click(".virtual-rows [role=row]")
    await page.wait("document.querySelector('main h1').innerText.startsWith('Reconcile')")
    for title in ("Causes", "Reads", "Writes"):
        await page.wait_text(title)
    assert page.errors == []
