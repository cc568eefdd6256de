"""The timeline of an app: the states of its parts, what they waited for, and the critical path."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.workload.summaries.test_summaries import FAILED, GROUP, RUNNING, WAITS, executable, read, write

from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import BadRequest, Forbidden
from setpoint.plane import ControlPlane
from setpoint.server.apiextensions.bundled_crds import provide
from setpoint.workload.kinds.definitions import definitions

BEGIN = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGIN)


@pytest.fixture
async def plane(clock: ManualClock) -> AsyncIterator[ControlPlane]:
    """Provides a control plane with an app that has started: `api` waited two seconds for `db`."""
    async with ControlPlane("memory", clock=clock, system=False) as plane:
        await provide(plane.services, definitions())
        client = plane.client()
        await write(client, executable("db", WAITS))
        await write(client, executable("api", WAITS, after="db"))
        await write(client, executable("quick", RUNNING))
        clock.advance(2)
        await write(client, executable("db", RUNNING))
        clock.advance(1)
        await write(client, executable("api", RUNNING, after="db"))
        yield plane


def seconds(text: str | None) -> float | None:
    return None if text is None else (datetime.fromisoformat(text) - BEGIN).total_seconds()


def spans(found: Any) -> dict[str, list[Any]]:
    """Returns the states of each part with their seconds, without the states of a moment."""
    kept: dict[str, list[Any]] = {}
    for each in found["items"]:
        begin, end = seconds(each["from"]), seconds(each["to"])
        if begin != end:
            kept.setdefault(each["object"]["name"], []).append((each["state"], begin, end, each["waitsFor"]))
    return kept


async def test_each_part_has_its_states_and_what_it_waited_for(plane: ControlPlane) -> None:
    found = await read(plane.client(), "timeline")
    assert spans(found) == {
        "db": [("Waiting", 0, 2, []), ("Ready", 2, None, [])],
        "api": [("Waiting", 0, 3, ["db"]), ("Ready", 3, None, [])],
        "quick": [("Ready", 0, None, [])],
    }
    assert found["items"][0]["object"].keys() == {"resource", "group", "kind", "name", "uid"}
    assert found["truncated"] is False


async def test_the_critical_path_ends_with_the_part_that_was_ready_last(plane: ControlPlane) -> None:
    found = await read(plane.client(), "timeline")
    path = [(each["object"]["name"], seconds(each["from"]), seconds(each["to"])) for each in found["criticalPath"]]
    assert path == [("db", 0, 2), ("api", 2, 3)]


async def test_a_part_of_the_time_has_the_states_of_that_time(plane: ControlPlane, clock: ManualClock) -> None:
    clock.advance(7)
    await write(plane.client(), executable("api", FAILED, after="db"))
    late = await read(plane.client(), "timeline", **{"from": "2026-01-31T12:00:09Z"})
    assert spans(late)["api"] == [("Ready", 9, 10, []), ("Failed", 10, None, [])]
    assert late["criticalPath"] == []
    early = await read(plane.client(), "timeline", to="2026-01-31T12:00:01Z")
    assert spans(early)["api"] == [("Waiting", 0, 1, ["db"])]


async def test_deleted_parts_are_not_shown(plane: ControlPlane) -> None:
    await plane.client().delete(f"{GROUP}/v1/Executable", "db")
    found = await read(plane.client(), "timeline")
    assert "db" not in spans(found)
    assert [each["object"]["name"] for each in found["criticalPath"]] == ["api"]


async def test_of_a_part_with_very_many_changes_the_oldest_are_missing(
    plane: ControlPlane, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("setpoint.workload.summaries.timeline_endpoint._MOST_CHANGES", 1)
    found = await read(plane.client(), "timeline")
    assert found["truncated"] is True
    assert spans(found)["api"] == [("Ready", 3, None, [])]


async def test_the_number_of_changes_is_bounded(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.workload.summaries.timeline_endpoint._MOST_IN_ALL", 1)
    found = await read(plane.client(), "timeline")
    assert found["truncated"] is True
    assert len(spans(found)) == 1


async def test_wrong_times_are_named(plane: ControlPlane) -> None:
    with pytest.raises(BadRequest, match="from: 'yesterday' is not a time"):
        await read(plane.client(), "timeline", **{"from": "yesterday"})
    with pytest.raises(BadRequest, match="to: must not be before from"):
        await read(plane.client(), "timeline", **{"from": "2026-01-31T12:00:02Z"}, to="2026-01-31T12:00:01Z")


async def test_the_timeline_requires_rights_to_the_past(plane: ControlPlane) -> None:
    admin, rbac = plane.client(), "rbac.authorization.k8s.io"
    subjects = [{"kind": "User", "name": "eve", "apiGroup": rbac}]

    async def grant(name: str, rule: dict[str, Any]) -> None:
        metadata = {"name": name}
        await admin.create({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule]})
        reference = {"kind": "ClusterRole", "name": name, "apiGroup": rbac}
        binding = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": metadata}
        await admin.create({**binding, "roleRef": reference, "subjects": subjects})

    eve = plane.client(user="eve")
    with pytest.raises(Forbidden, match="timeline"):
        await read(eve, "timeline")
    await grant("timeline", {"apiGroups": ["setpoint.dev"], "resources": ["timeline"], "verbs": ["list"]})
    assert (await read(eve, "timeline"))["items"] == [], "the user may list no kind of workload"
    await grant("list", {"apiGroups": [GROUP], "resources": ["executables"], "verbs": ["list"]})
    with pytest.raises(Forbidden, match="history"):
        await read(eve, "timeline")
    resources = [f"executables.{GROUP}/history"]
    await grant("past", {"apiGroups": ["setpoint.dev"], "resources": resources, "verbs": ["get"]})
    assert "api" in spans(await read(eve, "timeline"))
