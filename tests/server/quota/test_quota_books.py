"""The books of quotas on a whole server: what is charged, what is refused, and that both are one decision."""

import asyncio
import json
from typing import Any
from unittest.mock import patch

import pytest
from tests.server.quota.books import CLAIMS, PODS, QUOTAS, SERVICES, claim, pod, quota, service, set_quota, used
from tests.server.write.api import CONFIG_MAPS, DEFINITIONS, WIDGETS, Api, config_map, definition, new_api, widget

from setpoint.objects.clock import ManualClock
from setpoint.objects.ids import SeededIds
from setpoint.objects.provenance import Actor
from setpoint.objects.quantity import Quantity
from setpoint.server.app import Server
from setpoint.server.message import Request
from setpoint.server.quota.quotas import Quota
from setpoint.server.server_options import ServerSettings
from setpoint.store.contract import StoreError
from setpoint.store.memory import MemoryStore


async def test_of_a_hundred_that_come_at_once_as_many_are_let_in_as_there_is_room_for(api: Api) -> None:
    await set_quota(api, quota(configmaps="10"))
    answers = await asyncio.gather(*(api("POST", CONFIG_MAPS, config_map(f"c{at}")) for at in range(100)))
    assert sorted(answer.status for answer in answers) == [201] * 10 + [403] * 90
    assert await used(api) == {"configmaps": "10"}
    assert len((await api("GET", CONFIG_MAPS)).body["items"]) == 10


async def test_two_servers_over_one_store_do_not_spend_the_same_twice() -> None:
    store = MemoryStore()
    servers = [Server(store, ids=SeededIds(at)) for at in (1, 2)]
    for server in servers:
        server.services.views.shared = True
        await server.start()
    first = Api()
    first.server = servers[0]
    second = Api()
    second.server = servers[1]
    await set_quota(first, quota(configmaps="10"))
    while not await second.server.services.views.of("", "v1", "resourcequotas", lambda tree: tree).current():
        await asyncio.sleep(0)
    apis = (first, second)
    answers = await asyncio.gather(
        *(apis[at % 2]("POST", CONFIG_MAPS, config_map(f"c{at}")) for at in range(60)),
    )
    there = len((await first("GET", CONFIG_MAPS)).body["items"])
    assert sum(answer.status == 201 for answer in answers) == there == 10
    assert {answer.status for answer in answers} == {201, 403}
    assert await used(first) == await used(second) == {"configmaps": "10"}
    for server in servers:
        server.services.close()


async def test_a_write_that_fails_in_the_store_is_charged_to_nobody(api: Api) -> None:
    await set_quota(api, quota(configmaps="2"))

    async def fails(*arguments: Any) -> int:
        raise StoreError("the disk is full")

    with patch.object(api.store, "transact", fails):
        assert (await api("POST", CONFIG_MAPS, config_map("a"))).status == 503
    assert await used(api) == {"configmaps": "0"}
    assert (await api("GET", f"{CONFIG_MAPS}/a")).status == 404


async def test_a_server_that_starts_over_the_store_of_one_that_died_finds_the_books_right(api: Api) -> None:
    await set_quota(api, quota(configmaps="3"))
    for at in range(2):
        await api("POST", CONFIG_MAPS, config_map(f"c{at}"))
    dead, api.server = api.server, Server(api.store, clock=api.clock, ids=SeededIds(8))
    await api.server.start()
    assert await used(api) == {"configmaps": "2"}
    assert (await api("POST", CONFIG_MAPS, config_map("c2"))).status == 201
    assert (await api("POST", CONFIG_MAPS, config_map("c3"))).status == 403
    dead.close()


async def test_what_is_there_already_is_not_charged_twice(api: Api) -> None:
    await set_quota(api, quota(configmaps="5"))
    assert (await api("POST", CONFIG_MAPS, config_map("a"))).status == 201
    assert (await api("POST", CONFIG_MAPS, config_map("a"))).status == 409
    assert await used(api) == {"configmaps": "1"}


async def test_the_object_and_its_charge_are_one_revision(api: Api) -> None:
    await set_quota(api, quota(configmaps="5"))
    made = await api("POST", CONFIG_MAPS, config_map("a"))
    assert made.version == (await api("GET", f"{QUOTAS}/q")).version
    (entry, *_) = await api.store.history("/core/resourcequotas/default/q")
    assert str(entry.revision) == made.version
    assert entry.actor.user == "system:admin"


async def test_a_refusal_says_what_was_asked_for_what_is_used_and_what_there_may_be(api: Api) -> None:
    await set_quota(api, quota(requests__cpu="1", pods="5"))
    assert (await api("POST", PODS, pod("a", requests={"cpu": "600m"}))).status == 201
    refused = await api("POST", PODS, pod("b", requests={"cpu": "500m"}))
    assert refused.body["message"] == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, '
        "used: requests.cpu=600m, limited: requests.cpu=1"
    )
    missing = await api("POST", PODS, pod("c"))
    assert missing.body["message"] == 'pods "c" is forbidden: failed quota: q: must specify requests.cpu for: c'
    assert await used(api) == {"pods": "1", "requests.cpu": "600m"}


async def test_a_dry_run_is_judged_and_charged_to_nobody(api: Api) -> None:
    await set_quota(api, quota(configmaps="1"))
    assert (await api("POST", CONFIG_MAPS, config_map("a"), query="dryRun=All")).status == 201
    assert await used(api) == {"configmaps": "0"}
    await api("POST", CONFIG_MAPS, config_map("a"))
    assert (await api("POST", CONFIG_MAPS, config_map("b"), query="dryRun=All")).status == 403
    assert (await api("DELETE", f"{CONFIG_MAPS}/a", query="dryRun=All")).status == 200
    assert await used(api) == {"configmaps": "1"}


async def test_a_deletion_gives_back_when_the_object_is_gone_and_not_before(api: Api) -> None:
    await set_quota(api, quota(configmaps="5"))
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    await api("POST", CONFIG_MAPS, body)
    await api("DELETE", f"{CONFIG_MAPS}/a")
    assert await used(api) == {"configmaps": "1"}
    await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
    assert await used(api) == {"configmaps": "0"}


async def test_a_change_is_charged_with_the_difference(api: Api) -> None:
    await set_quota(api, quota(services="5", services__nodeports="2"))
    await api("POST", SERVICES, service("a", "ClusterIP", 2))
    # The first is the server's own.
    assert await used(api) == {"services": "2", "services.nodeports": "0"}
    assert (await api.merge(f"{SERVICES}/a", {"spec": {"type": "NodePort"}})).status == 200
    assert await used(api) == {"services": "2", "services.nodeports": "2"}
    await api("POST", SERVICES, service("b", "ClusterIP", 1))
    refused = await api.merge(f"{SERVICES}/b", {"spec": {"type": "NodePort"}})
    assert "requested: services.nodeports=1, used: services.nodeports=2" in refused.body["message"]
    await api.merge(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})
    assert await used(api) == {"services": "3", "services.nodeports": "0"}


async def test_a_pod_that_has_ended_counts_as_an_object_only(api: Api) -> None:
    await set_quota(api, quota(pods="1", count_pods="5", requests__memory="1Gi"))
    await api("POST", PODS, pod("a", requests={"memory": "1Gi"}))
    assert await used(api) == {"pods": "1", "count/pods": "1", "requests.memory": "1Gi"}
    await api.merge(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
    assert await used(api) == {"pods": "0", "count/pods": "1", "requests.memory": "0"}
    assert (await api("POST", PODS, pod("b", requests={"memory": "1Gi"}))).status == 201


async def test_objects_of_definitions_are_counted(api: Api) -> None:
    hard = {"count/widgets.example.com": "1"}
    await set_quota(api, quota(spec={"hard": hard}))
    assert await used(api) == {}
    await api("POST", DEFINITIONS, definition())
    assert (await api("POST", WIDGETS, widget("a"))).status == 201
    assert await used(api) == {"count/widgets.example.com": "1"}
    assert (await api("POST", WIDGETS, widget("b"))).status == 403
    await api("DELETE", f"{WIDGETS}/a")
    assert await used(api) == {"count/widgets.example.com": "0"}


async def test_quotas_count_quotas_and_storage_by_class(api: Api) -> None:
    hard = {
        "resourcequotas": "2",
        "requests.storage": "10Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
    }
    await set_quota(api, quota(spec={"hard": hard}))
    assert (await used(api))["resourcequotas"] == "1"
    assert (await api("POST", CLAIMS, claim("a", "2Gi", "gold"))).status == 201
    assert (await api("POST", CLAIMS, claim("b", "1Gi", "gold"))).status == 403
    assert (await api("POST", CLAIMS, claim("b", "1Gi", "lead"))).status == 201
    assert (await used(api))["requests.storage"] == "3Gi"
    assert (await api("POST", QUOTAS, quota("r", pods="1"))).status == 201
    assert (await api("POST", QUOTAS, quota("s", pods="1"))).status == 403
    assert (await api("DELETE", f"{QUOTAS}/q")).status == 200


@pytest.mark.parametrize(
    ("spec", "inside", "outside"),
    [
        ({"scopes": ["BestEffort"]}, {}, {"requests": {"cpu": "1"}}),
        ({"scopes": ["NotBestEffort"]}, {"limits": {"cpu": "1", "memory": "1Gi"}}, {}),
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 60}, {}),
        ({"scopes": ["NotTerminating"]}, {}, {"activeDeadlineSeconds": 60}),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}
                    ]
                }
            },
            {"priorityClassName": "system-node-critical"},
            {},
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]}},
            {},
            {"priorityClassName": "system-node-critical"},
        ),
        (
            {"scopes": ["CrossNamespacePodAffinity"]},
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "k", "namespaces": ["other"]}
                        ]
                    }
                }
            },
            {},
        ),
    ],
    ids=["best-effort", "not-best-effort", "terminating", "not-terminating", "priority-in", "no-priority", "affinity"],
)
async def test_a_scope_tells_which_pods_a_quota_is_about(api: Api, spec: Any, inside: Any, outside: Any) -> None:
    await set_quota(api, quota(spec=spec | {"hard": {"pods": "1"}}))
    assert (await api("POST", PODS, pod("out", **outside))).status == 201
    assert await used(api) == {"pods": "0"}
    assert (await api("POST", PODS, pod("in", **inside))).status == 201
    assert await used(api) == {"pods": "1"}
    assert (await api("POST", PODS, pod("in2", **inside))).status == 403
    assert (await api("POST", PODS, pod("out2", **outside))).status == 201


async def test_a_pod_that_changes_its_scope_is_charged_where_it_comes_to_and_given_back_where_it_was(api: Api) -> None:
    await set_quota(api, quota("ends", spec={"scopes": ["Terminating"], "hard": {"pods": "1"}}))
    await set_quota(api, quota("stays", spec={"scopes": ["NotTerminating"], "hard": {"pods": "5"}}))
    await api("POST", PODS, pod("a"))
    await api("POST", PODS, pod("b"))
    assert (await api.merge(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 9}})).status == 200
    assert (await used(api, "ends"), await used(api, "stays")) == ({"pods": "1"}, {"pods": "1"})
    assert (await api.merge(f"{PODS}/b", {"spec": {"activeDeadlineSeconds": 9}})).status == 403


async def test_a_quota_holds_from_the_moment_it_is_there_and_says_what_is_used_soon(api: Api) -> None:
    await api("POST", CONFIG_MAPS, config_map("a"))
    await api("POST", QUOTAS, quota(configmaps="1", secrets="3"))
    assert (await api("POST", CONFIG_MAPS, config_map("b"))).status == 403
    await asyncio.sleep(0)
    await advance(api.clock)
    found = (await api("GET", f"{QUOTAS}/q")).body["status"]
    assert found == {"hard": {"configmaps": "1", "secrets": "3"}, "used": {"configmaps": "1", "secrets": "0"}}
    await api.merge(f"{QUOTAS}/q", {"spec": {"hard": {"secrets": None, "configmaps": "2"}}})
    assert (await api("POST", CONFIG_MAPS, config_map("b"))).status == 201
    assert (await api("GET", f"{QUOTAS}/q")).body["status"] == {
        "hard": {"configmaps": "2"},
        "used": {"configmaps": "2"},
    }


async def test_what_somebody_else_writes_into_the_books_is_put_right(api: Api) -> None:
    await set_quota(api, quota(configmaps="9"))
    await api.merge(f"{QUOTAS}/q/status", {"status": {"used": {"configmaps": "7"}}})
    await asyncio.sleep(0)
    await advance(api.clock)
    assert await used(api) == {"configmaps": "0"}


async def advance(clock: ManualClock) -> None:
    """Lets the time pass after which a quota is counted."""
    clock.advance(1.0)
    for _ in range(20):
        await asyncio.sleep(0)


async def test_without_the_rule_what_is_used_is_counted_and_nothing_refused() -> None:
    async with new_api(settings=ServerSettings(disabled_plugins=("ResourceQuota",))) as api:
        await set_quota(api, quota(configmaps="1"))
        for name in ("a", "b"):
            assert (await api("POST", CONFIG_MAPS, config_map(name))).status == 201
        assert await used(api) == {"configmaps": "2"}


async def test_what_another_rule_refuses_is_charged_to_nobody(api: Api) -> None:
    await set_quota(api, quota(pods="5"))
    assert (await api("POST", PODS, pod("a", priority=5))).status == 403
    assert await used(api) == {"pods": "0"}


async def test_a_request_that_is_answered_means_books_that_are_written(api: Api) -> None:
    await set_quota(api, quota(configmaps="5"))
    response = await api.server(Request("DELETE", CONFIG_MAPS, "", {}, b""))
    assert response.status == 200
    for name in ("a", "b", "c"):
        await api("POST", CONFIG_MAPS, config_map(name))
    assert (await api.server(Request("DELETE", CONFIG_MAPS, "", {}, b""))).status == 200
    assert await used(api) == {"configmaps": "0"}


async def test_counting_ends_though_what_was_counted_is_read_back_as_something_else(api: Api) -> None:
    times = 0

    async def never_the_same(services: object, namespace: str, found: Quota) -> Quota:
        nonlocal times
        times += 1
        assert times < 5, "it counts for ever"
        return found.counted({"configmaps": Quantity.parse(str(times))})

    with patch("setpoint.server.quota.ledger.recount", never_the_same):
        await set_quota(api, quota(configmaps="10"))
        assert await used(api) == {"configmaps": str(times)}


async def test_a_quota_that_cannot_be_read_is_given_up_and_not_counted_for_ever(api: Api) -> None:
    made = (await api("POST", QUOTAS, quota(configmaps="10"))).body
    services, key = api.server.services, "/core/resourcequotas/default/q"
    assert services.ledger is not None
    broken = json.dumps({**made, "status": {"hard": {}, "used": {"configmaps": "many"}}}).encode()
    item = await services.store.get(key)
    assert item is not None
    await services.store.commit(key, broken, item.revision, Actor("somebody"))
    for _ in range(2):
        with pytest.raises(ValueError, match="quantities must match"):
            await services.ledger.recount("default", "q")
