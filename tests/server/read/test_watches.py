"""Watches: where they begin, what they tell, in which form, and how they end."""

import asyncio
import json
from typing import Any

import pytest

from setpoint.store.contract import Watch

from .reader import DEFINITIONS, MAPS, PARTIAL, START, TABLE, WIDGETS, Reader, Tree, reading

SECRETS = MAPS.replace("configmaps", "secrets")
FROM_NOW: dict[str, Any] = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}


def revision(tree: Tree) -> int:
    return int(tree["metadata"]["resourceVersion"])


async def test_a_watch_tells_what_there_is_and_then_every_change() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "a")
        watch = await reader.watch()
        assert await watch.told(1) == [("ADDED", "a")]
        await reader.create(MAPS, "b")
        await reader.patch(f"{MAPS}/a", {"data": {"k": "v"}})
        await reader.delete(f"{MAPS}/b")
        assert await watch.told(3) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


async def test_a_watch_from_a_revision_tells_all_that_came_after_it() -> None:
    async with reading() as reader:
        first = await reader.create(MAPS, "a")
        await reader.patch(f"{MAPS}/a", {"data": {"k": "v"}})
        await reader.delete(f"{MAPS}/a")
        watch = await reader.watch(resourceVersion=revision(first))
        assert await watch.told(2) == [("MODIFIED", "a"), ("DELETED", "a")]


async def test_what_is_deleted_is_told_as_it_last_was_at_the_revision_of_its_end() -> None:
    async with reading() as reader:
        made = await reader.create(MAPS, "a", data={"k": "v"})
        watch = await reader.watch(resourceVersion=revision(made))
        await reader.delete(f"{MAPS}/a")
        (event,) = await watch.events(1)
        assert event["object"]["data"] == {"k": "v"}
        assert revision(event["object"]) == await reader.store.revision() > revision(made)


async def test_a_watch_from_a_revision_to_come_waits_for_it() -> None:
    async with reading() as reader:
        current = await reader.store.revision()
        watch = await reader.watch(resourceVersion=current + 1)
        await reader.create(MAPS, "a")
        assert await watch.told(0) == []
        await reader.create(MAPS, "b")
        assert await watch.told(1) == [("ADDED", "b")]


async def test_a_watch_from_far_ahead_holds_up_no_other() -> None:
    async with reading() as reader:
        ahead = await reader.watch(resourceVersion=10**12, allowWatchBookmarks="true")
        assert await ahead.told(0) == []
        watches = [await reader.watch() for _ in range(2)]
        await asyncio.gather(*(watch.told(0) for watch in watches))
        await reader.create(MAPS, "a")
        for watch in watches:
            assert await watch.told(1) == [("ADDED", "a")]
        reader.clock.advance(60)
        assert await ahead.told(0) == []


async def test_a_watch_from_a_forgotten_revision_is_told_so_and_ends() -> None:
    async with reading() as reader:
        first = await reader.create(MAPS, "a")
        await reader.create(MAPS, "b")
        current = await reader.store.revision()
        await reader.store.compact(current)
        watch = await reader.watch(resourceVersion=revision(first))
        (event,) = await watch.events(1)
        assert event["type"] == "ERROR"
        assert event["object"] == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"too old resource version: {revision(first)} ({current})",
            "reason": "Expired",
            "code": 410,
        }
        assert await watch.ended()


async def test_a_watch_does_not_expire_with_an_older_one_that_starts_at_the_same_time() -> None:
    async with reading() as reader:
        first = await reader.create(MAPS, "a")
        await reader.create(MAPS, "b")
        kept = await reader.store.revision()
        await reader.create(MAPS, "c")
        await reader.store.compact(kept)
        late = await reader.watch(resourceVersion=revision(first))
        watch = await reader.watch(resourceVersion=kept)
        assert [event["object"]["code"] for event in await late.events(1)] == [410]
        assert await watch.told(1) == [("ADDED", "c")]


async def test_a_custom_resource_has_no_past_before_its_definition() -> None:
    async with reading() as reader:
        before = await reader.store.revision()
        made = await reader.define_widgets()
        watch = await reader.watch(WIDGETS, resourceVersion=before)
        (event,) = await watch.events(1)
        assert event["object"]["reason"] == "Expired"
        watch = await reader.watch(WIDGETS, resourceVersion=revision(made))
        await reader.create(WIDGETS, "w")
        assert await watch.told(1) == [("ADDED", "w")]


async def test_objects_come_into_sight_of_a_selector_and_go_out_of_it() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "in", labels={"a": "1"})
        out = await reader.create(MAPS, "out")
        watch = await reader.watch(labelSelector="a=1", resourceVersion=revision(out))
        await reader.patch(f"{MAPS}/out", {"data": {"k": "v"}})
        await reader.patch(f"{MAPS}/out", {"metadata": {"labels": {"a": "1"}}})
        await reader.patch(f"{MAPS}/out", {"data": {"k": "w"}})
        last = await reader.patch(f"{MAPS}/out", {"metadata": {"labels": {"a": "2"}}})
        await reader.delete(f"{MAPS}/out")
        added, modified, deleted = await watch.events(3)
        assert [event["type"] for event in (added, modified, deleted)] == ["ADDED", "MODIFIED", "DELETED"]
        assert deleted["object"]["metadata"]["labels"] == {"a": "1"}
        assert revision(deleted["object"]) == revision(last)


async def test_a_watch_of_one_name_tells_nothing_of_names_that_begin_with_it() -> None:
    async with reading() as reader:
        watch = await reader.watch(fieldSelector="metadata.name=a")
        await reader.create(MAPS, "ab")
        await reader.create(MAPS, "a")
        assert await watch.told(1) == [("ADDED", "a")]


async def test_the_oldest_way_to_watch_one_object_still_works() -> None:
    async with reading() as reader:
        watch = await reader.watch(MAPS.replace("/v1/", "/v1/watch/") + "/a")
        await reader.create(MAPS, "ab")
        await reader.create(MAPS, "a")
        assert await watch.told(1) == [("ADDED", "a")]


async def test_a_field_selector_beside_the_name_of_one_object_must_name_the_same() -> None:
    async with reading() as reader:
        one = MAPS.replace("/v1/", "/v1/watch/") + "/a"
        watch = await reader.watch(one, fieldSelector="metadata.name=a")
        await reader.create(MAPS, "a")
        assert await watch.told(1) == [("ADDED", "a")]
        refused = await reader.json(one, status=400, fieldSelector="metadata.name=b")
        assert refused["message"] == "fieldSelector metadata.name doesn't match requested name"


async def test_the_end_of_the_initial_events_is_told_to_who_takes_bookmarks() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "a")
        options: dict[str, Any] = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        watch = await reader.watch(**options)
        assert await watch.told(1) == [("ADDED", "a")]
        watch = await reader.watch(allowWatchBookmarks="true", **options)
        _, bookmark = await watch.events(2)
        metadata = {
            "resourceVersion": str(await reader.store.revision()),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
        assert bookmark == {
            "type": "BOOKMARK",
            "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata},
        }


async def test_a_bookmark_of_a_built_in_kind_has_the_zero_values_of_its_fields() -> None:
    async with reading() as reader:
        options: dict[str, Any] = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        watch = await reader.watch("/api/v1/namespaces/default/pods", allowWatchBookmarks="true", **options)
        (bookmark,) = await watch.events(1)
        assert (bookmark["object"]["spec"], bookmark["object"]["status"]) == ({"containers": None}, {})


async def test_a_bookmark_tells_every_minute_how_far_the_watch_has_come() -> None:
    async with reading() as reader:
        watch = await reader.watch(allowWatchBookmarks="true", **FROM_NOW)
        silent = await reader.watch(**FROM_NOW)
        assert await watch.told(0) == []
        await reader.create(SECRETS, "elsewhere", kind="Secret")
        reader.clock.advance(60)
        (bookmark,) = await watch.events(1)
        assert bookmark["type"] == "BOOKMARK"
        assert bookmark["object"]["metadata"] == {"resourceVersion": str(await reader.store.revision())}
        assert await silent.told(0) == []


async def test_a_bookmark_reports_the_progress_of_a_watch_that_began_before_the_others() -> None:
    """The watch cannot join those that began later, and no object changed in between."""
    async with reading() as reader:
        start = await reader.store.revision()
        await reader.create(SECRETS, "elsewhere", kind="Secret")
        later = await reader.watch(allowWatchBookmarks="true", **FROM_NOW)
        assert await later.told(0) == []
        earlier = await reader.watch(resourceVersion=start, allowWatchBookmarks="true")
        assert await earlier.told(0) == []
        await reader.create(SECRETS, "another", kind="Secret")
        reader.clock.advance(60)
        for watch in (later, earlier):
            (bookmark,) = await watch.events(1)
            assert bookmark["type"] == "BOOKMARK"
            assert revision(bookmark["object"]) == await reader.store.revision()
        await reader.create(MAPS, "a")
        assert await earlier.told(1) == await later.told(1) == [("ADDED", "a")]


async def test_a_watch_from_a_revision_to_come_sends_bookmarks_once_the_log_has_passed_it() -> None:
    async with reading() as reader:
        watch = await reader.watch(resourceVersion=await reader.store.revision() + 1, allowWatchBookmarks="true")
        assert await watch.told(0) == []
        reader.clock.advance(60)
        assert await watch.told(0) == []
        for name in ("one", "two"):
            await reader.create(SECRETS, name, kind="Secret")
        reader.clock.advance(60)
        (bookmark,) = await watch.events(1)
        assert revision(bookmark["object"]) == await reader.store.revision()


async def test_a_watch_ends_when_its_time_is_over_with_a_bookmark_shortly_before() -> None:
    async with reading() as reader:
        watch = await reader.watch(timeoutSeconds=10, allowWatchBookmarks="true", **FROM_NOW)
        assert await watch.told(0) == []
        reader.clock.advance(8)
        assert [event["type"] for event in await watch.events(1)] == ["BOOKMARK"]
        assert not await watch.ended()
        reader.clock.advance(2)
        assert await watch.ended()
        assert await watch.told(0) == []


async def test_a_watch_that_was_given_no_time_ends_between_half_an_hour_and_an_hour() -> None:
    async with reading() as reader:
        watch = await reader.watch()
        minutes = 0
        while not await watch.ended():
            reader.clock.advance(60)
            minutes += 1
        assert 30 <= minutes <= 61


async def test_a_watch_ends_when_its_client_goes() -> None:
    async with reading() as reader:
        watch = await reader.watch()
        assert not await watch.ended()
        watch.sink.close()
        assert await watch.ended()


async def test_a_watch_ends_when_its_store_closes() -> None:
    async with reading() as reader:
        watch = await reader.watch()
        assert not await watch.ended()
        await reader.store.close()
        assert await watch.ended()


async def test_a_client_that_is_cut_off_ends_its_watch_and_no_other() -> None:
    async with reading() as reader:
        slow, quick = await reader.watch(patience=2, **FROM_NOW), await reader.watch(**FROM_NOW)
        for name in "abcd":
            await reader.create(MAPS, name)
            assert len(await quick.told(1)) == 1
        assert await slow.ended()


async def test_changes_that_are_told_together_are_sent_together() -> None:
    async with reading() as reader:
        watch = await reader.watch(**FROM_NOW)
        assert await watch.told(0) == []
        for name in "abcd":
            await reader.create(MAPS, name)
        assert [name for _, name in await watch.told(4)] == [*"abcd"]
        assert len(watch.sink.frames) < 4


async def test_small_initial_events_are_sent_together() -> None:
    async with reading() as reader:
        for number in range(50):
            await reader.create(MAPS, f"m{number:02d}")
        watch = await reader.watch(allowWatchBookmarks="true")
        assert [name for _, name in await watch.told(51)] == [*(f"m{number:02d}" for number in range(50)), ""]
        assert len(watch.sink.frames) == 1


async def test_many_initial_events_are_sent_no_faster_than_the_client_takes_them() -> None:
    async with reading() as reader:
        for number in range(10):
            await reader.create(MAPS, f"m{number}", data={"k": "x" * 100_000})
        watch = await reader.watch(patience=4)
        assert len(await watch.told(10)) == 10
        assert watch.sink.drains >= 3


async def test_a_slow_client_is_waited_for_by_nobody_and_misses_nothing() -> None:
    async with reading() as reader:
        slow, quick = [await reader.watch(allowWatchBookmarks="true", **FROM_NOW) for _ in range(2)]
        slow.sink.takes.clear()
        await asyncio.gather(slow.told(0), quick.told(0))
        for number in range(12):
            await reader.create(MAPS, f"m{number:02d}", data={"k": "x" * 100_000})
            assert await quick.told(1) == [("ADDED", f"m{number:02d}")]
        assert len(slow.sink.frames) < 6
        reader.clock.advance(60)
        (bookmark,) = await quick.events(1)
        assert revision(bookmark["object"]) == await reader.store.revision()
        seen = [event["type"] for event in slow.sink.events]
        assert "BOOKMARK" not in seen
        slow.sink.takes.set()
        assert await slow.told(12) == [("ADDED", f"m{number:02d}") for number in range(12)]
        await reader.create(MAPS, "last")
        assert await slow.told(1) == await quick.told(1) == [("ADDED", "last")]


async def test_a_client_so_slow_that_the_log_is_cut_off_behind_it_is_told_so() -> None:
    async with reading() as reader:
        watch = await reader.watch(**FROM_NOW)
        watch.sink.takes.clear()
        for number in range(8):
            await reader.create(MAPS, f"m{number}", data={"k": "x" * 100_000})
            await asyncio.sleep(0)
        await watch.ended()
        await reader.store.compact(await reader.store.revision())
        watch.sink.takes.set()
        assert await watch.ended()
        assert watch.sink.events[-1]["object"]["reason"] == "Expired"


async def test_watches_of_one_form_share_the_frame_of_a_change() -> None:
    async with reading() as reader:
        watches = [await reader.watch() for _ in range(3)]
        partial = await reader.watch(accept=PARTIAL)
        await asyncio.gather(*(watch.told(0) for watch in (*watches, partial)))
        await reader.create(MAPS, "a")
        for watch in (*watches, partial):
            await watch.told(1)
        assert len({id(watch.sink.frames[-1]) for watch in watches}) == 1
        assert partial.sink.frames[-1] is not watches[0].sink.frames[-1]


async def test_watches_with_selectors_share_one_watch_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    async with reading() as reader:
        follow, followed = reader.store.watch, []

        def counted(prefix: str, after: int) -> Watch:
            followed.append(prefix)
            return follow(prefix, after)

        monkeypatch.setattr(reader.store, "watch", counted)
        watches = [await reader.watch(labelSelector=f"a={number}") for number in range(3)]
        await asyncio.gather(*(watch.told(0) for watch in watches))
        for number, watch in enumerate(watches):
            await reader.create(MAPS, f"m{number}", labels={"a": str(number)})
            assert await watch.told(1) == [("ADDED", f"m{number}")]
        assert sum("configmaps" in prefix for prefix in followed) == 1


async def test_each_namespace_is_watched_apart_and_all_together() -> None:
    async with reading() as reader:
        everywhere = await reader.watch("/api/v1/configmaps")
        here = await reader.watch()
        await reader.create(MAPS, "a")
        await reader.create(MAPS.replace("default", "kube-public"), "b")
        assert await everywhere.told(2) == [("ADDED", "a"), ("ADDED", "b")]
        assert await here.told(1) == [("ADDED", "a")]


async def test_metadata_alone_is_watched_as_whole_objects_are() -> None:
    async with reading() as reader:
        made = await reader.create(MAPS, "a", data={"k": "v"})
        watch = await reader.watch(accept=PARTIAL, allowWatchBookmarks="true")
        added, bookmark = await watch.events(2)
        kind = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        assert added["object"] == {**kind, "metadata": made["metadata"]}
        assert {**bookmark["object"], "metadata": {}} == {**kind, "metadata": {}}
        await reader.delete(f"{MAPS}/a")
        (deleted,) = await watch.events(1)
        assert set(deleted["object"]) == {"kind", "apiVersion", "metadata"}


async def test_a_watch_of_tables_names_its_columns_once_and_tells_ages_anew() -> None:
    async with reading() as reader:
        await reader.define_widgets()
        await reader.create(WIDGETS, "a")
        watch = await reader.watch(WIDGETS, accept=TABLE, allowWatchBookmarks="true")
        added, bookmark = await watch.events(2)
        assert [column["name"] for column in added["object"]["columnDefinitions"]] == ["Name", "Age"]
        assert added["object"]["rows"][0]["cells"] == ["a", "0s"]
        assert bookmark["object"]["columnDefinitions"] is None
        assert bookmark["object"]["rows"][0]["object"]["metadata"]["annotations"]
        reader.clock.advance(30)
        changed = await reader.patch(f"{WIDGETS}/a", {"spec": {"k": 1}})
        (modified,) = await watch.events(1)
        assert modified["object"]["columnDefinitions"] is None
        assert modified["object"]["rows"][0]["cells"] == ["a", "30s"]
        assert modified["object"]["metadata"] == {"resourceVersion": str(revision(changed))}


async def test_a_watch_follows_a_definition_that_changes_and_ends_with_it() -> None:
    async with reading() as reader:
        await reader.define_widgets()
        watch = await reader.watch(WIDGETS, accept=TABLE)
        columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
        await reader.create(WIDGETS, "a", spec={"size": 3})
        await watch.events(1)
        definition = await reader.json(f"{DEFINITIONS}/widgets.ex.com")
        definition["spec"]["versions"][0]["additionalPrinterColumns"] = columns
        await reader.json(f"{DEFINITIONS}/widgets.ex.com", method="PUT", body=definition)
        await reader.create(WIDGETS, "b", spec={"size": 4})
        await watch.events(1)
        await reader.create(WIDGETS, "c", spec={"size": 5})
        (event,) = await watch.events(1)
        assert event["object"]["rows"][0]["cells"] == ["c", 5]
        await reader.delete(f"{DEFINITIONS}/widgets.ex.com")
        assert [event["type"] for event in await watch.events(3)] == ["DELETED"] * 3
        reader.clock.advance(60)
        assert await watch.ended()


async def test_a_streaming_list_of_a_revision_to_come_is_told_to_wait() -> None:
    async with reading() as reader:
        watch = await reader.watch(
            sendInitialEvents="true", resourceVersionMatch="NotOlderThan", resourceVersion=999_999_999
        )
        (event,) = await watch.events(1)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
        assert event["object"]["details"]["retryAfterSeconds"] == 1
        assert await watch.ended()


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"resourceVersion": "abc"}, 400),
        ({"labelSelector": "a b"}, 400),
        ({"fieldSelector": "x=y"}, 400),
        ({"timeoutSeconds": "long"}, 400),
        ({"sendInitialEvents": "true"}, 422),
        ({"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"}, 422),
    ],
)
async def test_what_is_wrong_with_a_watch_is_answered_before_it_begins(query: dict[str, Any], status: int) -> None:
    async with reading() as reader:
        await reader.json(MAPS, watch="true", status=status, **query)


async def test_a_watch_cannot_be_yaml() -> None:
    async with reading() as reader:
        response = await reader.ask("GET", MAPS, headers={"accept": "application/yaml"}, watch="1")
        assert response.status == 406


async def test_the_lines_of_a_watch_are_json_each_on_its_own() -> None:
    async with reading() as reader:
        watch = await reader.watch()
        await reader.create(MAPS, "a", data={"k": "two\nlines"})
        await watch.told(1)
        payload = watch.sink.frames[-1].payload
        assert payload.endswith(b"\n")
        assert payload.count(b"\n") == 1
        assert json.loads(payload)["object"]["data"]["k"] == "two\nlines"
        assert watch.sink.frames[-1].chunk == b"%x\r\n%b\r\n" % (len(payload), payload)
        assert reader.clock.now() == START


async def test_every_watcher_sees_every_change_once_and_in_order() -> None:
    async with reading() as reader:
        watches = [await reader.watch(**FROM_NOW) for _ in range(5)]
        await _write_much(reader)
        for watch in watches:
            told = [revision(event["object"]) for event in await watch.events(60)]
            assert told == sorted(set(told))


async def _write_much(reader: Reader) -> None:
    for number in range(20):
        await reader.create(MAPS, f"m{number}")
        await reader.patch(f"{MAPS}/m{number}", {"data": {"k": str(number)}})
        await reader.delete(f"{MAPS}/m{number}")
