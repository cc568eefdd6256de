"""Measures the walk of one operation through the source files.

    python -m tools.walk [--files]

runs the POST of a custom resource and one reconcile in this process and prints for each: the number of source files
whose functions run, and the number of calls that go back to a file that was visited before. Both tell how many files a
reader has to open, and how often to leaf back, to follow the operation. `--files` lists the files in the order of the
first visit. The operations run once before they are measured, so that caches are filled and modules are imported.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import setpoint

_SOURCE = str(Path(setpoint.__file__).parent)
_CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition"
_WIDGET = "example.com/v1/Widget"


class Walk:
    """The files that calls enter, in order."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.returns = 0
        self._current = ""

    def trace(self, frame: FrameType, event: str, _: Any) -> None:
        """Notes a call. Comprehensions and generators count for the file that they are in."""
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(_SOURCE) or path == self._current:
            return
        self._current = path
        if path in self.files:
            self.returns += 1
        self.files[path] = None

    async def of(self, operation: Callable[[], Awaitable[object]]) -> None:
        """Traces the operation."""
        sys.setprofile(self.trace)
        try:
            await operation()
        finally:
            sys.setprofile(None)


def _definition() -> dict[str, Any]:
    spec = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _widget(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": 1}}


async def measure() -> dict[str, Walk]:
    """Returns the walks of the operations, by their names."""
    from setpoint.controller.controller import Controller
    from setpoint.controller.manager import Manager
    from setpoint.plane import ControlPlane

    found = {"POST of a custom resource": Walk(), "reconcile of a custom resource": Walk()}
    post, reconcile = found.values()
    async with ControlPlane(system=False) as plane:
        client = plane.client()
        await client.create(_definition())
        await client.wait_for(_CRD, "widgets.example.com", "", "condition=Established")
        for number in range(3):
            await client.create(_widget(f"warm-{number}"))
        await post.of(lambda: client.create(_widget("measured")))

        done = asyncio.Event()

        async def handle(ctx: Any, request: Any) -> None:
            widget = await ctx.object()
            if widget is not None:
                await ctx.client.apply(
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": request.name, "namespace": request.namespace},
                        "data": {"size": str(widget["spec"]["size"])},
                    }
                )
            done.set()

        async with Manager(client) as manager:
            manager.add(Controller("walk", handle, kind=_WIDGET))
            await asyncio.sleep(0.5)

            async def change() -> None:
                done.clear()
                await client.create(_widget("reconciled"))
                await done.wait()
                await asyncio.sleep(0.05)

            await reconcile.of(change)
    return found


def main(arguments: list[str]) -> None:
    for name, walk in asyncio.run(measure()).items():
        print(f"{name}: {len(walk.files)} files, {walk.returns} calls back to a file visited before")
        if "--files" in arguments:
            for path in walk.files:
                print(f"    {Path(path).relative_to(_SOURCE)}")


if __name__ == "__main__":
    main(sys.argv[1:])
