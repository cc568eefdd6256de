"""The number of writes that the start of a service takes."""

import asyncio
from pathlib import Path

from tests.workload.app import GROUP, app, condition_of
from tests.workload.controllers.test_services import SERVER, SERVES

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
