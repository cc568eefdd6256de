"""Definitions that a plane brings along: served from the first moment, without being judged again."""

from datetime import UTC, datetime
from typing import Any

import setpoint as sp
from setpoint.objects.clock import ManualClock
from setpoint.server.apiextensions.bundled_crds import provide
from setpoint.server.app import Server
from setpoint.store.memory import MemoryStore
from setpoint.workload.kinds.definitions import definitions, install
from setpoint.workload.kinds.executable import Executable, ExecutableSpec

START = datetime(2030, 1, 1, tzinfo=UTC)
DEFINITION = "apiextensions.k8s.io/v1/CustomResourceDefinition"


async def shown(store: MemoryStore, *, installing: bool = False) -> list[Any]:
    """The definitions that a plane over the store serves, without what differs from one server to another."""
    async with sp.ControlPlane(store, system=False, clock=ManualClock(START)) as plane, plane.client() as client:
        if installing:
            await install(client)
        await client.create(Executable(metadata=sp.ObjectMeta(name="x"), spec=ExecutableSpec(executable_path="x")))
        found: list[Any] = (await client.list(DEFINITION)).items
    for each in found:
        for key in ("uid", "resourceVersion", "managedFields"):
            each["metadata"].pop(key, None)
    return found


async def test_what_is_provided_is_what_would_have_been_installed() -> None:
    store = MemoryStore()
    await provide(Server(store, clock=ManualClock(START)).services, definitions())
    assert await shown(store) == await shown(MemoryStore(), installing=True)


async def test_what_the_store_has_already_is_left_alone_and_installing_brings_it_up_to_date() -> None:
    store = MemoryStore()
    older = [each for each in definitions() if each["spec"]["names"]["kind"] == "Executable"]
    older[0]["spec"]["versions"][0]["additionalPrinterColumns"] = []
    services = Server(store).services
    await provide(services, older)
    revision = await store.revision()
    await provide(services, older)
    assert await store.revision() == revision
    await provide(services, definitions())
    async with sp.ControlPlane(store, system=False) as plane, plane.client() as client:
        name = "executables.usvc-dev.developer.microsoft.com"
        before = await client.get(DEFINITION, name)
        await install(client)
        after = await client.get(DEFINITION, name)
    assert not before["spec"]["versions"][0].get("additionalPrinterColumns")
    assert after["spec"]["versions"][0]["additionalPrinterColumns"]
