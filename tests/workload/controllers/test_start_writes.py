"""The number of writes that the start of a service takes."""

from pathlib import Path

from tests.workload.app import app
from tests.workload.controllers.test_services import SERVER, SERVES

from setpoint.workload.kinds.api_names import FINALIZERS

# Created by the client: Service and Executable; by controllers: the Endpoint, two updates of each status, three events.
WRITES = 10


async def test_a_service_starts_with_few_writes(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        first = await world.make("Service", "web", {})
        made = await world.python("one", SERVER, **SERVES)
        ready = await world.ready("Executable", "one")
        serving = await world.ready("Service", "web")
        assert made["metadata"]["finalizers"] == [FINALIZERS["Executable"]]
        assert serving["metadata"]["finalizers"] == [FINALIZERS["Service"]]
        last = max(int(each["metadata"]["resourceVersion"]) for each in (ready, serving))
        assert last - int(first["metadata"]["resourceVersion"]) < WRITES


async def test_finalizers_of_the_client_are_kept(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        made = await world.make("Service", "web", {}, finalizers=["example.com/mine"])
        assert made["metadata"]["finalizers"] == ["example.com/mine", FINALIZERS["Service"]]
        await world.patch("Service", "web", metadata={"finalizers": None})
