"""The queries of telemetry: lists, pages, single traces and metrics, watches, and the rights they need."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.server.authorization.cluster import Cluster, binding, role, rule
from tests.server.telemetry.telemetry_cluster import API, TelemetryCluster, telemetry_cluster
from tests.telemetry.samples import log, point, span

from setpoint.server.message import Frame
from setpoint.telemetry.records import Buckets, Distribution

TRACE = f"{1:032x}"


@pytest.fixture
async def cluster() -> AsyncIterator[TelemetryCluster]:
    async with telemetry_cluster() as made:
        await made.received(
            span(1, name="GET /cart"),
            span(2, parent=1, service="db", name="query", code="Error"),
            span(3, trace=2, name="GET /health"),
            log(1, "added to the cart", trace=1),
            log(2, "refused", severity=17),
            point(1, 3, color="red"),
            point(2, 5, color="red"),
        )
        yield made


async def test_services_are_listed_with_their_counts(cluster: TelemetryCluster) -> None:
    found = await cluster.listed("services")
    assert [(each["name"], each["spans"], each["logs"], each["points"]) for each in found] == [
        ("db", 1, 0, 0),
        ("shop", 2, 2, 2),
    ]
    assert found[1]["lastSeen"] == "2026-01-31T12:00:03.000000000Z"
    assert (await cluster("GET", API)).body["items"] == found


async def test_traces_are_listed_and_read_with_their_logs(cluster: TelemetryCluster) -> None:
    assert [each["name"] for each in await cluster.listed("traces")] == ["GET /health", "GET /cart"]
    [failed] = await cluster.listed("traces", errors="true", minDuration="1500ms", service="db", text="cart")
    assert failed["traceId"] == TRACE
    trace = (await cluster("GET", f"{API}/traces/{TRACE}")).body
    assert [(each["name"], each["parentSpanId"]) for each in trace["spans"]] == [
        ("GET /cart", ""),
        ("query", f"{1:016x}"),
    ]
    assert (trace["spanCount"], trace["errors"], trace["truncated"]) == (2, 1, False)
    assert [each["body"] for each in trace["logs"]] == ["added to the cart"]
    unknown = await cluster("GET", f"{API}/traces/{9:032x}")
    assert (unknown.status, unknown.body["reason"]) == (404, "NotFound")


async def test_ids_select_the_known_traces_among_them(cluster: TelemetryCluster) -> None:
    many = [f"{each:032x}" for each in range(10, 109)]
    assert [each["traceId"] for each in await cluster.listed("traces", ids=",".join([TRACE.upper(), *many]))] == [TRACE]
    assert [each["name"] for each in await cluster.listed("traces", ids=f"{2:032x},{TRACE}")] == [
        "GET /health",
        "GET /cart",
    ]
    assert await cluster.listed("traces", ids=f"{2:032x}", errors="true") == []


async def test_pages_continue_where_the_last_one_ended(cluster: TelemetryCluster) -> None:
    await cluster.received(*(log(number, f"text {number}") for number in range(10, 17)))
    bodies: list[str] = []
    query: dict[str, str] = {"limit": "4"}
    while True:
        answer = await cluster("GET", f"{API}/logs", **query)
        bodies += [each["body"] for each in answer.body["items"]]
        if "continue" not in answer.body["metadata"]:
            break
        query["before"] = answer.body["metadata"]["continue"]
    assert bodies == [*(f"text {number}" for number in range(16, 9, -1)), "refused", "added to the cart"]
    before = await cluster.listed("logs", before="2026-01-31T12:00:02Z")
    assert [each["body"] for each in before] == ["added to the cart"]


async def test_metrics_are_listed_and_have_series(cluster: TelemetryCluster) -> None:
    buckets = Buckets((10.0, 100.0), (10, 0, 0), 1)
    await cluster.received(point(1, Distribution(10, 1.0), name="http.latency", kind="histogram", buckets=buckets))
    found = await cluster.listed("metrics", service="shop")
    assert [(each["name"], each["type"], each["unit"]) for each in found] == [
        ("http.latency", "histogram", "1"),
        ("orders", "sum", "1"),
    ]
    orders = (await cluster("GET", f"{API}/metrics/orders", since="2026-01-31T12:00:01Z")).body
    assert orders["series"] == [
        {"service": "shop", "instance": "shop-0", "attributes": {"color": "red"}, "points": [[1769860802000.0, 5]]}
    ]
    latency = (await cluster("GET", f"{API}/metrics/http.latency")).body["series"][0]["points"][0][1]
    assert latency == {"count": 10, "sum": 1.0, "p50": 5.0, "p90": 9.0, "p99": pytest.approx(9.9)}
    assert (await cluster("GET", f"{API}/metrics/absent")).status == 404


@pytest.mark.parametrize(
    ("below", "query", "message"),
    [
        ("traces", {"minDuration": "soon"}, "minDuration must be a duration such as 10ms"),
        ("traces", {"errors": "1"}, "errors must be true or false"),
        ("traces", {"limit": "0"}, "limit must be a number from 1"),
        ("traces", {"before": "yesterday"}, "before must be a time in RFC 3339"),
        ("traces", {"ids": f"{TRACE},12"}, "ids must have 32 hexadecimal digits, not '12'"),
        ("traces", {"ids": ",".join(f"{each:032x}" for each in range(101))}, "ids has more than 100 IDs"),
        ("traces", {"text": "x" * 501}, "text has more than 500 characters"),
        ("logs", {"severity": "BAD"}, "severity must be one of TRACE, DEBUG"),
        ("logs", {"traceId": "12"}, "traceId must have 32 hexadecimal digits"),
        ("metrics/orders", {"since": "3"}, "since must be a time in RFC 3339"),
    ],
)
async def test_a_wrong_parameter_is_named(
    cluster: TelemetryCluster, below: str, query: dict[str, str], message: str
) -> None:
    answer = await cluster("GET", f"{API}/{below}", **query)
    assert (answer.status, answer.body["kind"]) == (400, "Status")
    assert message in answer.message


async def test_unknown_paths_and_writes_are_refused(cluster: TelemetryCluster) -> None:
    for below in ("profiles", "logs/1", "services/shop", "traces/a/b"):
        assert (await cluster("GET", f"{API}/{below}")).status == 404, below
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert (await cluster(method, f"{API}/traces")).status == 405
    assert (await cluster("GET", "/apis/setpoint.dev/v1/namespaces/default/telemetry")).status == 404


class Lines:
    """A sink that collects the lines of a watch."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self.closed = False

    def write(self, frame: Frame) -> bool:
        self.lines += [json.loads(line) for line in frame.payload.splitlines()]
        return True

    async def drain(self) -> bool:
        return True

    async def wait_closed(self) -> None:
        await self.cluster.received(
            span(4, trace=3, name="new"),
            log(5, "quiet", severity=5),
            log(6, "loud", severity=17),
            point(3, 8, color="red"),
            span(7, trace=4, service="mail"),
        )

    cluster: TelemetryCluster


@pytest.mark.parametrize(
    ("below", "query", "expected"),
    [
        ("traces", {"text": "new"}, ["new"]),
        ("logs", {"severity": "WARN"}, ["loud"]),
        ("metrics/orders", {}, [[1769860803000.0, 8]]),
        ("metrics", {"service": "mail"}, []),
        ("services", {}, ["mail"]),
    ],
)
async def test_a_watch_sends_new_records_as_lines(
    cluster: TelemetryCluster, below: str, query: dict[str, str], expected: list[Any]
) -> None:
    response = await cluster.respond("GET", f"{API}/{below}", watch="true", **query)
    body = response.body
    assert not isinstance(body, bytes | list)
    sink = Lines()
    sink.cluster = cluster
    await body.run(sink)
    found = [each.get("body") or each.get("name") if "point" not in each else each["point"] for each in sink.lines]
    assert found == expected
    # The watch has ended.
    await cluster.received(log(9, "later", severity=17))
    assert len(sink.lines) == len(expected)


async def test_a_user_needs_the_right_of_the_verb(cluster: TelemetryCluster) -> None:
    for name, verbs in (("lister", "list"), ("getter", "get"), ("watcher", "watch"), ("other", "create")):
        await cluster.made(role(name, rule(verbs, "telemetry", groups="setpoint.dev")))
        await cluster.made(binding(name, name, to=name, cluster_role=True))
    asked = {
        "lister": ("traces", {}),
        "getter": (f"traces/{TRACE}", {}),
        "watcher": ("traces", {"watch": "true"}),
    }
    for owner, (below, query) in asked.items():
        for user in (*asked, "other", "nobody"):
            answer = await cluster("GET", f"{API}/{below}", user=user, **query)
            assert answer.status == (200 if user == owner else 403), (user, below, query)
            if user != owner:
                assert 'resource "telemetry" in API group "setpoint.dev"' in answer.message
    assert (await cluster("GET", f"{API}/traces", user="nobody", ids=TRACE)).status == 403
    # The other paths need the same rights.
    for below in ("", "/services", "/metrics", "/logs", "/metrics/orders", "/absent"):
        assert (await cluster("GET", f"{API}{below}", user="nobody")).status == 403
        assert (await cluster("GET", f"{API}{below}", user="nobody", watch="true")).status == 403


async def test_a_server_without_telemetry_names_the_remedy() -> None:
    cluster = Cluster()
    await cluster.server.start()
    answer = await cluster("GET", f"{API}/traces")
    assert (answer.status, "setpoint up" in answer.message) == (503, True)
