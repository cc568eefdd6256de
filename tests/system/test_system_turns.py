"""Work on many pods or nodes is divided: in one turn of the event loop, a controller examines a bounded number."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.system.turn_counts import Calls, TurnClock
from tests.system.workload_objects import LABELS, TEMPLATE, pod
from tests.turns import measured

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.controller.request import Request
from setpoint.objects.tree import Object
from setpoint.system.controller_names import DAEMON_SET, DISRUPTION
from setpoint.system.daemonset.placement import Placement
from setpoint.system.daemonset.plan import View
from setpoint.system.disruption.status import Tally
from setpoint.system.nodelifecycle.node_health import Zones
from setpoint.system.scheduler.cluster_state import ClusterState
from setpoint.system.scheduler.controller import SchedulerController
from setpoint.system.scheduler.scheduler import Scheduler, default_profile
from setpoint.system.turns import PER_TURN, in_turns

START = datetime(2030, 1, 1, tzinfo=UTC)
MANY = PER_TURN + 100


async def test_items_come_in_turns() -> None:
    clock, seen = TurnClock(START), []

    async def collect() -> None:
        async for each in in_turns(clock, range(MANY)):
            seen.append(each)  # noqa: PERF401 - counted turn by turn

    _, turns = await measured(collect(), lambda: len(seen))
    assert seen == list(range(MANY))
    assert turns.most_steps <= PER_TURN


def daemon_set() -> Object:
    # New nodes have a taint until they report their state.
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "tolerations": [{"operator": "Exists"}]}}
    spec = {"selector": {"matchLabels": LABELS}, "template": template}
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}


@pytest.mark.slow
async def test_a_daemon_set_examines_many_nodes_and_pods_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}"}} for number in range(MANY)]
    async with testing.world(system=[DAEMON_SET], objects=nodes) as world:
        decided = Calls(monkeypatch, Placement, "decide")
        available = Calls(monkeypatch, View, "is_available")
        await world.create(daemon_set())
        _, turns = await measured(world.settle(), decided)
        # One reconcile creates hundreds of pods.
        assert (await world.find("apps/v1/DaemonSet", "web"))["status"]["currentNumberScheduled"] == MANY
        assert decided() >= MANY
        assert turns.most_steps <= PER_TURN
        patch = merge({"metadata": {"annotations": {"changed": "yes"}}})
        await world.client.patch("apps/v1/DaemonSet", patch, "web", "default")
        _, turns = await measured(world.settle(), available)
        # The plan and the status examine each pod; the end of one loop and the start of the next share a turn.
        assert available() >= 2 * MANY
        assert turns.most_steps < 2 * PER_TURN


@pytest.mark.slow
async def test_a_budget_counts_many_pods_in_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}},
    }
    pods = [pod(f"web-{number}") for number in range(MANY)]
    async with testing.world(system=[DISRUPTION], objects=pods) as world:
        counted = Calls(monkeypatch, Tally, "add")
        await world.create(budget)
        _, turns = await measured(world.settle(), counted)
        assert counted() >= MANY
        assert turns.most_steps <= PER_TURN
        assert (await world.find("policy/v1/PodDisruptionBudget", "web"))["status"]["expectedPods"] == MANY


class Delayed:
    """A queue that records the delayed requests."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def add_after(self, request: Request, delay: float, trigger: Any) -> None:
        self.requests.append(request)


async def test_many_unschedulable_pods_are_tried_again_in_several_turns() -> None:
    clock, queue = TurnClock(START), Delayed()
    scheduler = Scheduler(default_profile(), ClusterState(clock))
    found = SchedulerController(scheduler, cast(Any, None), cast(Any, None))
    found.controller.clock, found.controller.queue = clock, queue  # type: ignore[assignment]
    waiting = [Request(f"web-{number}", "default") for number in range(MANY)]
    found._unschedulable = dict.fromkeys(waiting)

    async def change() -> None:
        found._retry()
        # A second change in the meantime queues no pod twice.
        found._retry()
        while len(queue.requests) < MANY:
            await clock.sleep(0)

    _, turns = await measured(change(), lambda: len(queue.requests))
    assert queue.requests == waiting
    assert turns.most_steps <= PER_TURN


def test_other_failed_nodes_are_examined_again_only_if_the_rate_of_evictions_changes() -> None:
    zones = Zones()

    def count(numbers: range, failed: bool) -> int:
        return sum(zones.set(f"n{number}", "zone", failed) for number in numbers)

    assert count(range(100), False) == 1
    # Below 55 percent the rate stays; then most of the zone has failed; and in the end all nodes.
    assert count(range(54), True) == 0
    assert count(range(54, 55), True) == 1
    assert count(range(55, 99), True) == 0
    assert count(range(99, 100), True) == 1
