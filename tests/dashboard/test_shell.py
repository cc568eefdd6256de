"""The frame of the page in a browser: login, navigation, palette, shortcuts, themes, widths."""

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.dashboard.axe import violations
from tests.dashboard.browser import Page
from tests.dashboard.served_page import ServedPage, new_page

from setpoint.server.dashboard.settings import packaged

FILES = Path(packaged.__code__.co_filename).parents[2] / "dashboard" / "page"
MOST_BYTES = 250_000


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPage]:
    """Provides a control plane with the page, and a browser."""
    async with new_page(tmp_path) as page:
        yield page


async def text(page: Page, selector: str) -> str:
    return str(await page.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))


def test_the_page_is_small() -> None:
    files = [path for path in FILES.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg")]
    assert len(files) > 50
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST_BYTES


def test_vendored_modules_are_imported_by_path() -> None:
    for path in (FILES / "vendor").glob("*.js"):
        source = path.read_text()
        assert "sourceMappingURL" not in source
        assert all(each.startswith('"./') for each in source.split("from")[1:] if each.startswith('"')), path


@pytest.mark.slow
async def test_a_page_without_a_login_shows_no_data_and_how_to_log_in(served: ServedPage) -> None:
    page = await served.browser.page()
    await page.open(served.url)
    await page.wait_text("setpoint dashboard")
    assert "Log in" in await text(page, "h1")
    assert not [each for each in page.requests if "/apis/" in each]


@pytest.mark.slow
async def test_the_page_makes_no_request_to_other_hosts_and_keeps_its_policy(served: ServedPage) -> None:
    page = await served.open()
    await page.wait("document.querySelector('main h1').innerText === 'Services'")
    host = served.url.split("/")[2]
    assert page.requests
    assert all(each.split()[1].split("/")[2] == host for each in page.requests)
    assert page.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("file", ["main.js", "shell.js", "vendor/signals-core.js", "styles.css"])
async def test_page_reloads_after_a_lost_file(served: ServedPage, file: str) -> None:
    page = await served.browser.page()
    await page.lose(f"*/assets/{file}", 2)
    await page.open(served.url)
    await page.wait_text("setpoint dashboard")
    assert "Loading" not in await text(page, "body")
    assert await page.run("sessionStorage.getItem('setpoint-reloads')") is None
    assert page.errors == []
    # The browser itself may ask for a file twice, so that two losses can belong to one load of the page.
    assert len([each for each in page.requests if each == f"GET {served.url}"]) in (2, 3)


@pytest.mark.slow
async def test_page_without_a_file_names_the_remedy_after_five_reloads(served: ServedPage) -> None:
    page = await served.browser.page()
    await page.lose("*/assets/shell.js", 100)
    await page.open(served.url)
    await page.wait_text("Check that the server runs, then reload this page.")
    assert len([each for each in page.requests if each == f"GET {served.url}"]) == 6


@pytest.mark.slow
async def test_lost_reads_are_sent_again(served: ServedPage) -> None:
    await served.config_map("settings", color="red")
    page = await served.open()
    await page.lose("*/api/v1/*", 2)
    await page.run("location.hash = '#/object/configmaps/default/settings'")
    await page.wait_text("color: red")
    assert await text(page, ".connection") == "Connected"


@pytest.mark.slow
async def test_table_continues_after_lost_watches(served: ServedPage) -> None:
    await served.config_map("settings")
    page = await served.open()
    await page.lose("*watch=true*", 4)
    await page.run("location.hash = '#/objects/configmaps'")
    await page.wait_text("settings")
    await served.config_map("later")
    await page.wait_text("later")
    await page.wait("document.querySelector('.connection').innerText === 'Connected'")


@pytest.mark.slow
async def test_pages_open_by_keys_and_the_heading_has_the_focus(served: ServedPage) -> None:
    page = await served.open()
    await page.press("g")
    await page.press("l")
    await page.wait("document.activeElement.tagName === 'H1' && document.activeElement.innerText === 'Logs'")
    assert await page.run("location.hash") == "#/logs"
    assert (await page.run("document.title")).startswith("Logs")


@pytest.mark.slow
async def test_the_help_lists_the_shortcuts_and_escape_closes_it(served: ServedPage) -> None:
    page = await served.open()
    await page.press("?")
    await page.wait("document.querySelector('dialog[open] .keys')")
    assert "Show all commands" in await text(page, "dialog")
    await page.press("Escape")
    await page.wait("!document.querySelector('dialog')")


@pytest.mark.slow
async def test_the_palette_finds_commands_by_parts_of_their_names(served: ServedPage) -> None:
    page = await served.open()
    await page.run("document.querySelector('.tools button').click()")
    await page.wait("document.activeElement.getAttribute('role') === 'combobox'")
    for key in "logs":
        await page.press(key)
    await page.wait("document.querySelector('[role=option][aria-selected=true]')?.innerText.includes('Logs')")
    await page.press("Enter")
    await page.wait("location.hash === '#/logs' && !document.querySelector('dialog')")


@pytest.mark.slow
async def test_a_chosen_theme_lasts_and_overrides_that_of_the_system(served: ServedPage) -> None:
    page = await served.open(theme="dark")
    back = "getComputedStyle(document.body).backgroundColor"
    assert await page.run(back) == "rgb(20, 23, 28)"
    select = "const e = document.querySelector('#theme'); e.value = 'light'; e.dispatchEvent(new Event('change'))"
    await page.run(f"{{{select}}}")
    await page.wait(f"{back} === 'rgb(255, 255, 255)'")
    await page.run("location.reload()")
    await page.wait(f"document.querySelector('main h1') && {back} === 'rgb(255, 255, 255)'")


@pytest.mark.slow
async def test_an_unknown_address_offers_the_start_page(served: ServedPage) -> None:
    page = await served.open("no/such/page")
    await page.wait_text("The address names no page")


@pytest.mark.slow
async def test_a_login_that_ends_shows_the_login_screen(served: ServedPage) -> None:
    page = await served.open()
    headers = "{method: 'POST', headers: {'Setpoint-Page': '1'}}"
    await page.run(f"fetch('/dashboard/logout', {headers}).then(() => {{ location.hash = '#/logs' }})")
    await page.wait_text("Log in")


@pytest.mark.slow
async def test_a_table_of_ten_thousand_rows_has_elements_only_for_visible_rows(served: ServedPage) -> None:
    page = await served.open()
    await page.run(
        """(async () => {
        const { Table } = await import("/dashboard/assets/table.js");
        const { html, render } = await import("/dashboard/assets/view.js");
        const row = (_, number) => ({ id: String(number), name: `row ${9999 - number}` });
        const rows = Array.from({ length: 10000 }, row);
        const columns = [{ name: "name", title: "Name", value: (row) => row.name }];
        const place = document.createElement("div");
        place.id = "ten-thousand";
        document.querySelector("main").append(place);
        window.opened = [];
        const open = (row) => window.opened.push(row.name);
        const properties = { columns, rows, rowKey: (row) => row.id, label: "Many", onOpen: open };
        render(html`<${Table} ...${properties} />`, place);
        })()"""
    )
    grid = "document.querySelector('#ten-thousand [role=grid]')"
    count = f"{grid}.querySelectorAll('[role=row]').length"
    await page.wait(f"{count} > 10")
    assert await page.run(f"{grid}.getAttribute('aria-rowcount')") == "10001"
    assert await page.run(count) < 60
    await page.run(f"{grid}.querySelector('button').click()")
    await page.wait(f"{grid}.innerText.includes('row 0\\n')")
    await page.run(f"{grid}.focus()")
    await page.press("End")
    await page.wait(f"{grid}.innerText.includes('row 9999')")
    assert await page.run(count) < 60
    await page.press("Enter")
    await page.wait("window.opened.join() === 'row 9999'")


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_frame_is_accessible_in_both_themes(served: ServedPage, theme: str, width: int) -> None:
    page = await served.open("logs", width=width, theme=theme)
    await page.wait("document.querySelector('.log-filter')")
    assert await violations(page) == []
    assert await page.run("document.documentElement.scrollWidth") <= width
    await page.press("?")
    await page.wait("document.querySelector('dialog[open]')")
    assert await violations(page) == []
