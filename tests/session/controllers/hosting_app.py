"""An app whose controllers run beside a control plane in the process of the test, from files that the test writes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar
from urllib.parse import quote

import setpoint as sp
from setpoint.client.client import Client
from setpoint.client.requests import decode
from setpoint.client.transport import Call
from setpoint.objects.clock import SystemClock, timeout
from setpoint.objects.tree import Object
from setpoint.plane import Serving
from setpoint.session.controllers.hosted_controllers import HostedControllers
from setpoint.session.controllers.page import ControllersPage
from setpoint.session.controllers.status_query import PATH
from setpoint.session.controllers.supervisor import hosting
from setpoint.workload.kinds.app import App

T = TypeVar("T")
# How long anything may take on a busy machine.
PATIENCE_SECONDS = 60.0
GREETING = "example.com/v1/Greeting"
# A kind and its controller; `{body}` is what becomes of the object `found`.
PROGRAM = '''
import asyncio
import setpoint as sp


class GreetingSpec(sp.Model):
    """What should be said."""

    to: str{default}


class GreetingStatus(sp.Model):
    """What is said."""

    text: str = ""
    observed_generation: int = 0


class Greeting(sp.Resource, group="example.com", version="v1"):
    """A greeting."""

    spec: GreetingSpec
    status: GreetingStatus | None = None


@sp.controller(Greeting)
async def greet(ctx: sp.Context, request: sp.Request) -> None:
    found = await ctx.object()
    if found is not None:
        {body}
'''


def program(body: str, *, default: str = "") -> str:
    """The file of a controller of greetings that does something with `found`."""
    return PROGRAM.format(body=body, default=default)


def greeting(name: str, **spec: Any) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Greeting", "metadata": metadata, "spec": spec}


class HostedApp:
    """The app, its server, and what the page tells of its controllers."""

    def __init__(self, client: Client, page: ControllersPage, directory: Path) -> None:
        self.client, self.directory, self._page = client, directory, page

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))

    async def run(self, *modules: str | dict[str, str]) -> None:
        """Has the App list these controllers, and waits until each works or it is known why not."""
        listed = [{"module": each} if isinstance(each, str) else each for each in modules]
        spec = {"directory": str(self.directory), "controllers": listed}
        app = {"apiVersion": "setpoint.dev/v1", "kind": "App", "metadata": {"name": "shop"}, "spec": spec}
        await self.client.apply(app, field_manager="test", force=True)
        await self.until(lambda: self._has(listed))
        await self.hosted.loaded()

    async def _has(self, listed: list[dict[str, str]]) -> bool:
        return self._page.hosted is not None and self._page.hosted.listed == [
            (each["module"], each.get("name", "")) for each in listed
        ]

    @property
    def hosted(self) -> HostedControllers:
        assert self._page.hosted is not None
        return self._page.hosted

    async def rows(self) -> dict[str, Object]:
        """What the page tells of the app's controllers, by name."""
        told = decode((await self.client.raw("GET", PATH)).body)
        return {row["name"]: row for row in told["controllers"]}

    async def has_none(self) -> bool:
        return not await self.rows()

    async def note(self, name: str, says: str) -> Object:
        """The row of a controller, once its note says something."""

        async def found() -> Object:
            row = (await self.rows()).get(name)
            return row if row is not None and says in row["note"] else {}

        return await self.until(found)

    async def said(self, name: str, text: str = "hello") -> Object:
        """A greeting, once its status says something."""

        def says(tree: Any) -> bool:
            return bool(((tree or {}).get("status") or {}).get("text") == text)

        found: Object | None = await self.client.wait_for(GREETING, name, "default", says, timeout=PATIENCE_SECONDS)
        assert found is not None
        return found

    async def log(self, name: str) -> list[str]:
        async with self.client.stream(Call("GET", f"{PATH}/{quote(name, safe='')}/log")) as stream:
            return b"".join([piece async for piece in stream]).decode().splitlines()

    async def logged(self, name: str, line: str) -> list[str]:
        """The log of a controller, once it has a line that begins so."""

        async def found() -> list[str]:
            lines = await self.log(name) if name in self.hosted.logged() else []
            return lines if any(each.startswith(line) for each in lines) else []

        return await self.until(found)

    async def events(self, reason: str) -> list[str]:
        """What is told of the App for a reason."""
        listed = (await self.client.list("events.k8s.io/v1/Event")).items
        return [
            f"{each['type']}: {each['note']}"
            for each in listed
            if each["reason"] == reason and each["regarding"]["kind"] == "App"
        ]

    async def until(self, look: Callable[[], Awaitable[T]]) -> T:
        """Looks again and again, until there is something to see."""
        clock = SystemClock()
        async with timeout(clock, PATIENCE_SECONDS):
            while True:
                if found := await look():
                    return found
                await clock.sleep(0.05)

    async def runs(self, name: str) -> bool:
        """Whether a controller works."""
        rows = await self.rows()
        return name in rows and rows[name]["state"] == "Running"


@asynccontextmanager
async def hosted_app(directory: Path, files: Mapping[str, str]) -> AsyncIterator[HostedApp]:
    """An app with these files; nothing of it runs yet."""
    page = ControllersPage()
    (directory / "app").mkdir()
    async with sp.ControlPlane(serving=Serving(pages=[page]), system=False) as plane, plane.client() as client:
        await client.install(App)
        await plane.listen()
        async with hosting(plane, page, directory=directory / "app", data=directory / "data"):
            app = HostedApp(client, page, directory / "app")
            app.write(files)
            yield app
