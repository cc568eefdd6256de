"""The log across all kinds: which revision wrote what, and which was the last at a time."""

from typing import Any

import pytest

from setpoint.objects.provenance import Cause, Reason

from .reader import MAPS, Reader, Tree, reading

REVISIONS = "/apis/setpoint.dev/v1/revisions"


async def written(reader: Reader) -> list[Tree]:
    """Two objects, a second apart; and what the log says of them."""
    before = await reader.store.revision()
    await reader.create(MAPS, "a", data={"k": "1"})
    reader.clock.advance(1)
    await reader.create(MAPS, "b", data={"k": "1"})
    reader.clock.advance(1)
    await reader.delete(f"{MAPS}/a")
    items: list[Tree] = (await reader.json(REVISIONS, after=str(before)))["items"]
    return items


async def test_the_log_tells_of_every_object_in_order() -> None:
    async with reading() as reader:
        items = await written(reader)
        assert [(item["type"], item["object"]["name"]) for item in items] == [
            ("ADDED", "a"),
            ("ADDED", "b"),
            ("DELETED", "a"),
        ]
        assert items[0]["object"] == {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "default",
            "name": "a",
            "resource": "configmaps",
        }
        assert items[0]["actor"]["fieldManager"] == "test"
        assert "patch" not in items[0]


async def test_the_log_comes_in_pages() -> None:
    async with reading() as reader:
        items = await written(reader)
        before = int(items[0]["revision"]) - 1
        page = await reader.json(REVISIONS, after=str(before), limit="2")
        rest = await reader.json(REVISIONS, after=page["metadata"]["continue"], limit="2")
        assert [*page["items"], *rest["items"]] == items
        assert "continue" not in rest["metadata"]


async def test_a_time_has_the_last_revision_that_was_written_by_then() -> None:
    async with reading() as reader:
        items = await written(reader)
        for item in items:
            found = await reader.json(REVISIONS, time=item["time"])
            assert (found["metadata"]["at"], found["items"]) == (item["revision"], [])
        between = await reader.json(REVISIONS, time="2026-01-01T00:00:01.500000Z")
        assert between["metadata"]["at"] == items[1]["revision"]
        later = await reader.json(REVISIONS, time="2030-01-01T00:00:00Z")
        assert later["metadata"]["at"] == later["metadata"]["resourceVersion"]


async def test_a_time_before_the_past_that_is_kept_is_refused() -> None:
    async with reading() as reader:
        await written(reader)
        status = await reader.json(REVISIONS, status=410, time="2025-12-31T00:00:00Z")
        assert "the oldest retained entry is from 2026-01-01" in status["message"]


@pytest.mark.parametrize(("name", "value"), [("time", "noon"), ("after", "x"), ("limit", "-1")])
async def test_what_cannot_be_meant_is_refused_by_name(name: str, value: str) -> None:
    async with reading() as reader:
        asked: dict[str, Any] = {name: value}
        status = await reader.json(REVISIONS, status=400, **asked)
        assert status["message"].startswith(f"{name} must be")


async def test_the_log_tells_why_a_reconcile_ran() -> None:
    cause = Cause.reconcile("website", "default/a", "7", (Reason("updated", "Deployment.apps", "default/w", "41"),))
    async with reading() as reader:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        await reader.ask("POST", MAPS, body, {"setpoint-cause": cause.to_header()})
        item = (await reader.json(REVISIONS))["items"][-1]
        assert item["cause"] == {
            "id": "7",
            "controller": "website",
            "key": "default/a",
            "because": [{"event": "updated", "kind": "Deployment.apps", "object": "default/w", "revision": "41"}],
            "verified": True,
        }
