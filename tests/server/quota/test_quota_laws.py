"""The law of the books: whatever is written, in whatever order, what is used is what is there, and never too much."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.quota.books import CLAIMS, PODS, QUOTAS, SERVICES, claim, pod, quota, same, service, set_quota, used
from tests.server.write.api import CONFIG_MAPS, Api, config_map

from setpoint.objects.quantity import Quantity

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow

HARD = {
    "configmaps": "3",
    "count/configmaps": "4",
    "pods": "3",
    "count/pods": "4",
    "requests.cpu": "2",
    "services.nodeports": "4",
    "count/services": "6",
    "requests.storage": "10Gi",
    "persistentvolumeclaims": "3",
}
NAMES = ("a", "b", "c", "d", "e")
CPU = ("100m", "500m", "1", "1500m")
SIZES = ("1Gi", "4Gi", "6Gi")

steps = st.one_of(
    st.tuples(st.just("map"), st.sampled_from(NAMES)),
    st.tuples(st.just("pod"), st.sampled_from(NAMES), st.sampled_from(CPU)),
    st.tuples(
        st.just("service"), st.sampled_from(NAMES), st.sampled_from(("ClusterIP", "NodePort")), st.integers(1, 3)
    ),
    st.tuples(st.just("claim"), st.sampled_from(NAMES), st.sampled_from(SIZES)),
    st.tuples(st.just("end"), st.sampled_from(NAMES), st.sampled_from(("Failed", "Running", "Succeeded"))),
    st.tuples(st.just("retype"), st.sampled_from(NAMES), st.sampled_from(("ClusterIP", "NodePort"))),
    st.tuples(st.just("delete"), st.sampled_from((CONFIG_MAPS, PODS, SERVICES, CLAIMS)), st.sampled_from(NAMES)),
    st.tuples(st.just("requota"), st.sampled_from(("2", "3", "5"))),
)


async def do(api: Api, step: Any) -> int:
    match step:
        case "map", name:
            return (await api("POST", CONFIG_MAPS, config_map(name))).status
        case "pod", name, cpu:
            return (await api("POST", PODS, pod(name, requests={"cpu": cpu}))).status
        case "service", name, kind, ports:
            return (await api("POST", SERVICES, service(name, kind, ports))).status
        case "claim", name, size:
            return (await api("POST", CLAIMS, claim(name, size))).status
        case "end", name, phase:
            return (await api.merge(f"{PODS}/{name}/status", {"status": {"phase": phase}})).status
        case "retype", name, kind:
            return (await api.merge(f"{SERVICES}/{name}", {"spec": {"type": kind}})).status
        case "delete", place, name:
            status = (await api("DELETE", f"{place}/{name}")).status
            await api.merge(f"{place}/{name}", {"metadata": {"finalizers": None}})
            return status
        case _:
            return (await api.merge(f"{QUOTAS}/q", {"spec": {"hard": {"configmaps": step[1]}}})).status


async def counted(api: Api) -> dict[str, str]:
    """What is there, counted by hand from what the server lists."""
    found = {place: (await api("GET", place)).body["items"] for place in (CONFIG_MAPS, PODS, SERVICES, CLAIMS)}
    running = [tree for tree in found[PODS] if tree["status"]["phase"] not in ("Failed", "Succeeded")]
    amounts: Counter[str] = Counter()
    for tree in running:
        (container,) = tree["spec"]["containers"]
        amounts["cpu"] += Quantity.parse(container["resources"]["requests"]["cpu"]).value(-3)
    for tree in found[CLAIMS]:
        amounts["storage"] += Quantity.parse(tree["spec"]["resources"]["requests"]["storage"]).value()
    ports = [len(tree["spec"]["ports"]) for tree in found[SERVICES] if tree["spec"]["type"] == "NodePort"]
    return {
        "configmaps": str(len(found[CONFIG_MAPS])),
        "count/configmaps": str(len(found[CONFIG_MAPS])),
        "pods": str(len(running)),
        "count/pods": str(len(found[PODS])),
        "requests.cpu": f"{amounts['cpu']}m",
        "services.nodeports": str(sum(ports)),
        "count/services": str(len(found[SERVICES])),
        "requests.storage": str(amounts["storage"]),
        "persistentvolumeclaims": str(len(found[CLAIMS])),
    }


@given(batches=st.lists(st.lists(steps, min_size=1, max_size=6), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_used_is_what_is_there_after_any_writes(batches: Any) -> None:
    async def scenario() -> None:
        api = Api()
        await api.server.start()
        await set_quota(api, quota(spec={"hard": HARD}))
        for batch in batches:
            statuses = await asyncio.gather(*(do(api, step) for step in batch))
            assert all(status < 500 for status in statuses)
            found = await used(api)
            if found.keys() == HARD.keys():
                assert same(found, await counted(api)), (batch, found)
        ledger = api.server.services.ledger
        assert ledger is not None
        await ledger.recount("default", "q")
        assert same(await used(api), await counted(api))

    asyncio.run(scenario())


@given(batch=st.lists(steps, min_size=5, max_size=25))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_nothing_is_let_in_beyond_the_bounds_however_many_come_at_once(batch: Any) -> None:
    async def scenario() -> None:
        api = Api()
        await api.server.start()
        await set_quota(api, quota(spec={"hard": HARD}))
        await asyncio.gather(*(do(api, step) for step in batch if step[0] not in ("requota", "end")))
        found = await counted(api)
        assert all(Quantity.parse(found[name]) <= Quantity.parse(HARD[name]) for name in HARD)

    asyncio.run(scenario())
