"""Stages of KWOK on simulated nodes: the life of pods, other kinds, weights, delays, and mistakes."""

import re
from typing import Any

import pytest
from tests.system.stages.stage_trees import stages
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object
from setpoint.testing import Behaviour

POD, CONFIG_MAP = "v1/Pod", "v1/ConfigMap"
LIFE = ("ready", "complete", "delete")


def marked(name: str, labels: Object | None = None, annotations: Object | None = None) -> Object:
    found = pod(name)
    found["metadata"] = {**found["metadata"], "labels": labels or {}, "annotations": annotations or {}}
    return found


async def phase(world: Any, name: str) -> str:
    return str((await world.find(POD, name))["status"]["phase"])


async def reasons(world: Any) -> list[str]:
    return [each["reason"] for each in (await world.client.list("events.k8s.io/v1/Event")).items]


async def test_stages_replace_the_life_of_a_pod() -> None:
    async with testing.world(nodes=testing.simulated(stages=stages(*LIFE))) as world:
        await world.create(pod("web"))
        await world.settle()
        status = (await world.find(POD, "web"))["status"]
        assert (status["phase"], status["hostIP"], status["podIP"]) == ("Running", "198.18.0.1", "10.224.0.2")
        [container] = status["containerStatuses"]
        assert (container["ready"], list(container["state"]), "started" in container) == (True, ["running"], False)
        await world.advance(60)
        assert (await world.find(POD, "web"))["status"] == status
        await world.client.delete(POD, "web", "default")
        await world.settle()
        assert not (await world.client.list(POD)).items


async def test_a_pod_without_a_matching_stage_lives_as_usual() -> None:
    async with testing.world(nodes=testing.simulated(stages=stages("fail"))) as world:
        await world.create(marked("usual"), marked("broken", {"chaos": "true"}))
        await world.settle()
        assert [await phase(world, name) for name in ("usual", "broken")] == ["Running", "Running"]
        await world.advance(2)
        assert [await phase(world, name) for name in ("usual", "broken")] == ["Running", "Failed"]
        await world.client.delete(POD, "broken", "default")
        await world.settle()
        assert [each["metadata"]["name"] for each in (await world.client.list(POD)).items] == ["usual"]


async def test_stages_take_precedence_over_scripts() -> None:
    scripts = {"": lambda run: Behaviour(exit_code=3, after=5)}
    async with testing.world(nodes=testing.simulated(scripts=scripts, stages=stages(*LIFE))) as world:
        await world.create(pod("web"))
        await world.advance(10)
        assert await phase(world, "web") == "Running"


async def test_delays_come_from_annotations_and_begin_again_with_a_change() -> None:
    async with testing.world(nodes=testing.simulated(stages=stages("ready", "fail"))) as world:
        annotations = {"example.com/delay": "30s", "example.com/exit-code": "7"}
        await world.create(marked("web", {"chaos": "true"}, annotations))
        await world.advance(20)
        await world.client.patch(POD, merge({"metadata": {"labels": {"changed": "yes"}}}), "web", "default")
        await world.advance(20)
        assert await phase(world, "web") == "Running"
        await world.advance(11)
        [container] = (await world.find(POD, "web"))["status"]["containerStatuses"]
        assert container["state"]["terminated"]["exitCode"] == 7


async def test_the_same_seed_chooses_the_same_stages_by_weight() -> None:
    one, other = stages("ready", "ready")
    one["spec"]["weight"], other["spec"]["weight"], other["metadata"]["name"] = 3, 1, "pending"
    other["spec"]["next"]["statusTemplate"] = 'message: "by weight"'

    async def run(seed: int) -> list[bool]:
        async with testing.world(nodes=testing.simulated(stages=[one, other]), seed=seed) as world:
            await world.create(*(pod(f"p{number}") for number in range(16)))
            await world.settle()
            items = (await world.client.list(POD)).items
            return ["message" in each["status"] for each in sorted(items, key=lambda each: each["metadata"]["name"])]

    first = await run(1)
    assert first == await run(1)
    assert 0 < sum(first) < 16


async def test_steps_change_finalizers_record_events_and_patch() -> None:
    async with testing.world(nodes=testing.simulated(stages=stages("ready", "hold", "release"))) as world:
        await world.create(pod("web"))
        await world.settle()
        metadata = (await world.find(POD, "web"))["metadata"]
        assert metadata["finalizers"] == ["example.com/hold", "example.com/other"]
        assert metadata["annotations"] == {"held-on": "node-0"}
        await world.client.delete(POD, "web", "default")
        await world.settle()
        assert (await world.find(POD, "web"))["metadata"]["finalizers"] == ["example.com/other"]
        assert {"Held", "Released"} <= set(await reasons(world))
        await world.client.patch(POD, merge({"metadata": {"finalizers": None}}), "web", "default")
        await world.settle()
        assert not (await world.client.list(POD)).items


async def test_stages_of_other_kinds_apply_objects_and_patch() -> None:
    async with testing.world(nodes=testing.simulated(stages=stages("copy"))) as world:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "value"}}
        config["metadata"] = {"name": "one", "namespace": "default", "labels": {"copied": "true"}}
        await world.create(config)
        await world.settle()
        assert (await world.find(CONFIG_MAP, "one"))["metadata"]["annotations"] == {"copied": "VALUE"}
        assert (await world.find("v1/Secret", "one-copy"))["data"] == {"key": "dmFsdWU="}


async def test_nodes_send_heartbeats_with_a_random_delay() -> None:
    async with testing.world(nodes=testing.simulated(stages=stages("heartbeat"))) as world:
        await world.settle()

        async def beat() -> str:
            [ready] = [
                each
                for each in (await world.find("v1/Node", "node-0"))["status"]["conditions"]
                if each["type"] == "Ready"
            ]
            return str(ready["lastHeartbeatTime"])

        first = await beat()
        await world.advance(19)
        assert await beat() == first
        await world.advance(7)
        second = await beat()
        assert second > first
        await world.advance(26)
        assert await beat() > second


async def test_stages_without_an_end_are_paused_with_a_warning() -> None:
    [endless] = stages("ready")
    endless["spec"]["selector"] = {}
    endless["spec"]["next"] = {
        "patches": [
            {
                "root": "metadata",
                "template": "annotations: {count: {{ .metadata.annotations.count | default 0 | add1 | quote }}}",
            }
        ]
    }
    async with testing.world(nodes=testing.simulated(stages=[endless])) as world:
        await world.create(pod("web"))
        await world.advance(0.5)
        assert (await world.find(POD, "web"))["metadata"]["annotations"]["count"] == "100"
        await world.advance(1)
        assert (await world.find(POD, "web"))["metadata"]["annotations"]["count"] == "200"
        assert "StageLoop" in await reasons(world)


async def test_a_failed_step_is_reported_by_an_event() -> None:
    [wrong] = stages("ready")
    wrong["spec"]["next"]["statusTemplate"] = "phase: [1]"
    async with testing.world(nodes=testing.simulated(stages=[wrong])) as world:
        await world.create(pod("web"))
        await world.settle()
        assert await phase(world, "web") == "Pending"
        assert "StageFailed" in await reasons(world)


async def test_stage_objects_of_the_api_are_used_and_checked() -> None:
    async with testing.world(nodes=testing.simulated(stage_objects=True)) as world:
        [ready, wrong] = stages("ready", "complete")
        wrong["spec"]["next"]["statusTemplate"] = "{{ frobnicate }}"
        await world.create(ready, wrong)
        await world.settle()
        await world.create(pod("web"))
        await world.settle()
        assert "started" not in (await world.find(POD, "web"))["status"]["containerStatuses"][0]
        kind = "kwok.x-k8s.io/v1alpha1/Stage"
        [condition] = (await world.client.get(kind, "complete"))["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Accepted", "False", "Invalid")
        assert "unknown function frobnicate; available: " in condition["message"]
        [condition] = (await world.client.get(kind, "ready"))["status"]["conditions"]
        assert condition["status"] == "True"
        await world.client.delete(kind, "ready")
        await world.settle()
        await world.create(pod("usual"))
        await world.settle()
        assert "started" in (await world.find(POD, "usual"))["status"]["containerStatuses"][0]


def changed(path: str, value: Any) -> Object:
    [found] = stages("ready")
    *names, last = path.split(".")
    here = found
    for name in names:
        here = here.setdefault(name, {})
    here[last] = value
    return found


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (changed("kind", "Pod"), "is not a Stage: use apiVersion kwok.x-k8s.io/v1alpha1 and kind Stage"),
        (changed("metadata", {}), "a Stage has no name: add metadata.name"),
        (changed("spec.wieght", 1), "Stage ready: spec: wieght: there is no such field; did you mean weight?"),
        (changed("spec.resourceRef", {}), "resourceRef: kind is missing"),
        (
            changed("spec.selector", {"matchExpressions": [{"key": ".a |", "operator": "Exists"}]}),
            "Stage ready: spec.selector.matchExpressions[0].key: invalid jq expression: unexpected end",
        ),
        (
            changed("spec.selector", {"matchExpressions": [{"key": ".a", "operator": "In"}]}),
            "spec.selector.matchExpressions[0].values: empty; In needs values",
        ),
        (
            changed("spec.selector", {"matchExpressions": [{"key": ".a", "operator": "Exists", "values": ["x"]}]}),
            "spec.selector.matchExpressions[0].values: Exists takes no values; remove them",
        ),
        (changed("spec.selector", {"matchExpressions": [{"key": ".a"}]}), "matchExpressions[0].operator: missing"),
        (changed("spec.selector", {"matchExpressions": [{}]}), "empty; give cel, jq, or key with operator"),
        (
            changed("spec.selector", {"matchExpressions": [{"cel": {"expression": "self."}}]}),
            "spec.selector.matchExpressions[0].cel.expression: invalid CEL expression",
        ),
        (changed("spec.delay", {"durationFrom": {}}), "spec.delay.durationFrom: empty; give cel, jq or expressionFrom"),
        (changed("spec.steps", [{"patch": {}}]), "spec.steps[0].patch.template: empty"),
        (changed("spec.steps", [{"patch": {"template": "{{ if }}"}}]), "spec.steps[0].patch.template: "),
        (
            changed("spec.steps", [{"apply": {"template": 'a: {{ env "HOME" }}'}}]),
            "spec.steps[0].apply.template: unknown function env; available: ",
        ),
        (changed("spec.next.event", {"type": "Odd"}), "Odd"),
    ],
)
def test_a_mistake_is_reported_with_the_field_and_the_remedy(stage: Object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        testing.simulated(stages=[stage])


def test_two_stages_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="there are two stages of this name; rename one"):
        testing.simulated(stages=stages("ready", "ready"))
