"""The five test cases, against any API: what is created, and the state that must follow."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

Tree = dict[str, Any]
Condition = Callable[[], Awaitable[bool]]
NAME = "j"
# The time for one condition, and between two looks at it.
SECONDS, LOOK_SECONDS = 15.0, 0.02

DEFINITION: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "jars.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Jar", "plural": "jars", "singular": "jar"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


class Jars(Protocol):
    """The jars of one API. `until` returns when a condition holds, by polling or by virtual time."""

    async def create(self, tree: Tree) -> None: ...

    async def get(self) -> Tree | None: ...

    async def patch(self, change: Tree) -> None: ...

    async def delete(self) -> None: ...

    async def until(self, holds: Condition) -> None: ...


async def polled(holds: Condition) -> None:
    """Waits in real time."""
    end = time.monotonic() + SECONDS
    while not await holds():
        assert time.monotonic() < end, "the condition did not hold in time"
        await asyncio.sleep(LOOK_SECONDS)


def jar(**spec: Any) -> Tree:
    metadata = {"name": NAME, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Jar", "metadata": metadata, "spec": {"size": 1, **spec}}


async def status(jars: Jars) -> Tree:
    return ((await jars.get()) or {}).get("status") or {}


async def created(jars: Jars) -> None:
    """A new jar is filled."""
    await jars.create(jar(size=3))
    await _filled(jars, 3)


async def updated(jars: Jars) -> None:
    """A changed jar is filled again."""
    await jars.create(jar(size=3))
    await _filled(jars, 3)
    await jars.patch({"spec": {"size": 5}})
    await _filled(jars, 5)


async def retried(jars: Jars) -> None:
    """Two failures, each with a delay of one second, precede the success."""
    await jars.create(jar(size=2, stuck=True))
    await _filled(jars, 2)


async def timed(jars: Jars) -> None:
    """A timer with an interval of one second runs three times."""
    await jars.create(jar(ticking=True))

    async def holds() -> bool:
        return int((await status(jars)).get("ticks", 0)) >= 3

    await jars.until(holds)


async def deleted(jars: Jars) -> None:
    """A deleted jar is emptied, and then gone."""
    await jars.create(jar())
    await _filled(jars, 1)
    await jars.delete()

    async def holds() -> bool:
        return await jars.get() is None

    await jars.until(holds)


async def _filled(jars: Jars, size: int) -> None:
    async def holds() -> bool:
        return bool((await status(jars)).get("filled") == size)

    await jars.until(holds)


CASES = (created, updated, retried, timed, deleted)
