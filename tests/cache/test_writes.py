"""The recorded writes of this process: which answers are writes, and which write of an object is the newest."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest

from setpoint.cache.writes import FEW_NOTES, Target, Write, Writes
from setpoint.client.transport import Answer, Call
from setpoint.objects.tree import Object

MAPS = Target("", "configmaps")
PATH = "/api/v1/namespaces/default/configmaps"


def answered(body: Any, status: int = 200) -> Answer:
    return Answer(status, {"content-type": "application/json"}, msgspec.json.encode(body))


def config_map(name: str = "a", version: str = "7", **metadata: Any) -> Object:
    own = {"name": name, "namespace": "default", "uid": f"u-{name}", "resourceVersion": version, **metadata}
    return {"kind": "ConfigMap", "metadata": own}


def recorded(method: str, path: str, answer: Any, **call: Any) -> dict[Target, dict[str, Write]]:
    writes = Writes()
    writes.record_response(Call(method, path, **call), answered(answer))
    assert bool(writes) is bool(writes.by_target)
    return {target: dict(notes) for target, notes in writes.by_target.items()}


@pytest.mark.parametrize(
    ("method", "path", "target"),
    [
        ("POST", PATH, MAPS),
        ("PUT", f"{PATH}/a", MAPS),
        ("PATCH", f"{PATH}/a/status", MAPS),
        ("POST", "/apis/apps/v1/namespaces/default/deployments", Target("apps", "deployments")),
        ("PUT", "/api/v1/nodes/n", Target("", "nodes")),
        ("PUT", "/apis/example.com/v1/widgets/w", Target("example.com", "widgets")),
        ("PUT", "/api/v1/namespaces/default", Target("", "namespaces")),
        ("PUT", "/api/v1/namespaces/default/status", Target("", "namespaces")),
        ("PUT", "/api/v1/namespaces/default/finalize", Target("", "namespaces")),
        ("POST", "/api/v1/namespaces", Target("", "namespaces")),
    ],
)
def test_a_write_is_recorded_for_its_resource(method: str, path: str, target: Target) -> None:
    assert recorded(method, path, config_map()) == {target: {"default/a": Write(7, "u-a")}}


@pytest.mark.parametrize(
    ("path", "call", "body"),
    [
        (PATH, {"query": (("dryRun", "All"),)}, config_map()),
        (PATH, {"body": b'{"dryRun":["All"]}'}, config_map()),
        ("/healthz", {}, config_map()),
        (PATH, {}, {"kind": "Status", "details": {"name": "a", "uid": "u"}}),
        (PATH, {}, {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}),
        (PATH, {}, {"kind": "ConfigMap", "metadata": {"name": "", "resourceVersion": "7"}}),
        (PATH, {}, {"kind": "ConfigMap"}),
        (PATH, {}, [1, 2]),
    ],
)
def test_an_answer_that_tells_of_no_write_is_passed_over(path: str, call: Any, body: Any) -> None:
    assert recorded("POST", path, body, **call) == {}


def test_a_deletion_is_known_by_the_uid() -> None:
    gone = {MAPS: {"default/a": Write(0, "u-a", deleted=True)}}
    assert recorded("DELETE", f"{PATH}/a", config_map()) == gone
    status = {"kind": "Status", "details": {"name": "a", "uid": "u-a"}}
    assert recorded("DELETE", f"{PATH}/a", status) == gone
    for details in (None, {"name": "a"}, {"uid": "u-a"}):
        assert recorded("DELETE", f"{PATH}/a", {"kind": "Status", "details": details}) == {}
    # The removal of the last finalizer deletes the object.
    assert recorded("PATCH", f"{PATH}/a", config_map(deletionTimestamp="2026-01-01T00:00:00Z")) == gone
    for more in ({"finalizers": ["x"]}, {"deletionGracePeriodSeconds": 30}):
        marked = config_map(deletionTimestamp="2026-01-01T00:00:00Z", **more)
        for method in ("DELETE", "PATCH"):
            assert recorded(method, f"{PATH}/a", marked) == {MAPS: {"default/a": Write(7, "u-a")}}


def test_every_object_of_a_collection_is_recorded() -> None:
    items = [config_map("a"), config_map("b", finalizers=["x"]), {"kind": "ConfigMap"}]
    found = recorded("DELETE", PATH, {"kind": "List", "items": items})
    assert found == {MAPS: {"default/a": Write(0, "u-a", deleted=True), "default/b": Write(7, "u-b")}}


def test_the_newest_write_of_an_object_is_kept_whatever_the_order_of_answers() -> None:
    writes = Writes()
    for write, kept in (
        (Write(5, "u"), 5),
        (Write(7, "u"), 7),
        (Write(6, "u"), 7),
        (Write(7, "u", labels={"a": "b"}), 7),
    ):
        writes.record(MAPS, "default/a", write)
        assert writes.of(MAPS)["default/a"].revision == kept
    assert writes.of(MAPS)["default/a"].labels == {"a": "b"}
    gone = Write(0, "u", deleted=True)
    writes.record(MAPS, "default/a", gone)
    writes.record(MAPS, "default/a", Write(9, "u"))
    assert writes.of(MAPS)["default/a"] == gone, "the deletion is the last write of a uid"
    writes.record(MAPS, "default/a", Write(3, "another"))
    assert writes.of(MAPS)["default/a"] == Write(3, "another")


def test_a_write_that_was_seen_is_discarded_unless_a_newer_one_came() -> None:
    writes = Writes()
    writes.record(MAPS, "default/a", Write(5))
    writes.record(MAPS, "default/b", Write(6))
    writes.discard(MAPS, "default/a", Write(4))
    writes.discard(Target("", "other"), "default/a", Write(5))
    assert len(writes.of(MAPS)) == 2
    writes.discard(MAPS, "default/a", Write(5))
    assert list(writes.of(MAPS)) == ["default/b"]
    writes.discard(MAPS, "default/b", Write(6))
    assert not writes
    assert writes.of(MAPS) == {}


def test_the_number_of_writes_is_bounded_and_the_oldest_goes() -> None:
    writes = Writes(most=3)
    for name in "abca":
        writes.record(MAPS, name, Write(1))
    writes.record(MAPS, "d", Write(1))
    assert list(writes.of(MAPS)) == ["c", "a", "d"]


def test_many_writes_are_checked_now_and_then_for_those_that_were_seen() -> None:
    checks: list[int] = []

    def seen(target: Target, notes: Mapping[str, Write]) -> Iterable[str]:
        checks.append(len(notes))
        return [key for key in notes if int(key) % 2]

    writes = Writes(seen=seen)
    for number in range(FEW_NOTES + 1):
        writes.record(MAPS, str(number), Write(1))
    assert checks == [FEW_NOTES + 1]
    assert len(writes.of(MAPS)) == 51
    for number in range(200, 200 + 50):
        writes.record(MAPS, str(number), Write(1))
    assert len(checks) == 1, "the next check is at twice the number that was left"
    writes.record(MAPS, "300", Write(1))
    writes.record(MAPS, "302", Write(1))
    assert checks == [FEW_NOTES + 1, 103]
