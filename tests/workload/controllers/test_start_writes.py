"""The number of writes, events and conversions that the start of a service takes."""

import asyncio
from pathlib import Path
from typing import Any

from tests.workload.app import GROUP, app, condition_of
from tests.workload.controllers.test_services import SERVER, SERVES

from setpoint.client.kinds import Kind
from setpoint.objects.tree import Object
from setpoint.workload.controllers.lookup import Lookup, Trees
from setpoint.workload.kinds.api_names import FINALIZERS


async def test_a_service_starts_with_few_writes(tmp_path: Path) -> None:
    async with app(tmp_path) as world, world.client.watch(f"{GROUP}/Executable") as events, asyncio.timeout(60):
        await world.make("Service", "web", {})
        await world.python("one", SERVER, **SERVES)
        revisions = []
        async for event in events:
            if event.type == "BOOKMARK":
                continue
            revisions.append(event.object)
            if condition_of(event.object, "Ready").get("status") == "True":
                break
        # One revision without a status: the finalizer needs no separate write.
        assert [each["metadata"]["finalizers"] for each in revisions[:1]] == [[FINALIZERS["Executable"]]]
        assert len([each for each in revisions if not each.get("status")]) == 1
        assert len({each["status"]["state"] for each in revisions[1:]}) == len({"Running"})


async def test_finalizers_of_the_client_are_kept(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        made = await world.make("Service", "web", {}, finalizers=["example.com/mine"])
        assert made["metadata"]["finalizers"] == ["example.com/mine", FINALIZERS["Service"]]
        await world.patch("Service", "web", metadata={"finalizers": None})


async def test_a_workload_with_many_dependencies_reports_its_wait_once(tmp_path: Path) -> None:
    names = [f"d{number}" for number in range(12)]
    async with app(tmp_path) as world, asyncio.timeout(60):
        await world.python("last", dependsOn=[{"kind": "Executable", "name": name} for name in names])
        found = await world.ready("Executable", "last", "False", "WaitingForDependencies")
        assert condition_of(found, "Ready")["message"].endswith(
            "Executable d4 to be Ready: it does not exist; and 7 more"
        )
        for name in names:
            await world.python(name)
        await world.ready("Executable", "last")
        # Events are written in the order of their occurrence.
        reasons: list[str] = []
        while "Started" not in reasons:
            events = (await world.client.list("v1/Event")).items
            reasons = [each["reason"] for each in events if each["involvedObject"]["name"] == "last"]
        assert reasons.count("WaitingForDependencies") == 1


def test_an_unchanged_object_is_converted_once() -> None:
    converted = []

    class Found:
        def to_json(self) -> Object:
            converted.append(self)
            return {"status": {}}

    objects = {"one": Found(), "two": Found()}
    trees: Trees = {}

    def find(kind: Kind[Any], name: str, namespace: str = "") -> Any:
        return objects.get(name)

    for _ in range(3):
        lookup = Lookup(find, trees)
        assert [lookup.object("Executable", name) for name in objects] == [{"status": {}, "kind": "Executable"}] * 2
    assert len(converted) == len(objects)
    del objects["two"]
    assert Lookup(find, trees).object("Executable", "two") is None
    assert set(trees) == {("Executable", "one")}
