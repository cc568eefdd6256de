"""What conversion by webhook costs: how often it is asked, and for what."""

import asyncio
from datetime import UTC, datetime

import pytest
from tests.server.conversion.widgets import V1, Widgets, at, convert, created, new_widgets, reviewing
from tests.server.outbound.peer import Asked
from tests.server.read.reader import PARTIAL_LIST, TABLE

from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.server.message import Request
from setpoint.server.publish.nonresource.metrics_page import Metrics
from setpoint.server.registry.conversion.cache import Memory, key_of
from setpoint.server.registry.conversion.pending import RequiredConversion
from setpoint.server.server_options import Serving

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


async def test_a_thousand_objects_are_listed_with_a_handful_of_calls_and_then_with_none(widgets: Widgets) -> None:
    for number in range(1000):
        await created(widgets, "v2", f"w{number:04}", replicas=number)
    assert widgets.calls == [], "what is written and stored in one version is nobody's business"
    body = await widgets.get(at("v1"))
    assert [item["spec"]["size"] for item in body["items"]] == list(range(1000))
    assert [len(call["objects"]) for call in widgets.calls] == [500, 500]
    assert {call["desiredAPIVersion"] for call in widgets.calls} == {V1}
    for query, accept in (("", ""), ("limit=10", ""), ("fieldSelector=spec.size=7", ""), ("", TABLE)):
        await widgets.get(at("v1"), query, accept or "application/json")
    await widgets.get(at("v1"), "", PARTIAL_LIST)
    await widgets("GET", at("v1", "w0007"))
    async with widgets.watch("v1") as watching:
        for _ in range(1000):
            assert (await watching.next())[0] == "ADDED"
    assert len(widgets.calls) == 2
    await widgets.merge(at("v2", "w0007"), {"spec": {"replicas": 7000}})
    body = await widgets.get(at("v1"))
    assert body["items"][7]["spec"] == {"size": 7000}
    assert [len(call["objects"]) for call in widgets.calls[2:]] == [1], "only what has changed"


async def test_a_cold_collection_is_selected_and_watched_with_a_handful_of_calls(widgets: Widgets) -> None:
    for number in range(20):
        await created(widgets, "v2", f"w{number:04}", replicas=number)
    found = await widgets.get(at("v1"), "fieldSelector=spec.size=7")
    assert [item["metadata"]["name"] for item in found["items"]] == ["w0007"]
    assert len(widgets.calls) == 1
    widgets.clock.advance(61)
    async with widgets.watch("v1") as watching:
        assert [(await watching.next())[1]["spec"]["size"] for _ in range(20)] == list(range(20))
    assert len(widgets.calls) == 2, "after a minute it is asked again: it may have been mended"
    widgets.clock.advance(61)
    await widgets("DELETE", at("v1"))
    assert len(widgets.calls) == 3


async def test_those_who_need_the_same_at_the_same_time_wait_for_one_call(widgets: Widgets) -> None:
    for name in ("a", "b", "c"):
        await created(widgets, "v2", name, replicas=1)
    asking = [asyncio.create_task(widgets("GET", at("v1", "a"))) for _ in range(10)]
    asking += [asyncio.create_task(widgets("GET", at("v1"))) for _ in range(10)]
    answers = await asyncio.gather(*asking)
    assert {answer.status for answer in answers} == {200}
    asked_for = [tree["metadata"]["name"] for call in widgets.calls for tree in call["objects"]]
    assert sorted(asked_for) == ["a", "b", "c"]


async def test_who_stops_waiting_stops_nobody_else() -> None:
    go = asyncio.Event()
    honest = reviewing(convert)

    async def slow(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await go.wait()
        await honest(asked, writer)

    async with new_widgets(behaviour=slow) as widgets:
        await created(widgets, "v2", replicas=1)
        first = asyncio.create_task(widgets("GET", at("v1", "w")))
        assert widgets.peer is not None
        await widgets.peer.was_asked.wait()
        second = asyncio.create_task(widgets("GET", at("v1", "w")))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await widgets("GET", at("v2", "w"))).status == 200, "the server goes on meanwhile"
        go.set()
        assert (await second).body["spec"] == {"size": 1}
        assert len(widgets.calls) == 1


async def test_a_write_in_another_version_asks_for_what_it_needs_in_few_calls(widgets: Widgets) -> None:
    await created(widgets, "v2", replicas=1)
    await widgets("GET", at("v1", "w"))
    before = len(widgets.calls)
    answer = await widgets.merge(at("v1", "w"), {"spec": {"size": 2}})
    assert answer.status == 200, answer.body
    # To compare what changed where others own it, to store it, and to show what was stored.
    assert len(widgets.calls) - before <= 3


async def test_webhooks_see_what_they_would_see_of_the_real_server(widgets: Widgets) -> None:
    await created(widgets, "v2", replicas=1)
    await widgets("GET", at("v1", "w"))
    assert widgets.peer is not None
    [asked] = widgets.peer.asked
    assert asked.target == "/convert?timeout=30s"
    [call] = widgets.calls
    assert set(call) == {"uid", "desiredAPIVersion", "objects"}
    assert "resourceVersion" not in call["objects"][0]["metadata"]
    assert call["objects"][0] == await widgets.stored()


async def test_calls_are_measured() -> None:
    async with new_widgets(serving=Serving(pages=[Metrics()])) as widgets:
        await created(widgets, "v2", replicas=1)
        await widgets("GET", at("v1", "w"))
        await widgets("GET", at("v1", "w"))
        text = (await widgets("GET", "/metrics")).body
        call, versions = 'result="success",failure_type=""', 'from_version="v2",to_version="v1",succeeded="true"'
        assert f"apiserver_conversion_webhook_request_total{{{call}}} 1\n" in text
        assert f'apiserver_conversion_webhook_duration_seconds_bucket{{{call},le="+Inf"}} 1\n' in text
        name = f'{{crd_name="widgets.example.com",{versions}}}'
        assert f"apiserver_crd_conversion_webhook_duration_seconds_count{name} 1\n" in text


def _tree(name: str, text: str = "") -> Object:
    return {"apiVersion": V1, "kind": "Widget", "metadata": {"name": name}, "spec": {"text": text}}


def test_the_memory_is_bounded_but_keeps_what_somebody_holds() -> None:
    memory = Memory(ManualClock(NOW), limit=10_000)
    held = memory.put(b"held", _tree("held", "x" * 9_000))
    memory.put(b"loose", _tree("loose", "x" * 9_000))
    memory.put(b"last", _tree("last", "x" * 9_000))
    assert memory.find(b"held") is held
    assert memory.find(b"loose") is None
    assert memory.find(b"last") is not None
    del held
    assert memory.find(b"held") is None


def test_what_is_remembered_takes_the_metadata_of_whatever_is_converted() -> None:
    memory = Memory(ManualClock(NOW))
    made = memory.put(b"k", {**_tree("w", "red"), "metadata": {"name": "w", "labels": {"a": "b"}, "generation": 1}})
    original = {"metadata": {"name": "w", "generation": 2, "resourceVersion": "7", "labels": {"old": "1"}}}
    tree = made.of(original)
    assert tree["metadata"] == {"name": "w", "generation": 2, "resourceVersion": "7", "labels": {"a": "b"}}
    tree["spec"]["text"] = "changed"
    assert made.of(original)["spec"] == {"text": "red"}, "each gets a tree of its own"


def test_an_object_is_known_again_whatever_its_revision_and_whoever_owns_it() -> None:
    def key(metadata: Object, to: str = V1, scope: bytes = b"s", **more: str) -> bytes:
        return key_of(scope, RequiredConversion({"metadata": metadata, **more}, "", to)).digest

    one = key({"name": "a", "resourceVersion": "1", "managedFields": [{"manager": "m"}]})
    assert one == key({"name": "a", "resourceVersion": "2"})
    different = [
        key({"name": "b"}),
        key({"name": "a"}, to="v3"),
        key({"name": "a"}, scope=b"t"),
        key({"name": "a"}, x=""),
    ]
    assert len({one, *different}) == 5


async def test_only_what_a_selector_looks_into_is_converted(widgets: Widgets) -> None:
    for name in ("a", "b", "c"):
        await created(widgets, "v2", name, replicas=1)
    found = await widgets.get("/apis/example.com/v1/widgets", "fieldSelector=metadata.name=b")
    assert [item["spec"] for item in found["items"]] == [{"size": 1}]
    async with widgets.watch("v1", "fieldSelector=metadata.name!=b,metadata.name!=c") as watching:
        assert (await watching.next())[1]["metadata"]["name"] == "a"
    names = [[tree["metadata"]["name"] for tree in call["objects"]] for call in widgets.calls]
    assert names == [["b"], ["a"]]


async def test_a_connection_does_not_answer_by_itself_for_what_has_to_be_converted(widgets: Widgets) -> None:
    await created(widgets, "v2", replicas=1)
    assert await widgets.server.repeat(Request("GET", at("v1", "w"), "", {}, b"")) is None
    assert await widgets.server.repeat(Request("GET", "/api/v1/namespaces/default", "", {}, b"")) is not None
