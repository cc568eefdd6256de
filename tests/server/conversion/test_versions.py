"""Objects in two versions: every verb in both, however they are converted."""

import pytest
from tests.server.conversion.widgets import FUNCTION, V1, V2, WEBHOOK, at, created, new_widgets, widget
from tests.server.read.reader import PARTIAL_LIST, TABLE

from setpoint.objects.tree import Object

EITHER = pytest.mark.parametrize("by", [WEBHOOK, FUNCTION])
BOTH_STORED = pytest.mark.parametrize("storage", ["v1", "v2"])
INITIAL = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
BOTH: dict[str, Object] = {"v1": {"size": 3, "colour": "red"}, "v2": {"replicas": 3, "look": {"colour": "red"}}}


@EITHER
@BOTH_STORED
async def test_what_is_created_in_one_version_is_read_in_both_and_stored_in_one(by: str, storage: str) -> None:
    async with new_widgets(by, storage=storage) as widgets:
        answer = await created(widgets, "v1", size=3, colour="red")
        assert (answer.body["apiVersion"], answer.body["spec"]) == (V1, BOTH["v1"])
        for version in ("v1", "v2"):
            body = (await widgets("GET", at(version, "w"))).body
            assert (body["apiVersion"], body["spec"]) == (f"example.com/{version}", BOTH[version])
            assert body["metadata"]["resourceVersion"] == answer.version
            assert body["metadata"]["uid"] == answer.body["metadata"]["uid"]
        stored = await widgets.stored()
        assert (stored["apiVersion"], stored["spec"]) == (f"example.com/{storage}", BOTH[storage])


@EITHER
async def test_a_converter_may_change_annotations_and_nothing_else_of_the_metadata(by: str) -> None:
    def meddling(tree: Object, from_version: str, to_version: str) -> Object:
        metadata = {**tree["metadata"], "generation": 77, "finalizers": ["a/b"], "labels": {"to": to_version[-2:]}}
        return {**tree, "apiVersion": to_version, "metadata": metadata}

    async with new_widgets(by, function=meddling) as widgets:
        await created(widgets, "v1", size=1)
        metadata = (await widgets("GET", at("v1", "w"))).body["metadata"]
        assert metadata["generation"] == 1
        assert "finalizers" not in metadata
        assert metadata["labels"] == {"to": "v1"}
        assert (await widgets.stored())["metadata"]["labels"] == {"to": "v2"}


@EITHER
@BOTH_STORED
async def test_lists_tables_and_partial_objects_show_the_version_that_was_asked_for(by: str, storage: str) -> None:
    async with new_widgets(by, storage=storage) as widgets:
        for number in range(3):
            await created(widgets, "v1", f"w{number}", size=number + 1, colour="red")
        for version, field in (("v1", "size"), ("v2", "replicas")):
            path = at(version)
            body = await widgets.get(path)
            assert {item["apiVersion"] for item in body["items"]} == {f"example.com/{version}"}
            assert [item["spec"][field] for item in body["items"]] == [1, 2, 3]
            table = await widgets.get(path, accept=TABLE)
            assert [row["cells"] for row in table["rows"]] == [["w0", 1], ["w1", 2], ["w2", 3]]
            partial = await widgets.get(path, accept=PARTIAL_LIST)
            marked = ["example.com/from" in (item["metadata"].get("annotations") or {}) for item in partial["items"]]
            assert marked == [version == "v2"] * 3
            found = await widgets.get(path, f"fieldSelector=spec.{field}=2")
            assert [item["metadata"]["name"] for item in found["items"]] == ["w1"]
            named = await widgets.get(path, f"fieldSelector=metadata.name=w2,spec.{field}=3")
            assert [item["metadata"]["name"] for item in named["items"]] == ["w2"]


@EITHER
@BOTH_STORED
async def test_writes_of_all_sorts_in_the_other_version_change_the_same_object(by: str, storage: str) -> None:
    other = "v1" if storage == "v2" else "v2"
    number = "size" if other == "v1" else "replicas"
    async with new_widgets(by, storage=storage) as widgets:
        first = await created(widgets, storage, **BOTH[storage])
        body = (await widgets("GET", at(other, "w"))).body
        body["spec"][number] = 4
        put = await widgets("PUT", at(other, "w"), body)
        assert (put.status, put.body["spec"][number]) == (200, 4)
        assert put.body["metadata"]["generation"] == 2
        patched = await widgets.merge(at(other, "w"), {"spec": {number: 5}})
        assert patched.body["spec"][number] == 5
        tested = await widgets.merge(at(other, "w"), {"spec": {number: 9}}, query="dryRun=All")
        assert (tested.status, tested.body["spec"][number]) == (200, 9)
        status = await widgets.merge(at(other, "w", "status"), {"status": {"ready": 2}})
        assert status.body["status"] == {"ready": 2}
        scale = await widgets("GET", at(other, "w", "scale"))
        assert (scale.body["spec"], scale.body["status"]) == ({"replicas": 5}, {"replicas": 2})
        scaled = await widgets.merge(at(other, "w", "scale"), {"spec": {"replicas": 6}})
        assert scaled.body["spec"] == {"replicas": 6}
        mine = "replicas" if storage == "v2" else "size"
        found = (await widgets("GET", at(storage, "w"))).body
        assert (found["spec"][mine], found["status"]) == (6, {"ready": 2})
        assert found["metadata"]["uid"] == first.body["metadata"]["uid"]
        again = await widgets.merge(at(other, "w"), {"spec": {number: 6}})
        assert again.version == found["metadata"]["resourceVersion"], "what changes nothing is no write"


@EITHER
async def test_appliers_in_two_versions_own_the_same_field_under_its_two_names(by: str) -> None:
    async with new_widgets(by) as widgets:
        one = await widgets.apply(at("v1", "w"), widget("v1", size=1, colour="red"), "fieldManager=one")
        assert one.status == 201, one.body
        conflict = await widgets.apply(at("v2", "w"), widget("v2", replicas=2), "fieldManager=two")
        assert conflict.status == 409
        assert 'conflict with "one": .spec.size' in conflict.body["message"]
        taken = await widgets.apply(at("v2", "w"), widget("v2", replicas=2), "fieldManager=two&force=true")
        assert taken.status == 200, taken.body
        entries = {entry["manager"]: entry for entry in taken.body["metadata"]["managedFields"]}
        assert entries["two"]["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
        assert entries["one"]["fieldsV1"] == {"f:spec": {"f:colour": {}}}
        assert (entries["one"]["apiVersion"], entries["two"]["apiVersion"]) == (V1, V2)
        left = await widgets.apply(at("v1", "w"), widget("v1"), "fieldManager=one")
        assert left.body["spec"] == {"size": 2}, "what its only owner leaves out is gone"


@EITHER
@BOTH_STORED
async def test_a_watch_tells_everything_in_its_own_version_and_in_order(by: str, storage: str) -> None:
    async with new_widgets(by, storage=storage) as widgets:
        since = (await created(widgets, "v1", "a", size=1)).version
        async with (
            widgets.watch("v1", INITIAL) as ones,
            widgets.watch("v2", INITIAL) as twos,
            widgets.watch("v2", f"fieldSelector=spec.replicas=2&resourceVersion={since}") as selected,
        ):
            for watching in (ones, twos):
                assert (await watching.next())[0] == "ADDED"
                assert (await watching.next())[0] == "BOOKMARK"
            await created(widgets, "v2", "b", replicas=1)
            for number in range(2, 6):
                await widgets.merge(at("v1", "b"), {"spec": {"size": number}})
            await widgets("DELETE", at("v1", "b"))
            kinds = ["ADDED", *["MODIFIED"] * 4, "DELETED"]
            for watching, version, field in ((ones, "v1", "size"), (twos, "v2", "replicas")):
                told = [await watching.next() for _ in kinds]
                assert [kind for kind, _ in told] == kinds
                assert {tree["apiVersion"] for _, tree in told} == {f"example.com/{version}"}
                assert [tree["spec"][field] for _, tree in told] == [1, 2, 3, 4, 5, 5]
                revisions = [int(tree["metadata"]["resourceVersion"]) for _, tree in told]
                assert revisions == sorted(set(revisions))
            assert [(await selected.next())[0] for _ in range(2)] == ["ADDED", "DELETED"]


@EITHER
async def test_the_stored_version_can_be_switched_and_old_objects_stay_readable(by: str) -> None:
    async with new_widgets(by, storage="v1") as widgets:
        since = (await created(widgets, "v1", "old", size=1)).version
        async with widgets.watch("v1", f"resourceVersion={since}") as watching:
            await widgets.change_definition("v2")
            await created(widgets, "v1", "new", size=2)
            assert (await watching.next())[1]["spec"] == {"size": 2}
        assert (await widgets.stored("old"))["apiVersion"] == V1
        assert (await widgets.stored("new"))["apiVersion"] == V2
        for version, field in (("v1", "size"), ("v2", "replicas")):
            body = await widgets.get(at(version))
            assert [item["spec"][field] for item in body["items"]] == [2, 1]
        await widgets.merge(at("v1", "old"), {"spec": {"size": 7}})
        stored = await widgets.stored("old")
        assert (stored["apiVersion"], stored["spec"]) == (V2, {"replicas": 7})
        past = await widgets.get("/apis/setpoint.dev/v1/namespaces/default/widgets.example.com/old/history")
        assert {"op": "replace", "path": "/spec/replicas", "value": 7} in past["items"][0]["patch"]
        before = past["items"][1]["revision"]
        assert (await widgets.get(at("v2", "old"), f"at={before}"))["spec"] == {"replicas": 1}


@EITHER
async def test_collections_are_deleted_and_finalizers_are_kept_in_the_other_version(by: str) -> None:
    async with new_widgets(by) as widgets:
        for name in ("a", "b"):
            await created(widgets, "v1", name, size=1)
        await widgets.merge(at("v1", "b"), {"metadata": {"finalizers": ["example.com/wait"]}})
        answer = await widgets("DELETE", at("v1"))
        assert [item["spec"] for item in answer.body["items"]] == [{"size": 1}, {"size": 1}]
        assert [item["metadata"]["name"] for item in (await widgets.get(at("v2")))["items"]] == ["b"]
        assert "deletionTimestamp" in (await widgets.stored("b"))["metadata"]
        done = await widgets.merge(at("v1", "b"), {"metadata": {"finalizers": None}})
        assert (done.status, done.body["spec"]) == (200, {"size": 1})
        assert (await widgets("GET", at("v2", "b"))).status == 404
