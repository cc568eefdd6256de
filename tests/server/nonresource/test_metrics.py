"""What the server counts, and how it tells."""

import asyncio
import re
import socket
import sys
from datetime import UTC, datetime

import pytest
from tests.server.nonresource.asking import Asking, asking
from tests.server.read.reader import MemorySink

from setpoint.server.publish.nonresource import metrics_page as measuring
from setpoint.server.publish.nonresource.metrics_page import Metrics
from setpoint.server.publish.nonresource.process import process_families
from setpoint.server.watch.frames import Changes

MAPS = "/api/v1/namespaces/default/configmaps"
_LINE = re.compile(
    r'(?P<name>[a-z_]+)(?:\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (?P<value>[0-9.e+-]+)'
)


async def lines(server: Asking) -> dict[str, float]:
    """Every sample, each of which has the form that Prometheus reads."""
    status, text = await server.text("/metrics")
    assert status == 200
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            assert _LINE.fullmatch(line), line
            name, _, value = line.rpartition(" ")
            assert name not in found
            found[name] = float(value)
    return found


def labels(verb: str, resource: str = "", scope: str = "", **more: str) -> str:
    version = "v1" if resource else ""
    shown = {"verb": verb, "group": "", "version": version, "resource": resource, "subresource": "", "scope": scope}
    shown |= {"dry_run": "", "component": "apiserver"}
    return "{" + ",".join(f'{name}="{value}"' for name, value in (shown | more).items()) + "}"


async def test_requests_are_counted_by_verb_resource_and_code() -> None:
    async with asking() as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        for _ in range(2):
            await server.ask(MAPS, method="POST", body=body)
        await server.ask(f"{MAPS}/a")
        await server.ask(MAPS)
        found = await lines(server)
        total, count = "apiserver_request_total", "apiserver_request_duration_seconds_count"
        assert found[total + labels("POST", "configmaps", "namespace", code="201")] == 1
        assert found[total + labels("POST", "configmaps", "namespace", code="409")] == 1
        assert found[total + labels("GET", "configmaps", "resource", code="200")] == 1
        assert found[total + labels("LIST", "configmaps", "namespace", code="200")] == 1
        assert found[count + labels("POST", "configmaps", "namespace")] == 2
        bucket = "apiserver_request_duration_seconds_bucket" + labels("POST", "configmaps", "namespace", le="+Inf")
        assert found[bucket] == 2


async def test_every_metric_is_declared_once() -> None:
    async with asking() as server:
        await server.ask(MAPS)
        _, text = await server.text("/metrics")
        declared = [line for line in text.splitlines() if line.startswith("# TYPE ")]
        assert len(declared) == len(set(declared)) > 20


async def test_dry_runs_refusals_and_sizes_are_counted() -> None:
    async with asking() as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        await server.ask(f"{MAPS}?dryRun=All", method="POST", body=body)
        await server.ask(MAPS)
        found = await lines(server)
        dry = labels("POST", "configmaps", "namespace", dry_run="All", code="201")
        assert found["apiserver_request_total" + dry] == 1
        assert found["apiserver_response_sizes_count" + labels("LIST", "configmaps", "namespace")] == 1
        assert found["apiserver_request_sli_duration_seconds_count" + labels("LIST", "configmaps", "namespace")] == 1
        assert found['authentication_attempts{result="success"}'] == 2
        step = '{type="admit",operation="CREATE",rejected="false"}'
        assert found[f"apiserver_admission_step_admission_duration_seconds_count{step}"] == 1


async def test_events_of_watches_are_counted() -> None:
    async with asking() as server:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        await server.ask(MAPS, method="POST", body=body)
        response = await server.ask(f"{MAPS}?watch=true")
        assert not isinstance(response.body, bytes | list)
        running = asyncio.create_task(response.body.run(MemorySink()))
        name = 'apiserver_watch_events_total{group="",version="v1",resource="configmaps"}'
        while name not in (found := await lines(server)):
            await asyncio.sleep(0)
        assert found[name] == 1
        running.cancel()


async def test_sizes_of_events_fall_into_powers_of_two() -> None:
    changes = Changes()
    for size in (1, 1024, 1025, 2048, 2049, 131_072, 131_073, 10_000_000):
        changes.count(size)
    assert changes.sizes.buckets == [2, 2, 1, 0, 0, 0, 0, 1, 2]
    assert (changes.sent, changes.sizes.sum) == (8, 1 + 1024 + 1025 + 2048 + 2049 + 131_072 + 131_073 + 10_000_000)


async def test_deprecated_resources_are_named_when_requested() -> None:
    name = "apiserver_requested_deprecated_apis"
    async with asking() as server:
        assert not [line for line in await lines(server) if line.startswith(name)]
        await server.ask("/api/v1/namespaces/default/endpoints")
        found = {line: value for line, value in (await lines(server)).items() if line.startswith(name)}
    labels = 'group="",version="v1",resource="endpoints",subresource="",removed_release=""'
    assert found == {f"{name}{{{labels}}}": 1}


async def test_unavailable_services_of_the_api_are_told() -> None:
    service = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 10,
            "service": {"namespace": "default", "name": "none"},
            "insecureSkipTLSVerify": True,
        },
    }
    spec = {"group": "local.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    local = {**service, "metadata": {"name": "v1.local.example.com"}, "spec": spec}
    async with asking() as server:
        response = await server.ask("/apis/apiregistration.k8s.io/v1/apiservices", method="POST", body=service)
        assert response.status == 201
        found = await lines(server)
        assert found['aggregator_unavailable_apiservice{name="v1.example.com"}'] == 1
        response = await server.ask("/apis/apiregistration.k8s.io/v1/apiservices", method="POST", body=local)
        assert response.status == 201
        assert (await lines(server))['aggregator_unavailable_apiservice{name="v1.local.example.com"}'] == 0


async def test_the_metrics_of_kubernetes_dashboards_are_served() -> None:
    """Those that the API server dashboard, rules and alerts of kubernetes-mixin query, but for Go's own."""
    async with asking() as server:
        await server.ask(MAPS)
        _, text = await server.text("/metrics")
    served = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
    assert served >= {
        "aggregator_unavailable_apiservice",
        "apiserver_client_certificate_expiration_seconds",
        "apiserver_request_sli_duration_seconds",
        "apiserver_request_terminations_total",
        "apiserver_request_total",
        "kubernetes_build_info",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
    }


async def test_the_store_is_measured() -> None:
    async with asking() as server:
        before = await lines(server)
        await server.ask(MAPS, method="POST", body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        after = await lines(server)
        name = 'apiserver_storage_objects{group="",resource="configmaps"}'
        assert after[name] == before[name] + 1
        assert after["setpoint_store_revision"] > before["setpoint_store_revision"]


async def test_a_watch_counts_while_it_is_open() -> None:
    async with asking() as server:
        response = await server.ask(f"{MAPS}?watch=true")
        assert not isinstance(response.body, bytes | list)
        sink = MemorySink()
        running = asyncio.create_task(response.body.run(sink))
        name = "apiserver_longrunning_requests" + labels("WATCH", "configmaps", "namespace")
        await asyncio.sleep(0)
        assert (await lines(server))[name] == 1
        sink.close()
        await running
        assert (await lines(server))[name] == 0


async def test_what_is_not_served_is_counted_together() -> None:
    async with asking() as server:
        for name in ("a", "b", "c"):
            await server.ask(f"/apis/{name}.example.com/v1/things")
        await server.ask(f"{MAPS}/a/things")
        await server.ask(f"{MAPS}/a", method="FETCH")
        found = await lines(server)
        assert found["apiserver_request_total" + labels("OTHER", code="404")] == 3
        assert not [name for name in found if "example" in name or "things" in name or "FETCH" in name]


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_MOST_TALLIES", 3)
    async with asking() as server:
        for path in (MAPS, f"{MAPS}/a", "/api/v1/pods", "/api/v1/nodes", "/api/v1/nodes", "/api/v1/secrets"):
            await server.ask(path)
        found = await lines(server)
        totals = {name: count for name, count in found.items() if name.startswith("apiserver_request_total")}
        assert len(totals) == 4
        assert totals["apiserver_request_total" + labels("OTHER", code="200")] == 3
        for number in range(5):
            await server.ask(f"{MAPS}/a/made-up-{number}")
            await server.ask(f"/api/v1/made-up-{number}")
        (metrics,) = (found for found in server.server.pipeline._plain if isinstance(found, Metrics))
        assert len(metrics._by_request) == 3


async def test_paths_that_were_made_up_are_not_remembered() -> None:
    async with asking() as server:
        for number in range(5):
            await server.ask(f"{MAPS}/a/made-up-{number}")
            await server.ask(f"/api/v1/made-up-{number}")
        (metrics,) = (found for found in server.server.pipeline._plain if isinstance(found, Metrics))
        assert not metrics._by_request


async def test_a_long_page_is_written_in_several_turns() -> None:
    async with asking() as server:
        (metrics,) = (found for found in server.server.pipeline._plain if isinstance(found, Metrics))
        for number in range(1000):
            metrics._tally(measuring._Series("GET", resource=f"resource-{number}"), 200)
        asked = asyncio.ensure_future(server.text("/metrics"))
        turns = 0
        while not asked.done():
            await asyncio.sleep(0)
            turns += 1
        _, text = await asked
    assert len(text.splitlines()) > 20_000
    assert turns > 10


async def test_the_process_is_measured_as_any_other() -> None:
    async with asking() as server:
        before = await lines(server)
        with socket.socket():
            during = await lines(server)
    assert during["process_cpu_seconds_total"] >= before["process_cpu_seconds_total"] > 0
    if sys.platform == "linux":
        assert during["process_open_fds"] == before["process_open_fds"] + 1 < before["process_max_fds"]
        assert 10e6 < before["process_resident_memory_bytes"] < before["process_virtual_memory_bytes"]
        age = datetime.now(UTC).timestamp() - before["process_start_time_seconds"]
        assert 0 < age < 24 * 3600


def test_a_system_that_shows_no_resources_has_the_processor_time() -> None:
    assert [family.name for family in process_families(lambda: None)] == ["process_cpu_seconds_total"]
