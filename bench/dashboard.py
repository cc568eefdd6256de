"""The dashboard in Chromium, with 10,000 objects and 1,000,000 log lines: `python -m bench.dashboard`.

Prints the compressed size of the page, the time to the first paint and to the first rows, the longest task while a
table or a log is scrolled, the memory of the page, the delay of a change, and the processor time of the host while the
page is idle. Tasks are measured in processor time of the page's main thread, which other programs on the machine do not
lengthen. The server runs in this process, so that its processor time is that of this process, without the browser.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.dashboard.browser import Page
from tests.dashboard.served_page import ServedPage, new_page

OBJECTS = 10_000
LINES = 1_000_000
_CHANGES = 20
_IDLE_SECONDS = 20
_AT_ONCE = 50
_SCROLLS = 300
_SCROLL = f"""
new Promise((done) => {{
  const list = document.querySelector(".virtual");
  let count = 0;
  const scroll = () => {{
    list.scrollTop = (list.scrollHeight * (count * 37 % {_SCROLLS})) / {_SCROLLS};
    count += 1;
    if (count < {_SCROLLS}) requestAnimationFrame(scroll);
    else setTimeout(done, 200);
  }};
  scroll();
}})
"""
# Lines of several levels, with different times.
_PRINT = f"""
import sys, time
for start in range(0, {LINES}, 1000):
    sys.stdout.write("".join(f"request {{n}} took {{n % 97}} ms\\n" for n in range(start, start + 1000)))
    sys.stdout.flush()
    time.sleep(0.001)
"""
# Scrolls back through the log by pages, each of which the page may have to read.
_SCROLL_LOG = f"""
new Promise((done) => {{
  const list = document.querySelector(".virtual");
  list.dispatchEvent(new WheelEvent("wheel", {{deltaY: -100, bubbles: true}}));
  let count = 0;
  const scroll = () => {{
    list.scrollTop -= list.clientHeight * 3;
    count += 1;
    if (count < {_SCROLLS}) requestAnimationFrame(scroll);
    else setTimeout(done, 200);
  }};
  scroll();
}})
"""
# The moment at which a text appears in the document, in seconds since 1970.
_APPEARS = """
new Promise((done) => {{
  const look = () => document.querySelector("main").innerText.includes({text}) &&
    (observer.disconnect(), done((performance.timeOrigin + performance.now()) / 1000));
  const observer = new MutationObserver(look);
  observer.observe(document.body, {{subtree: true, childList: true, characterData: true}});
  look();
}})
"""
_GROUP = "usvc-dev.developer.microsoft.com"
_MODULES = "performance.getEntriesByType('resource').filter((e) => e.name.includes('/dashboard/'))"
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


async def _create(served: ServedPage) -> None:
    turn = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> None:
        async with turn:
            await served.config_map(f"object-{number}", colour="red", number=str(number))

    await asyncio.gather(*(one(number) for number in range(OBJECTS)))


def _longest(events: list[dict[str, Any]]) -> float:
    """Returns the processor time of the longest task on the main threads of pages, in milliseconds."""
    threads = {(each["pid"], each["tid"]) for each in events if each["name"] == "FireAnimationFrame"}
    tasks = (each for each in events if each["name"].endswith("RunTask") and (each["pid"], each["tid"]) in threads)
    return max((each.get("tdur", 0) for each in tasks), default=0) / 1000


async def _memory(page: Page) -> float:
    """Returns the used memory of JavaScript after a collection, in MB."""
    await page.send("HeapProfiler.enable")
    await page.send("HeapProfiler.collectGarbage")
    used = await page.send("Runtime.getHeapUsage")
    return float(used["usedSize"] + used.get("embedderHeapUsedSize", 0) + used.get("backingStorageSize", 0)) / 1e6


async def _delays(served: ServedPage, page: Page) -> list[float]:
    """Returns the seconds from the requests of changes to their appearance on the page that shows the object."""
    found = []
    for number in range(_CHANGES):
        appearing = asyncio.create_task(page.run(_APPEARS.format(text=json.dumps(f"change-{number}."))))
        await asyncio.sleep(0.2)
        began = time.time()
        await served.change("object-0", colour=f"change-{number}.")
        found.append(await appearing - began)
    return found


async def measured_table() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with new_page(Path(directory), system=False) as served:
            await _create(served)
            page = await served.open("objects")
            await page.run("location.hash = '#/objects/configmaps'")
            await served.browser.start_tracing()
            began = time.perf_counter()
            await page.send("Page.reload", ignoreCache=True)
            await page.wait("document.querySelector('.virtual-rows [role=row]')")
            rows = time.perf_counter() - began
            await page.wait(f"document.body.innerText.includes('{OBJECTS} of {OBJECTS}')")
            whole = time.perf_counter() - began
            size = await page.run(f"{_MODULES}.reduce((sum, e) => sum + e.encodedBodySize, 0)")
            count = await page.run(f"{_MODULES}.length")
            line("page, compressed", size / 1000, "KB", f"aim 250; {count} files")
            line("first paint", await page.run(_PAINT), "ms", "aim 1000")
            line("first rows", rows * 1000, "ms")
            line(f"all {OBJECTS:,} rows", whole * 1000, "ms")
            line("longest task while loading", _longest(await served.browser.stop_tracing()), "ms")
            await served.browser.start_tracing()
            await page.run(_SCROLL)
            line(f"longest task in {_SCROLLS} scrolls", _longest(await served.browser.stop_tracing()), "ms", "aim 50")
            line("memory of the page", await _memory(page), "MB", "aim 150")
            line("elements", await page.run("document.querySelectorAll('*').length"), "")
            before, requests = time.process_time(), len(page.requests)
            await asyncio.sleep(_IDLE_SECONDS)
            share = (time.process_time() - before) / _IDLE_SECONDS * 100
            line("host with an idle page", share, "% of a core", f"aim 1; {len(page.requests) - requests} requests")
            await page.run("location.hash = '#/object/configmaps/default/object-0'")
            await page.wait("document.querySelector('main').innerText.includes('colour')")
            delays = await _delays(served, page)
            line("delay of a change, median", statistics.median(delays) * 1000, "ms", "aim 200")
            line("delay of a change, longest", max(delays) * 1000, "ms", f"{_CHANGES} changes")
            _check(page)


async def measured_log() -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with new_page(Path(directory), system=False, workloads=True) as served:
            path = f"/apis/{_GROUP}/v1/executables"
            spec = {"executablePath": sys.executable, "args": ["-c", _PRINT]}
            metadata = {"name": "api", "labels": {"setpoint.dev/part": "api", "setpoint.dev/app": "shop"}}
            tree = {"apiVersion": f"{_GROUP}/v1", "kind": "Executable", "metadata": metadata, "spec": spec}
            await served.api("POST", path, tree)
            while (await served.api("GET", f"{path}/api")).get("status", {}).get("state") != "Finished":
                await asyncio.sleep(0.5)
            page = await served.open(f"service/executables.{_GROUP}/api")
            await page.wait("document.querySelector('.log-line')")
            await served.browser.start_tracing()
            began = time.perf_counter()
            await page.send("Page.reload", ignoreCache=True)
            await page.wait(f"document.querySelector('.log-box')?.innerText.includes('request {LINES - 1} ')")
            line(f"last of {LINES:,} log lines", (time.perf_counter() - began) * 1000, "ms")
            line("first paint", await page.run(_PAINT), "ms", "aim 1000")
            line("longest task while loading", _longest(await served.browser.stop_tracing()), "ms", "aim 50")
            await served.browser.start_tracing()
            await page.run(_SCROLL_LOG)
            line(f"longest task in {_SCROLLS} scrolls", _longest(await served.browser.stop_tracing()), "ms", "aim 50")
            read = await page.run("document.querySelector('.log-foot').innerText")
            line("memory of the page", await _memory(page), "MB", f"aim 150; {read.splitlines()[0]}")
            _check(page)


def _check(page: Page) -> None:
    if page.errors:
        sys.exit(json.dumps(page.errors))


async def measured() -> None:
    await measured_table()
    await measured_log()


def line(name: str, value: float, unit: str, aim: str = "") -> None:
    print(f"{name:<40} {value:>10.1f} {unit:<12} {aim}", flush=True)


if __name__ == "__main__":
    asyncio.run(measured())
