"""The pages of the past and of the objects, in Chromium with a real server."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.dashboard.axe import violations
from tests.dashboard.browser import Page
from tests.dashboard.served_page import ServedPage, new_page

pytestmark = pytest.mark.slow

SETTINGS = "object/configmaps/default/settings"
PAGES = (
    "objects",
    "objects/configmaps",
    SETTINGS,
    f"{SETTINGS}?blame=1",
    f"{SETTINGS}?tab=changes",
    f"{SETTINGS}?tab=relations",
    "time",
    "time?tab=timeline",
    "controllers",
    "telemetry?tab=logs",
)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPage]:
    # Without the system controllers, only the tests write.
    async with new_page(tmp_path / "profile", system=False) as served:
        yield served


async def text_of(page: Page, selector: str = "main") -> str:
    return str(await page.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))


async def test_a_table_follows_the_changes_of_its_objects(served: ServedPage) -> None:
    await served.config_map("settings", colour="red")
    page = await served.open("objects/configmaps")
    await page.wait_text("settings")
    await served.config_map("later")
    await page.wait_text("later")
    await served.api("DELETE", "/api/v1/namespaces/default/configmaps/later")
    await page.wait("!document.querySelector('main').innerText.includes('later')")
    await page.press("Tab")
    await page.run("document.querySelector('.virtual').focus()")
    await page.press("ArrowDown")
    await page.press("Enter")
    await page.wait(f"location.hash.startsWith('#/{SETTINGS}')")
    await page.wait_text("colour: red")
    # The ended watch of the table is no lost connection.
    assert await page.run("document.querySelector('.connection').innerText") == "Connected"
    assert page.errors == []


async def test_only_the_visible_ones_of_many_objects_have_rows(served: ServedPage) -> None:
    for number in range(1500):
        await served.config_map(f"object-{number}")
    page = await served.open("objects/configmaps")
    await page.wait_text("1500 of 1500")
    rows = "document.querySelectorAll('.virtual-rows [role=row]').length"
    assert 0 < await page.run(rows) < 80
    await page.run("document.querySelector('.virtual').scrollTop = 1e9")
    await page.wait_text("object-999")
    assert await page.run(rows) < 80
    assert await page.run("document.querySelectorAll('*').length") < 1500


async def test_the_slider_shows_the_whole_page_at_a_revision(served: ServedPage) -> None:
    await served.config_map("settings", colour="red")
    await served.change("settings", colour="green")
    await served.change("settings", colour="blue")
    page = await served.open(SETTINGS)
    await page.wait_text("colour: blue")
    await page.press("[")
    await page.wait_text("colour: green")
    await page.press("[")
    await page.wait_text("colour: red")
    assert "at=" in await page.run("location.hash")
    await page.press("]")
    await page.wait_text("colour: green")
    await page.press("l")
    await page.wait_text("colour: blue")
    assert "at=" not in await page.run("location.hash")
    assert page.errors == []


async def test_a_link_opens_the_page_at_its_revision(served: ServedPage) -> None:
    revision = (await served.config_map("settings", colour="red"))["metadata"]["resourceVersion"]
    await served.change("settings", colour="blue")
    page = await served.open(f"{SETTINGS}?at={revision}")
    await page.wait_text("colour: red")
    await page.wait_text(f"Revision {revision}")
    # Every link of the page keeps the time.
    await page.click("main a[href*='objects/configmaps']")
    await page.wait(f"location.hash.includes('at={revision}')")


async def test_the_playback_runs_to_the_newest_state(served: ServedPage) -> None:
    for number in range(3):
        await (served.change if number else served.config_map)("settings", colour=f"colour-{number}")
    page = await served.open(SETTINGS)
    await page.wait_text("colour-2")
    await page.press("[")
    await page.wait_text("colour-1")
    await page.click("[aria-label=Play]")
    await page.wait_text("colour-2")
    await page.wait("document.querySelector('[aria-label=Play]')")


async def test_the_slider_is_operated_by_keys(served: ServedPage) -> None:
    await served.config_map("settings", colour="red")
    await served.change("settings", colour="blue")
    page = await served.open(SETTINGS)
    await page.wait_text("colour: blue")
    await page.run("document.querySelector('.time-slider').focus()")
    await page.wait("Number(document.querySelector('.time-slider').max) > 1")
    await page.press("ArrowLeft")
    await page.wait_text("colour: red")
    assert "ConfigMap settings" in await page.run(
        "document.querySelector('.time-slider').getAttribute('aria-valuetext')"
    )
    await page.press("End")
    await page.wait_text("colour: blue")


async def test_two_revisions_of_an_object_are_compared(served: ServedPage) -> None:
    await served.config_map("settings", colour="red", size="1")
    await served.change("settings", colour="green")
    await served.change("settings", colour="blue")
    page = await served.open(f"{SETTINGS}?tab=changes")
    await page.wait("document.querySelector('.changes tbody tr')")
    assert "green" in await text_of(page, ".changes")
    await page.click("tr:last-child input[name=from]")
    await page.wait("document.querySelector('.changes').innerText.includes('red')")
    assert (await text_of(page, ".changes tbody")).split() == ["data.colour", "red", "blue"]


async def test_each_line_names_the_revision_of_its_value(served: ServedPage) -> None:
    first = (await served.config_map("settings", colour="red", size="1"))["metadata"]["resourceVersion"]
    last = (await served.change("settings", colour="blue"))["metadata"]["resourceVersion"]
    page = await served.open(f"{SETTINGS}?blame=1")
    await page.wait_text("colour: blue")
    lines = await page.run("[...document.querySelectorAll('.line')].map((line) => line.innerText.split(/\\s+/))")
    assert [line[0] for line in lines if "colour:" in line] == [last]
    assert [line[0] for line in lines if "size:" in line] == [first]


async def test_the_data_of_secrets_is_never_shown(served: ServedPage) -> None:
    path = "/api/v1/namespaces/default/secrets"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"k": "first"}}
    await served.api("POST", path, secret)
    await served.api("PATCH", f"{path}/key", {"stringData": {"k": "second"}})
    for query in ("", "?blame=1", "?tab=changes"):
        page = await served.open(f"object/secrets/default/key{query}")
        await page.wait_text("***")
        text = await text_of(page)
        assert "Zmlyc3Q" not in text, query
        assert "c2Vjb25k" not in text, query


async def test_the_changes_of_the_whole_app_are_listed(served: ServedPage) -> None:
    first = (await served.config_map("settings", colour="red"))["metadata"]["resourceVersion"]
    await served.config_map("other")
    last = (await served.change("settings", colour="blue"))["metadata"]["resourceVersion"]
    page = await served.open(f"time?from={first}&to={last}&text=configmaps")
    await page.wait_text("2 objects changed")
    await page.click(".changed-objects .changed button")
    await page.wait("document.querySelector('.changes tbody tr')")
    assert (await text_of(page, ".changes tbody")).split() == ["data.colour", "red", "blue"]


async def test_an_object_of_the_past_that_is_deleted_now_can_be_opened(served: ServedPage) -> None:
    revision = (await served.config_map("settings", colour="red"))["metadata"]["resourceVersion"]
    await served.api("DELETE", "/api/v1/namespaces/default/configmaps/settings")
    page = await served.open(SETTINGS)
    await page.wait_text("The object does not exist now.")
    await page.run(f"location.hash += '?at={revision}'")
    await page.wait_text("colour: red")


async def test_relations_lead_to_owners_and_dependents(served: ServedPage) -> None:
    uid = (await served.config_map("owner"))["metadata"]["uid"]
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": owners}}
    await served.api("POST", "/api/v1/namespaces/default/configmaps", tree)
    page = await served.open("object/configmaps/default/owner?tab=relations")
    await page.wait_text("ConfigMap owned")
    await page.click(".tree a")
    await page.wait("document.querySelector('h1').innerText.startsWith('owned')")


async def test_a_user_without_rights_reads_the_reason(served: ServedPage) -> None:
    await served.config_map("settings")
    roles = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": ["setpoint.dev"], "resources": ["dashboardlogins"], "verbs": ["create"]}
    role = {"metadata": {"name": "page"}, "rules": [rule]}
    await served.api("POST", f"{roles}/clusterroles", role)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "page"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}
    binding = {"metadata": {"name": "page"}, "roleRef": reference, "subjects": [subject]}
    await served.api("POST", f"{roles}/clusterrolebindings", binding)
    page = await served.open("objects/configmaps", user="ann", groups=("system:authenticated",))
    await page.wait("document.querySelector('main .problem')")
    assert "ann" in await text_of(page, ".problem")
    await page.run("document.querySelector('.time-slider').focus()")
    await page.wait("document.querySelector('.time-problem')")
    assert page.errors == []


async def test_an_idle_page_sends_no_requests(served: ServedPage) -> None:
    await served.config_map("settings", colour="red")
    page = await served.open("objects/configmaps")
    await page.wait_text("settings")
    await page.wait_text("1 of 1")
    before = len(page.requests)
    # A minute passes for the timers of the page, without a wait of this test.
    await page.advance(60_000)
    assert page.requests[before:] == []


@pytest.mark.parametrize("address", PAGES)
async def test_pages_are_accessible_and_fit_into_400_pixels(served: ServedPage, address: str) -> None:
    await served.config_map("settings", colour="red")
    await served.change("settings", colour="blue")
    page = await served.open(address, width=400, theme="dark")
    await page.wait("!document.querySelector('main').innerText.includes('Reading')")
    assert await page.run("document.documentElement.scrollWidth <= innerWidth")
    assert page.errors == []
    assert await violations(page) == []
    await page.use_theme("light")
    await page.resize(1280)
    assert await violations(page) == []
