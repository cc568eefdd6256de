"""A control plane under a clock of our own, on which tests write as users and as controllers do."""

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import setpoint as sp
from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.objects.provenance import Cause, Reason
from setpoint.objects.tree import Object
from setpoint.past.object_ref import ObjectReference, place_at
from setpoint.past.queries import current_user
from setpoint.workload.kinds.definitions import install

START = datetime(2026, 3, 1, 14, 0, 0, tzinfo=UTC)
GROUP = "usvc-dev.developer.microsoft.com/v1"
EXECUTABLE = f"{GROUP}/Executable"
_STORIES = Path(__file__).parent / "stories"
_number = re.compile(r"(rv )(\d+)( *)")


class Past:
    """What a test does in the past, and asks about it."""

    def __init__(self, plane: sp.ControlPlane, client: Client, clock: ManualClock) -> None:
        self.plane, self.client, self.clock = plane, client, clock
        self._count = 0

    def later(self, seconds: float) -> None:
        """Lets time go by."""
        self.clock.advance(seconds)

    def controller(self, name: str, key: str, *because: Object | Reason) -> Client:
        """A client that writes as a reconcile of a controller, which ran because of some objects as they are."""
        self._count += 1
        reasons = tuple(each if isinstance(each, Reason) else _reason(each) for each in because)
        cause = Cause.reconcile(name, key, f"r-{self._count}", reasons)
        return self.client.with_options(cause=cause, field_manager=name)

    async def configmap(self, name: str, **data: str) -> Object:
        metadata = {"name": name, "namespace": "default"}
        return await self.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    async def workload(self, kind: str, name: str, spec: Object) -> Object:
        return await self.client.create(
            {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}, field_manager="kubectl"
        )

    async def status(self, client: Client, tree: Object, **status: Any) -> Object:
        """Writes the status of an object."""
        written: Object = await client.patch_status(tree, merge({"status": status}))
        return written

    async def place(self, kind: str, name: str, namespace: str = "") -> ObjectReference:
        return await place_at(self.client, kind, name, namespace)

    async def me(self) -> tuple[str, ...]:
        return await current_user(self.client)

    def condition(self, kind: str, status: str, reason: str, message: str) -> Object:
        time = self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time}


def _reason(tree: Object) -> Reason:
    group, slash, _ = tree["apiVersion"].partition("/")
    kind = f"{tree['kind']}.{group}" if slash else tree["kind"]
    metadata = tree["metadata"]
    key = f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
    return Reason("updated", kind, key, metadata["resourceVersion"])


@asynccontextmanager
async def past(*, workloads: bool = False) -> AsyncIterator[Past]:
    """A plane whose past begins at 14:00, without controllers of its own."""
    clock = ManualClock(START)
    async with sp.ControlPlane(clock=clock, ids=SeededIds(7), system=False) as plane, plane.client() as client:
        if workloads:
            await install(client)
        yield Past(plane, client, clock)


def renumbered(text: str) -> str:
    """A text whose revisions begin with 1: how many a server writes for itself is not what a story is about."""
    numbers = sorted({int(found[2]) for found in _number.finditer(text)})
    places = {number: str(place + 1) for place, number in enumerate(numbers)}

    def new(found: re.Match[str]) -> str:
        width = len(found[2]) + len(found[3])
        return f"{found[1]}{places[int(found[2])]:<{width if found[3] else 0}}"

    return _number.sub(new, text)


def check_story(name: str, text: str) -> None:
    """Compares a text with the one that was reviewed. `UPDATE_STORIES=1` writes it anew, for review."""
    path = _STORIES / f"{name}.txt"
    if os.environ.get("UPDATE_STORIES"):
        path.write_text(text)
    assert text == path.read_text(), f"the story {name} is told in other words; see {path.name}"
