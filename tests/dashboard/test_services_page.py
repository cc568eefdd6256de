"""The services in a browser: the start page, logs, the terminal, YAML, and users with fewer rights."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.dashboard.axe import violations
from tests.dashboard.browser import Page
from tests.dashboard.served_page import GROUP, ServedPage, executable, new_page

from setpoint.server.dashboard.settings import DashboardSettings

pytestmark = pytest.mark.slow
EXECUTABLES = f"/apis/{GROUP}/v1/executables"
SERVER = "import time; print('ready to serve'); time.sleep(1000)"
# Many lines at once, of which thousands have the same time; and lines with different times.
BURST = "for i in range(0, 20000, 400): print('\\n'.join(f'number {n}' for n in range(i, i + 400)))"
MANY = f"import time\n{BURST}; time.sleep(0.01)"
TALKER = "import sys; [print('line', sys.stdin.readline().strip()) for _ in range(1000)]"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ServedPage]:
    """Provides a control plane that runs workloads, and a browser."""
    async with new_page(tmp_path / "profile", workloads=True) as page:
        yield page


async def start(served: ServedPage, *objects: dict[str, Any]) -> None:
    for each in objects:
        await served.api("POST", EXECUTABLES, each)


async def spec_of(served: ServedPage, name: str) -> Any:
    return (await served.api("GET", f"{EXECUTABLES}/{name}"))["spec"]


def row(name: str) -> str:
    return f"[...document.querySelectorAll('main [role=row]')].find((row) => row.innerText.startsWith('{name}'))"


async def type_text(page: Page, selector: str, value: str) -> None:
    """Enters a text as a user does, in a field of Preact."""
    field = f"document.querySelector({json.dumps(selector)})"
    await page.wait(f"{field} !== null")
    await page.run(
        f"{{ const field = {field}; field.focus(); field.value = {json.dumps(value)};"
        " field.dispatchEvent(new Event('input', { bubbles: true })) }"
    )


def service(name: str, query: str = "") -> str:
    return f"service/executables.{GROUP}/{name}{query}"


async def test_failing_services_come_first_with_the_reason_and_others_follow_live(served: ServedPage) -> None:
    page = await served.open()
    await page.wait_text("The app has no parts")
    waits = [{"kind": "Executable", "name": "server", "condition": "Ready"}]
    await start(served, executable("server", SERVER), executable("user", SERVER, dependsOn=waits))
    await page.wait(f"{row('server')}?.innerText.includes('Ready')")
    await start(served, executable("broken", "print('no database'); raise SystemExit(3)"))
    await page.wait("document.querySelector('main h2').innerText === 'Failing'")
    await page.wait(f"{row('broken')}.innerText.includes('Failed') && {row('broken')}.innerText.includes('3')")
    await page.wait_text("1 failing")
    labels = "[...document.querySelectorAll('.graph a')].map((each) => each.getAttribute('aria-label')).join('; ')"
    await page.wait(f"{labels}.includes('user, Ready, depends on server')")
    assert page.errors == []


async def test_why_leads_to_the_saved_file_that_restarted_a_service(served: ServedPage, tmp_path: Path) -> None:
    file = tmp_path / "main.py"
    file.touch()
    watch = {"paths": [str(file)], "debounce": "10ms"}
    await start(served, executable("server", SERVER, watch=watch))
    client = served.client
    await client.wait_for(f"{GROUP}/v1/Executable", "server", until="condition=Watching", timeout=60)
    file.write_text("changed")
    await client.wait_for(
        f"{GROUP}/v1/Executable", "server", until=lambda tree: bool(tree["status"].get("restartReason")), timeout=60
    )
    page = await served.open(f"why/executables.{GROUP}/-/server")
    await page.wait("document.querySelector('.diagram .node.file.origin')")
    await page.click("main .row button")
    await page.wait("document.querySelector('.details h2').innerText.endsWith('main.py was saved')")
    details = await page.run("document.querySelector('.details').innerText")
    assert "restarted server" in details
    assert await page.run("[...document.querySelectorAll('.details dt')].map((each) => each.innerText)") == [
        "Type",
        "File",
        "Time",
    ]
    await page.run("document.querySelector('#depth').value = '2'")
    await page.run("document.querySelector('#depth').dispatchEvent(new Event('change', { bubbles: true }))")
    await page.wait("location.hash.includes('depth=2') && document.querySelector('.diagram .node.file')")
    assert await violations(page) == []
    assert page.errors == []


async def test_a_service_is_stopped_and_started_by_its_buttons(served: ServedPage) -> None:
    await start(served, executable("server", SERVER))
    page = await served.open()
    await page.click("[aria-label='Stop server']")
    await page.wait(f"{row('server')}.innerText.includes('Stopped')")
    assert (await spec_of(served, "server"))["suspend"] is True
    await page.click("[aria-label='Start server']")
    await page.wait(f"{row('server')}.innerText.includes('Ready')")
    assert not (await spec_of(served, "server")).get("suspend")
    await page.click("[aria-label='Restart server']")
    path = f"{EXECUTABLES}/server"
    await page.wait(
        f"fetch('{path}', {{headers: {{'Setpoint-Page': '1'}}}}).then((each) => each.json())"
        ".then((tree) => Boolean(tree.metadata.annotations?.['setpoint.dev/restart-requested-at']))"
    )


async def test_an_action_without_the_right_says_so_and_changes_nothing(served: ServedPage) -> None:
    await start(served, executable("server", SERVER))
    read = ["get", "list", "watch"]
    await served.role("reader", [{"apiGroups": [GROUP, "setpoint.dev"], "resources": ["*"], "verbs": read}])
    page = await served.open(user="reader")
    await page.click("[aria-label='Stop server']")
    await page.wait("document.querySelector('.note.failed')")
    assert 'cannot patch resource "executables"' in await page.run("document.querySelector('.note.failed').innerText")
    assert not (await spec_of(served, "server")).get("suspend")


async def test_a_user_without_rights_is_told_what_is_missing(served: ServedPage) -> None:
    await start(served, executable("server", SERVER))
    await served.role("nobody", [])
    page = await served.open(user="nobody")
    await page.wait("document.querySelector('[role=alert]')?.innerText.includes('You may not read this')")
    assert "server" not in await page.run("document.querySelector('main').innerText.replace('the server', '')")
    await page.run(f"location.hash = {json.dumps('#/' + service('server'))}")
    await page.wait("document.querySelector('h1').innerText === 'server' && document.querySelector('[role=alert]')")
    assert "ready to serve" not in await page.run("document.body.innerText")


LOG = (
    "[...document.querySelectorAll('.log-line')].map((line) => [...line.querySelectorAll('.log-name, .log-text')]"
    ".map((each) => each.textContent).join(' ')).join('\\n')"
)


async def test_logs_are_merged_filtered_by_the_address_and_followed(served: ServedPage) -> None:
    code = "import time\nfor i in range(3): print('INFO order', i)\nprint('ERROR lost')\ntime.sleep(1000)"
    await start(served, executable("api", code), executable("web", code.replace("order", "page")))
    page = await served.open("logs")
    await page.wait(f"{LOG}.includes('api info: INFO order 2') && {LOG}.includes('web info: INFO page 2')")
    await type_text(page, "input[type=search]", "(order|page) 1")
    await page.wait(f"{LOG}.split('\\n').length === 2 && {LOG}.includes('order 1') && {LOG}.includes('page 1')")
    assert "grep=%28order%7Cpage%29+1" in await page.run("location.hash")
    await page.run("location.hash = '#/logs?level=error&services=web'")
    await page.wait(f"{LOG}.includes('web error: ERROR lost') && {LOG}.split('\\n').length === 1")
    await page.run("location.hash = '#/logs?grep=%5B'")
    await page.wait("document.querySelector('[role=alert]')?.innerText.includes('grep')")
    await page.run("location.hash = '#/logs'")
    await page.wait(f"{LOG}.includes('order 2')")
    await start(served, executable("late", "import time; print('here too'); time.sleep(1000)"))
    await page.wait(f"{LOG}.includes('late here too')")


async def open_finished(served: ServedPage, code: str) -> Page:
    """Opens the log of a service that printed 20,000 lines."""
    await start(served, executable("many", code))
    finished = await served.client.wait_for(f"{GROUP}/v1/Executable", "many", until="jsonpath={.status.state}=Finished")
    assert finished is not None
    assert finished["status"]["exitCode"] == 0
    page = await served.open(service("many"))
    await page.wait(f"{LOG}.includes('number 19999')")
    return page


async def test_every_line_of_a_burst_is_reached(served: ServedPage) -> None:
    page = await open_finished(served, BURST)
    await page.run("document.querySelector('.log-box').dispatchEvent(new WheelEvent('wheel', {deltaY: -100}))")
    at_top = "document.querySelector('.virtual').scrollTop = 0"
    await page.wait(f"({at_top}, {LOG}.split('\\n').includes('many number 0'))")
    at_end = "document.querySelector('.virtual').scrollTop = 1e9"
    await page.wait(f"({at_end}, {LOG}.includes('number 19999'))")


# Makes timers of effects, which limit the wait for a frame, end before the frame.
SLOW_FRAMES = (
    "{ const wait = setTimeout; setTimeout = (f, ms, ...rest) => wait(f, ms >= 30 && ms <= 100 ? 0 : ms, ...rest) }"
)


@pytest.mark.parametrize("preparation", ["", SLOW_FRAMES], ids=["frames in time", "slow frames"])
async def test_a_position_held_at_the_first_line_reads_on(served: ServedPage, preparation: str) -> None:
    page = await open_finished(served, MANY)
    await page.run(preparation or "null")
    await page.run("document.querySelector('.log-box').dispatchEvent(new WheelEvent('wheel', {deltaY: -100}))")
    # A scroll bar held at its top returns there before the next frame.
    held = "box.addEventListener('scroll', () => (box.scrollTop = 0)); box.scrollTop = 0"
    await page.run(f"(() => {{ const box = document.querySelector('.virtual'); {held} }})()")
    await page.wait(f"{LOG}.split('\\n').includes('many number 0')")


async def test_a_long_log_is_read_in_windows(served: ServedPage) -> None:
    page = await open_finished(served, MANY)
    assert await page.run("document.querySelectorAll('.log-line').length") < 200
    read = "Number(document.querySelector('.log-foot').innerText.split(' ')[0])"
    assert await page.run(read) < 10_000
    before = await page.run(read)
    await page.run("document.querySelector('.log-box').dispatchEvent(new WheelEvent('wheel', {deltaY: -100}))")
    await page.run("document.querySelector('.virtual').scrollTop = 0")
    await page.wait(f"{read} > {before}")
    for _ in range(3):
        await page.run("document.querySelector('.virtual').scrollTop = 0")
    await page.run(
        "[...document.querySelectorAll('button')].find((each) => each.innerText === 'Go to the end').click()"
    )
    await page.wait(f"{LOG}.includes('number 19999')")
    assert await page.run("document.querySelectorAll('.log-line').length") < 200


async def test_a_line_shows_its_fields(served: ServedPage) -> None:
    line = '{"level": "warn", "msg": "slow", "order": 7}'
    await start(served, executable("api", f"import time; print('{line}'); time.sleep(1000)"))
    page = await served.open(service("api"))
    await page.wait(f"{LOG}.includes('slow order=7')")
    await page.click(".log-line")
    await page.wait("document.querySelector('dialog[open]')?.innerText.includes('order')")
    assert "warning" in await page.run("document.querySelector('dialog').innerText")


async def test_errors_are_counted_until_the_log_was_seen(served: ServedPage) -> None:
    code = "import time; time.sleep(0.2); print('ERROR one'); print('ERROR two'); time.sleep(1000)"
    await start(served, executable("api", code))
    page = await served.open()
    await page.wait(f"{row('api')}?.querySelector('.badge')?.innerText === '2'")
    await page.run(f"{row('api')}.querySelector('.badge').click()")
    await page.wait(f"{LOG}.includes('ERROR two')")
    await page.run("location.hash = '#/'")
    await page.wait(f"{row('api')} && !{row('api')}.querySelector('.badge')")


async def test_a_terminal_takes_input_and_shows_output(served: ServedPage) -> None:
    await start(served, executable("shell", TALKER, terminal={}))
    page = await served.open(service("shell"))
    await page.wait_text("Attached")
    await page.click(".terminal")
    for key in "hello":
        await page.press(key)
    await page.press("Enter")
    await page.wait("document.querySelector('.terminal').innerText.includes('line hello')")
    assert page.errors == []


YAML = "document.querySelector('.yaml textarea')"


async def press_button(page: Page, name: str) -> None:
    button = f"[...document.querySelectorAll('main button')].find((each) => each.innerText === {json.dumps(name)})"
    await page.wait(f"{button} && !{button}.disabled")
    await page.run(f"{button}.click()")


async def edit(page: Page, old: str, new: str) -> None:
    await page.wait(f"{YAML}?.value.includes({json.dumps(old)})")
    text = await page.run(f"{YAML}.value")
    await type_text(page, ".yaml textarea", text.replace(old, new))


async def test_yaml_is_checked_and_only_changed_fields_are_saved(served: ServedPage) -> None:
    await start(served, executable("server", SERVER, stopTimeout="6s"))
    page = await served.open(service("server", "?tab=yaml"))
    await edit(page, "stopTimeout: 6s", "stopTimeout: 7s")
    await press_button(page, "Check (dry run)")
    await page.wait("document.querySelector('.changes')?.innerText.includes('spec.stopTimeout')")
    assert (await spec_of(served, "server"))["stopTimeout"] == "6s"
    # Another client changes another field and the status meanwhile.
    await served.api("PATCH", f"{EXECUTABLES}/server", {"metadata": {"annotations": {"seen": "yes"}}})
    await served.api("PATCH", f"{EXECUTABLES}/server/status", {"status": {"exitCode": 9}})
    await press_button(page, "Save")
    await page.wait_text("Saved. The changed fields:")
    saved = await served.api("GET", f"{EXECUTABLES}/server")
    assert saved["spec"]["stopTimeout"] == "7s"
    assert saved["metadata"]["annotations"]["seen"] == "yes"


async def test_a_field_that_both_changed_is_named_and_nothing_is_saved(served: ServedPage) -> None:
    await start(served, executable("server", SERVER, stopTimeout="6s"))
    page = await served.open(service("server", "?tab=yaml"))
    await edit(page, "stopTimeout: 6s", "stopTimeout: 7s")
    await edit(page, "stopSignal: SIGTERM", "stopSignal: SIGINT")
    await served.api("PATCH", f"{EXECUTABLES}/server", {"spec": {"stopTimeout": "8s"}})
    await press_button(page, "Save")
    await page.wait("document.querySelector('.yaml [role=alert]')?.innerText.includes('spec.stopTimeout')")
    saved = await spec_of(served, "server")
    assert (saved["stopTimeout"], saved["stopSignal"]) == ("8s", "SIGTERM")


async def test_yaml_with_a_fault_names_the_line_and_the_server_the_field(served: ServedPage) -> None:
    await start(served, executable("server", SERVER, stopTimeout="6s"))
    page = await served.open(service("server", "?tab=yaml"))
    await edit(page, "stopTimeout: 6s", "stopTimeout: never")
    await press_button(page, "Check (dry run)")
    await page.wait("document.querySelector('.yaml [role=alert]')?.innerText.includes('spec.stopTimeout')")
    await edit(page, "stopTimeout: never", "stopTimeout: yes")
    await press_button(page, "Check (dry run)")
    await page.wait("document.querySelector('.yaml [role=alert]')?.innerText.includes('line ')")


@pytest.mark.parametrize(("width", "theme"), [(400, "dark"), (1280, "light")])
async def test_the_views_of_services_are_accessible(served: ServedPage, width: int, theme: str) -> None:
    waits = [{"kind": "Executable", "name": "server", "condition": "Ready"}]
    await start(
        served,
        executable("server", "print('ERROR a'); " + SERVER),
        executable("user", SERVER, dependsOn=waits),
        executable("broken", "raise SystemExit(3)"),
        executable("shell", TALKER, terminal={}),
    )
    page = await served.open(width=width, theme=theme)
    await page.wait("document.querySelector('.graph a') && document.body.innerText.includes('1 failing')")
    assert await violations(page) == []
    assert await page.run("document.documentElement.scrollWidth") <= width
    for tab in ("", "environment", "probes", "references", "attempts", "events", "usage", "yaml"):
        await page.run(f"location.hash = {json.dumps('#/' + service('server', '?tab=' + tab))}")
        await page.wait(f"document.querySelector('[role=tabpanel]')?.getAttribute('aria-labelledby').endsWith('{tab}')")
        await page.wait("!document.querySelector('[role=tabpanel]').innerText.includes('Reading')")
        assert await violations(page) == [], tab
        assert await page.run("document.documentElement.scrollWidth") <= width, tab
    await page.run(f"location.hash = {json.dumps('#/' + service('shell'))}")
    await page.wait_text("Attached")
    assert await violations(page) == []
    assert page.errors == []


async def test_the_usage_of_a_process_is_a_chart(served: ServedPage) -> None:
    await start(served, executable("server", SERVER))
    page = await served.open(service("server", "?tab=usage"))
    await page.wait("document.querySelectorAll('.chart polyline').length === 2")
    charts = await page.run("[...document.querySelectorAll('.chart')].map((chart) => chart.innerText)")
    assert [text.split(" ")[0] for text in charts] == ["CPU", "Memory"]
    assert "server:" in charts[0]


async def test_the_timeline_shows_the_critical_path(served: ServedPage) -> None:
    waits = [{"kind": "Executable", "name": "db", "condition": "Ready"}]
    await start(served, executable("db", SERVER), executable("api", SERVER, dependsOn=waits))
    page = await served.open()
    await page.wait("[...document.querySelectorAll('main .state')].filter((e) => e.innerText === 'Ready').length === 2")
    await page.run("location.hash = '#/time?tab=timeline'")
    await page.wait_text("Critical path: Executable/db → Executable/api")
    bars = "[...document.querySelectorAll('.timeline-bar.Ready')].length"
    assert await page.run(bars) == 2
    assert page.errors == []


async def test_an_archive_offers_no_changes(tmp_path: Path) -> None:
    settings = DashboardSettings(app="shop", read_only=True, is_archive=True)
    async with new_page(tmp_path / "profile", settings, workloads=True) as served:
        await start(served, executable("server", SERVER))
        page = await served.open(service("server", "?tab=yaml"))
        await page.wait_text("read-only")
        await page.wait("document.querySelector('textarea')?.value.includes('executablePath')")
        names = await page.run("[...document.querySelectorAll('main button')].map((e) => e.ariaLabel || e.innerText)")
        assert not [name for name in names if name.startswith(("Stop", "Restart", "Start", "Scale", "Save", "Check"))]


async def test_the_selected_time_ends_the_logs_and_hides_the_actions(served: ServedPage, tmp_path: Path) -> None:
    signal = tmp_path / "go"
    code = (
        "import os, time\nprint('before')\n"
        f"while not os.path.exists({str(signal)!r}): time.sleep(0.05)\n"
        "print('after'); time.sleep(1000)"
    )
    await start(served, executable("api", code))
    page = await served.open("logs")
    await page.wait(f"{LOG}.includes('before')")
    tree = await served.api("PATCH", f"{EXECUTABLES}/api", {"metadata": {"annotations": {"now": "yes"}}})
    signal.touch()
    await page.wait(f"{LOG}.includes('after')")
    revision = tree["metadata"]["resourceVersion"]
    await page.run(f"location.hash = '#/logs?at={revision}'")
    await page.wait(f"{LOG}.includes('before') && !{LOG}.includes('after')")
    await page.run(f"location.hash = '#/?at={revision}'")
    await page.wait(f"{row('api')} && !document.querySelector('[aria-label=\"Stop api\"]')")
    assert page.errors == []
