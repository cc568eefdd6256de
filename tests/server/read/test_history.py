"""The past of an object: who changed what, when, and out of what."""

from typing import Any

import pytest

from setpoint.merge import jsonpatch

from .reader import MAPS, WIDGETS, Reader, Tree, reading

HISTORY = "/apis/setpoint.dev/v1/namespaces/default/configmaps/a/history"


async def live(reader: Reader) -> list[int]:
    """A life of an object, and the revisions of it."""
    made = await reader.create(MAPS, "a", data={"k": "1"})
    changed = await reader.patch(f"{MAPS}/a", {"data": {"k": "2", "l": "3"}})
    await reader.delete(f"{MAPS}/a")
    found = [int(tree["metadata"]["resourceVersion"]) for tree in (made, changed)]
    return [*found, await reader.store.revision()]


async def test_every_revision_tells_who_made_it_when_and_how() -> None:
    async with reading() as reader:
        first, second, third = await live(reader)
        history = await reader.json(HISTORY)
        assert (history["kind"], history["apiVersion"]) == ("ObjectHistory", "setpoint.dev/v1")
        assert history["metadata"] == {"resourceVersion": str(third)}
        deleted, changed, made = history["items"]
        assert [item["type"] for item in (deleted, changed, made)] == ["DELETED", "MODIFIED", "ADDED"]
        assert [item["revision"] for item in (deleted, changed, made)] == [str(third), str(second), str(first)]
        assert [item.get("previous") for item in (deleted, changed, made)] == [str(second), str(first), None]
        assert made["time"] == "2026-01-01T00:00:00.000000Z"
        assert made["actor"]["user"] == "system:admin"
        assert made["actor"]["fieldManager"] == "test"
        assert made["cause"]["id"]
        assert len({item["cause"]["id"] for item in history["items"]}) == 3


async def test_the_patches_of_a_history_make_its_object_again() -> None:
    async with reading() as reader:
        await live(reader)
        deleted, changed, made = (await reader.json(HISTORY))["items"]
        assert deleted["patch"] == [{"op": "remove", "path": ""}]
        assert {operation["path"] for operation in changed["patch"]} == {"/data/k", "/data/l"}
        tree: Tree = made["patch"][0]["value"]
        assert made["patch"] == [{"op": "add", "path": "", "value": tree}]
        wanted = await reader.json(f"{MAPS}/a", at=changed["revision"])
        for field in ("managedFields", "resourceVersion"):
            del wanted["metadata"][field]
        assert jsonpatch.apply(tree, jsonpatch.decode(changed["patch"])) == wanted


async def test_a_history_comes_in_pages() -> None:
    async with reading() as reader:
        revisions = await live(reader)
        page = await reader.json(HISTORY, limit=2)
        assert [item["revision"] for item in page["items"]] == [str(revisions[2]), str(revisions[1])]
        assert [operation["op"] for operation in page["items"][1]["patch"]] != ["add"]
        rest = await reader.json(HISTORY, **{"continue": page["metadata"]["continue"]})
        assert [item["revision"] for item in rest["items"]] == [str(revisions[0])]
        assert "continue" not in rest["metadata"]


async def test_what_has_no_predecessor_any_more_is_told_whole() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "a", data={"k": "1"})
        await reader.patch(f"{MAPS}/a", {"data": {"k": "2"}})
        await reader.store.compact(await reader.store.revision())
        (item,) = (await reader.json(HISTORY))["items"]
        assert item["type"] == "MODIFIED"
        assert item["patch"][0]["value"]["data"] == {"k": "2"}


async def test_custom_resources_and_cluster_wide_objects_have_a_history_too() -> None:
    async with reading() as reader:
        await reader.define_widgets()
        await reader.create(WIDGETS, "w")
        found = await reader.json("/apis/setpoint.dev/v1/namespaces/default/widgets.ex.com/w/history")
        assert len(found["items"]) == 1
        found = await reader.json(
            "/apis/setpoint.dev/v1/customresourcedefinitions.apiextensions.k8s.io/widgets.ex.com/history"
        )
        assert found["items"][-1]["type"] == "ADDED"
        assert (await reader.json("/apis/setpoint.dev/v1/namespaces/default/history"))["items"]


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        (HISTORY, {}, 404),
        (HISTORY.replace("configmaps", "unheardof.ex.com"), {}, 404),
        (HISTORY.replace("namespaces/default/", ""), {}, 404),
        (HISTORY, {"limit": "x"}, 400),
        (HISTORY, {"continue": "-1"}, 400),
    ],
)
async def test_a_history_that_there_is_not_is_refused(path: str, query: dict[str, Any], status: int) -> None:
    async with reading() as reader:
        await reader.json(path, status=status, **query)


async def test_a_history_of_large_objects_comes_in_pages_of_bounded_bytes() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "a", data={"k": "0"})
        for number in range(8):
            body = {"data": {"k": f"{number}" * 900_000}}
            await reader.json(f"{MAPS}/a", method="PATCH", body=body, content_type="application/merge-patch+json")
        found: list[Any] = []
        sizes: list[int] = []
        query: dict[str, Any] = {}
        while True:
            page = await reader.json(HISTORY, **query)
            found += page["items"]
            sizes.append(len(str(page)))
            if "continue" not in page["metadata"]:
                break
            query = {"continue": page["metadata"]["continue"]}
        assert len(found) == 9
        assert all(item["patch"][0]["path"] == "/data/k" for item in found[:-1])
        assert max(sizes) < 5 << 20
        assert len(sizes) == 2
