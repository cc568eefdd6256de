"""Chromium over a pipe, with the Chrome DevTools Protocol: pages, keys, screenshots, and the requests of a page."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.debian import require

SECONDS = 60
# The program, and its package in Debian. Other systems have other names.
CHROMIUM = ("chromium", "chromium")
_NAMES = ("chromium", "chromium-browser", "google-chrome")
# The pause between two checks of a condition.
_PAUSE = 0.05
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--enable-precise-memory-info",
)
_KEYS = {" ": "Space", "Enter": "Enter", "Escape": "Escape", "Tab": "Tab"}
_CODES = {
    "Enter": 13, "Escape": 27, "Tab": 9, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class Browser:
    """A running Chromium."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._pages: dict[str, Page] = {}
        # The events of the trace, and the end of its transfer.
        self._trace: list[dict[str, Any]] = []
        self._traced = asyncio.Event()
        self._task = asyncio.create_task(self._read())

    async def send(self, method: str, session: str = "", **parameters: Any) -> Any:
        """Sends a command, and returns its result. Raises RuntimeError with the error of the browser."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._writer.write(json.dumps(message).encode() + b"\0")
        return await asyncio.wait_for(self._answers[number], SECONDS)

    async def page(self, width: int = 1280, height: int = 900, theme: str = "light") -> "Page":
        """Returns a new page with a size, in a context without cookies."""
        context = (await self.send("Target.createBrowserContext"))["browserContextId"]
        target = (await self.send("Target.createTarget", url="about:blank", browserContextId=context))["targetId"]
        session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log", "Performance"):
            await page.send(f"{domain}.enable")
        await page.resize(width, height)
        await page.use_theme(theme)
        return page

    async def _read(self) -> None:
        while data := await self._reader.readuntil(b"\0"):
            message = json.loads(data[:-1])
            if (answer := self._answers.pop(message.get("id", 0), None)) is not None:
                if answer.done():
                    continue
                if "error" in message:
                    answer.set_exception(RuntimeError(message["error"]["message"]))
                else:
                    answer.set_result(message["result"])
            elif page := self._pages.get(message.get("sessionId", "")):
                page.take(message["method"], message["params"])
            elif message.get("method") == "Tracing.dataCollected":
                self._trace += message["params"]["value"]
            elif message.get("method") == "Tracing.tracingComplete":
                self._traced.set()

    async def start_tracing(self) -> None:
        """Records the tasks of all threads."""
        self._trace.clear()
        self._traced.clear()
        config = {"includedCategories": ["devtools.timeline", "toplevel", "disabled-by-default-devtools.timeline"]}
        await self.send("Tracing.start", traceConfig=config, transferMode="ReportEvents")

    async def stop_tracing(self) -> list[dict[str, Any]]:
        """Returns the events since `start_tracing`."""
        await self.send("Tracing.end")
        await asyncio.wait_for(self._traced.wait(), SECONDS)
        return self._trace

    async def close(self) -> None:
        for page in self._pages.values():
            page.stop()
        with contextlib.suppress(RuntimeError, TimeoutError, ConnectionError):
            await asyncio.wait_for(self.send("Browser.close"), 10)
        self._task.cancel()
        self._writer.close()


class Page:
    """A tab, with its requests and errors so far."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.requests: list[str] = []
        self.errors: list[str] = []
        # Set when the time of `advance` has passed.
        self.expired = asyncio.Event()
        # The number of requests that `lose` still ends, and the tasks that decide about them.
        self._losses = 0
        self._decisions: set[asyncio.Task[None]] = set()

    def take(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(f"{parameters['request']['method']} {parameters['request']['url']}")
        elif method == "Network.webSocketCreated":
            self.requests.append(f"WebSocket {parameters['url']}")
        elif method == "Emulation.virtualTimeBudgetExpired":
            self.expired.set()
        elif method == "Fetch.requestPaused":
            decision = asyncio.create_task(self._decide(parameters["requestId"]))
            self._decisions.add(decision)
            decision.add_done_callback(self._decisions.discard)
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and parameters["entry"]["source"] in ("security", "violation"):
            self.errors.append(parameters["entry"]["text"])

    async def send(self, method: str, **parameters: Any) -> Any:
        return await self._browser.send(method, self._session, **parameters)

    async def lose(self, pattern: str, count: int) -> None:
        """Ends the next requests for a pattern of URLs, as a browser does when a network interface appears."""
        self._losses = count
        await self.send("Fetch.enable", patterns=[{"urlPattern": pattern}])

    async def _decide(self, request: str) -> None:
        if self._losses > 0:
            self._losses -= 1
            await self.send("Fetch.failRequest", requestId=request, errorReason="Aborted")
        else:
            await self.send("Fetch.continueRequest", requestId=request)

    def stop(self) -> None:
        """Ends the decisions about requests that are under way."""
        for decision in self._decisions:
            decision.cancel()

    async def resize(self, width: int, height: int = 900) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    async def use_theme(self, theme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": theme}]
        await self.send("Emulation.setEmulatedMedia", features=features)

    async def open(self, url: str) -> None:
        await self.send("Page.navigate", url=url)

    async def run(self, expression: str) -> Any:
        """Returns the value of an expression of JavaScript, awaited. Raises AssertionError if it throws."""
        found = await self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if details := found.get("exceptionDetails"):
            raise AssertionError(details.get("exception", {}).get("description") or details["text"])
        return found["result"].get("value")

    async def wait(self, expression: str, seconds: float = SECONDS) -> None:
        """Waits until an expression is true."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    with contextlib.suppress(AssertionError, RuntimeError):
                        if await self.run(f"Boolean({expression})"):
                            return
                    await asyncio.sleep(_PAUSE)
        except TimeoutError:
            text = await self.run("document.body?.innerText ?? ''")
            raise AssertionError(f"not true: {expression}\nerrors: {self.errors}\n{text[:2000]}") from None

    async def wait_text(self, text: str) -> None:
        await self.wait(f"document.body.innerText.includes({json.dumps(text)})")

    async def click(self, selector: str) -> None:
        """Clicks at the middle of the element of a selector, once there is one."""
        chosen = f"document.querySelector({json.dumps(selector)})"
        await self.wait(f"{chosen} !== null")
        place = await self.run(
            f"(() => {{ const e = {chosen}; e.scrollIntoView({{block: 'nearest'}});"
            " const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    async def press(self, key: str) -> None:
        """Presses a key, such as `ArrowDown`, `l` or `]`."""
        code = _CODES.get(key, 0)
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        named: dict[str, Any] = {"key": key, "code": _KEYS.get(key, key), "windowsVirtualKeyCode": code}
        await self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **named)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    async def advance(self, milliseconds: int) -> None:
        """Lets time pass for the timers of the page, at once."""
        self.expired.clear()
        await self.send("Emulation.setVirtualTimePolicy", policy="advance", budget=milliseconds)
        await asyncio.wait_for(self.expired.wait(), SECONDS)

    async def screenshot(self, path: Path) -> None:
        found = await self.send("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))


@contextlib.asynccontextmanager
async def new_browser(profile: Path) -> AsyncIterator[Browser]:
    """Starts Chromium with a directory for its profile. Skips the test without Chromium."""
    program = next(filter(None, map(shutil.which, _NAMES)), None) or require(*CHROMIUM)
    commands_out, commands_in = os.pipe()
    answers_out, answers_in = os.pipe()
    # The browser reads commands from descriptor 3 and writes to descriptor 4.
    script = f'exec "$@" 3<&{commands_out} 4>&{answers_in}'
    command = ["bash", "-c", script, "chromium", program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = await asyncio.create_subprocess_exec(
        *command, pass_fds=(commands_out, answers_in), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(commands_out)
    os.close(answers_in)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=64 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(answers_out, "rb"))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(commands_in, "wb"))
    browser = Browser(reader, asyncio.StreamWriter(transport, protocol, None, loop))
    try:
        yield browser
    finally:
        await browser.close()
        try:
            await asyncio.wait_for(process.wait(), 15)
        except TimeoutError:
            process.kill()
            await process.wait()
