"""No two Services have the same address or node port, however they are written."""

import asyncio
from typing import Any

import pytest
from tests.server.write.api import Answer, Api, new_api

from setpoint.objects.errors import Forbidden
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Object
from setpoint.server.ports import Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context
from setpoint.store.contract import Page
from setpoint.store.memory import MemoryStore

SERVICES = "/api/v1/namespaces/default/services"


def service(name: str, **spec: Any) -> Object:
    spec = {"type": "NodePort", "ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


class Dawdling(Plugin):
    """Lets others go first between the moment an address is taken and the write; refuses who is named so."""

    name = "Dawdling"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.resource == "services"

    async def validate(self, context: Context, operation: Operation) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        if operation.name == "refused":
            raise Forbidden("no")


class Counting(MemoryStore):
    """Counts how often all Services are read."""

    reads = 0

    async def range(self, prefix: str, *args: Any, **options: Any) -> Page:
        self.reads += prefix.startswith("/core/services/")
        return await super().range(prefix, *args, **options)


def given(answers: list[Answer]) -> tuple[list[str], list[int]]:
    assert [answer.status for answer in answers] == [201] * len(answers), answers
    specs = [answer.body["spec"] for answer in answers]
    return [spec["clusterIP"] for spec in specs], [spec["ports"][0]["nodePort"] for spec in specs]


async def test_services_that_are_written_at_the_same_time_get_different_addresses_and_ports() -> None:
    async with new_api(admission=[Dawdling()]) as api:
        made = await asyncio.gather(*(api("POST", SERVICES, service(f"s{number}")) for number in range(100)))
        addresses, ports = given(made)
        assert len({*addresses}) == len({*ports}) == 100


async def test_of_those_who_want_the_same_address_at_the_same_time_one_gets_it() -> None:
    async with new_api(admission=[Dawdling()]) as api:
        wanted = {"clusterIP": "10.0.0.7", "ports": [{"port": 80, "nodePort": 30007}]}
        made = await asyncio.gather(*(api("POST", SERVICES, service(f"s{number}", **wanted)) for number in range(5)))
        assert sorted(answer.status for answer in made) == [201, 422, 422, 422, 422]
        assert "provided IP is already allocated" in str([answer.body for answer in made])


async def test_what_came_to_nothing_or_is_gone_can_be_had_again() -> None:
    async with new_api(admission=[Dawdling()]) as api:
        wanted = {"clusterIP": "10.0.0.7", "ports": [{"port": 80, "nodePort": 30007}]}
        assert (await api("POST", SERVICES, service("refused", **wanted))).status == 403
        assert (await api("POST", SERVICES, service("tried", **wanted), query="dryRun=All")).status == 201
        assert (await api("POST", SERVICES, service("made", **wanted))).status == 201
        assert (await api("POST", SERVICES, service("other", **wanted))).status == 422
        assert (await api("DELETE", f"{SERVICES}/made")).status == 200
        assert (await api("POST", SERVICES, service("other", **wanted))).status == 201


async def test_a_port_that_an_update_gives_up_is_free_and_one_that_it_asks_for_is_not(api: Api) -> None:
    given([await api("POST", SERVICES, service("a", ports=[{"port": 80, "nodePort": 30007}]))])
    given([await api("POST", SERVICES, service("b", ports=[{"port": 80, "nodePort": 30008}]))])
    change = {"spec": {"ports": [{"port": 80, "nodePort": 30009}]}}
    assert (await api.merge(f"{SERVICES}/a", change)).status == 200
    assert (await api.merge(f"{SERVICES}/b", change)).status == 422
    freed = {"spec": {"ports": [{"port": 80, "nodePort": 30007}]}}
    assert (await api.merge(f"{SERVICES}/b", freed)).status == 200


async def test_a_write_does_not_read_the_other_services() -> None:
    api = Api()
    api.store = api.server.services.store = store = Counting(clock=api.clock)
    await api.server.start()
    for number in range(20):
        given([await api("POST", SERVICES, service(f"s{number}"))])
    # One read of the Services, and one of the IPAddresses that users created.
    assert store.reads <= 2


@pytest.mark.parametrize("seed", range(3))
async def test_servers_that_share_a_store_never_give_away_the_same(seed: int) -> None:
    first, second = Api([Dawdling()], SeededIds(seed)), Api([Dawdling()], SeededIds(100 + seed))
    second.server.services.store = first.store
    for api in (first, second):
        api.server.services.views.shared = True
        await api.server.start()
    servers = [first, second]
    made: list[Answer] = []
    for batch in range(3):
        made += await asyncio.gather(
            *(
                servers[number % 2]("POST", SERVICES, service(f"s{batch}-{number}"))
                for number in range(20 if batch else 2)
            )
        )
    addresses, ports = given(made)
    assert len({*addresses}) == len({*ports}) == len(made)
    wanted = {"clusterIP": "10.0.0.7"}
    both = await asyncio.gather(*(api("POST", SERVICES, service(f"w{seed}", **wanted)) for api in servers[:1]))
    assert [answer.status for answer in both] == [201]
    assert (await second("POST", SERVICES, service("late", **wanted))).status == 422
    for api in servers:
        api.server.services.close()
