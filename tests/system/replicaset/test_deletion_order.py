"""The order in which superfluous pods are deleted: each rule decides if all earlier ones are even."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.system.turn_counts import Calls, TurnClock
from tests.turns import measured

from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.pods import deletion_order
from setpoint.system.pods.deletion_order import DELETION_COST, pods_to_delete
from setpoint.system.turns import PER_TURN

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TIMED = TurnClock(NOW)


def pod(
    uid: str = "m",
    *,
    node: str = "n1",
    phase: str = "Running",
    ready: bool = True,
    ready_seconds: float = 1000,
    age: float = 2000,
    restarts: int = 0,
    sidecar_restarts: int = 0,
    cost: str = "0",
) -> Object:
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": format_time(ago(ready_seconds))}
    metadata = {
        "name": uid,
        "uid": uid,
        "creationTimestamp": format_time(ago(age)),
        "annotations": {DELETION_COST: cost},
    }
    spec = {"nodeName": node, "initContainers": [{"name": "side", "restartPolicy": "Always"}, {"name": "init"}]}
    status = {
        "phase": phase,
        "conditions": [condition],
        "containerStatuses": [{"name": "c", "restartCount": restarts}],
        "initContainerStatuses": [
            {"name": "side", "restartCount": sidecar_restarts},
            {"name": "init", "restartCount": 99},
        ],
    }
    return {"metadata": metadata, "spec": spec, "status": status}


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("victim", "survivor"),
    [
        (pod("z", node=""), pod("a", phase="Pending")),
        (pod("z", phase="Pending", ready=True), pod("a", phase="Running", ready=False)),
        (pod("z", phase="Unknown"), pod("a", phase="Running", ready=False)),
        (pod("z", ready=False), pod("a", cost="-5")),
        (pod("z", cost="-5"), pod("a")),
        (pod("z"), pod("a", cost="3")),
        (pod("z", ready_seconds=10), pod("a", ready_seconds=1000, restarts=5)),
        # The same magnitude of time: the uid decides.
        (pod("a", ready_seconds=1000), pod("z", ready_seconds=990)),
        (pod("z", restarts=2), pod("a", restarts=1, age=10)),
        (pod("z", sidecar_restarts=2), pod("a", sidecar_restarts=1)),
        (pod("z", age=10), pod("a", age=2000)),
        (pod("a", age=2000), pod("z", age=1990)),
    ],
)
async def test_the_less_useful_pod_is_deleted(victim: Object, survivor: Object) -> None:
    for given in ([victim, survivor], [survivor, victim]):
        assert await pods_to_delete(TIMED, given, (), 1) == [victim]


async def test_doubled_pods_on_a_node_come_first() -> None:
    given = [pod("a", node="n1"), pod("z", node="n2")]
    related = [*given, pod("x", node="n2"), pod("y", node="n1", phase="Succeeded")]
    assert await pods_to_delete(TIMED, given, related, 1) == [given[1]]


@pytest.mark.parametrize("invalid", ["many", "+5", "05", str(2**31)])
async def test_an_invalid_cost_is_none(invalid: str) -> None:
    low = pod("z", cost="-1")
    assert await pods_to_delete(TIMED, [pod("a", cost=invalid), low], (), 1) == [low]


async def test_the_order_of_many_pods_is_found_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slices give the same result as one sort of all pods."""
    given = [pod(f"{number * 7919 % 2000:04}", cost=str(number % 17)) for number in range(2000)]
    ranked = Calls(monkeypatch, deletion_order, "_rank")
    chosen, turns = await measured(pods_to_delete(TIMED, given, given, 300), ranked)
    wanted = sorted(given, key=lambda each: int(each["metadata"]["annotations"][DELETION_COST]))[:300]
    assert chosen == wanted
    assert ranked() == 2000
    assert turns.most_steps <= PER_TURN
