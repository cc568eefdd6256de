"""Autoscalers on simulated nodes: the conditions, events and replicas of a cluster."""

from typing import Any

import pytest
from tests.server.read.test_usage_metrics import DEFINITION
from tests.system.workload_objects import deployment, events_of

from setpoint import testing
from setpoint.client.patches import merge
from setpoint.controller.request import Request
from setpoint.objects.labels import Selector, from_object
from setpoint.objects.tree import Object
from setpoint.system.horizontalpodautoscaler.autoscaler_selectors import AutoscalerSelectors
from setpoint.testing import Behaviour, ContainerRun, simulated

PODS_1: Object = {"type": "Pods", "value": 1, "periodSeconds": 60}
PERCENT_100: Object = {"type": "Percent", "value": 100, "periodSeconds": 60}
PERCENT_50: Object = {"type": "Percent", "value": 50, "periodSeconds": 60}
AUTOSCALER, DEPLOYMENT = "autoscaling/v2/HorizontalPodAutoscaler", "apps/v1/Deployment"


def autoscaler(name: str = "web", metrics: list[Object] | None = None, **spec: Any) -> Object:
    target = {"type": "Utilization", "averageUtilization": 50}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "maxReplicas": 10,
        "metrics": metrics or [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        **spec,
    }
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}


def web(replicas: int = 2, requests: Object | None = None) -> Object:
    found = deployment(replicas=replicas)
    given = {"requests": requests if requests is not None else {"cpu": "100m", "memory": "64Mi"}}
    container = {**found["spec"]["template"]["spec"]["containers"][0], "resources": given}
    found["spec"]["template"]["spec"] = {"containers": [container]}
    return found


class Load:
    """The usage of every container, which a test changes."""

    def __init__(self, cpu: float) -> None:
        self.cpu = cpu

    def __call__(self, run: ContainerRun) -> Behaviour:
        return Behaviour(cpu=self.cpu, memory=32 << 20)


async def replicas(world: testing.World) -> int:
    return int((await world.find(DEPLOYMENT, "web"))["spec"]["replicas"])


async def conditions(world: testing.World, name: str = "web") -> dict[str, tuple[str, str, str]]:
    found = (await world.find(AUTOSCALER, name))["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


async def test_replicas_follow_the_load_and_fall_after_five_minutes() -> None:
    load = Load(0.05)
    async with testing.world(nodes=simulated(scripts={"": load}), objects=[web()]) as world:
        await world.advance(360)
        await world.create(autoscaler())
        await world.advance(15)
        status = (await world.find(AUTOSCALER, "web"))["status"]
        assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 2)
        current = {"averageUtilization": 50, "averageValue": "50m"}
        assert status["currentMetrics"] == [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
        load.cpu = 0.09
        await world.advance(15)
        assert await replicas(world) == 4
        assert (await conditions(world))["AbleToScale"] == (
            *("True", "SucceededRescale", "the HPA controller was able to update the target scale to 4"),
        )
        text = "New size: 4; reason: cpu resource utilization (percentage of request) above target"
        assert events_of(await world.events(), "SuccessfulRescale") == [text]
        load.cpu = 0.01
        await world.advance(280)
        assert await replicas(world) == 4
        assert (await conditions(world))["AbleToScale"][1] == "ScaleDownStabilized"
        await world.advance(60)
        assert await replicas(world) == 1
        assert (await conditions(world))["ScalingLimited"][:2] == ("False", "DesiredWithinRange")


async def test_a_small_difference_has_no_effect() -> None:
    async with testing.world(nodes=simulated(scripts={"": Load(0.054)}), objects=[web()]) as world:
        await world.advance(360)
        await world.create(autoscaler())
        await world.advance(30)
        assert await replicas(world) == 2
        await world.client.patch(
            AUTOSCALER, merge({"spec": {"behavior": {"scaleUp": {"tolerance": "0.01"}}}}), "web", "default"
        )
        await world.advance(15)
        assert await replicas(world) == 3


async def test_new_pods_do_not_count_while_they_start() -> None:
    def slow(run: ContainerRun) -> Behaviour:
        return Behaviour(cpu=0.09, ready_after=10)

    async with testing.world(nodes=simulated(scripts={"": slow}), objects=[web()]) as world:
        await world.create(autoscaler())
        await world.advance(15)
        status, reason, message = (await conditions(world))["ScalingActive"]
        assert (status, reason) == ("False", "FailedGetResourceMetric")
        assert "did not receive metrics for targeted pods (pods might be unready)" in message
        await world.advance(15)
        assert await replicas(world) == 4


async def test_a_missing_request_is_reported() -> None:
    async with testing.world(nodes="simulated", objects=[web(requests={"memory": "1Mi"})]) as world:
        await world.advance(360)
        await world.create(autoscaler())
        await world.advance(15)
        [pod, _] = sorted(each["metadata"]["name"] for each in (await world.client.list("v1/Pod", "default")).items)
        active = (await conditions(world))["ScalingActive"]
        assert active[:2] == ("False", "FailedGetResourceMetric")
        start = "the HPA was unable to compute the replica count: failed to get cpu utilization: "
        assert active[2].startswith(f"{start}missing request for cpu in container web of Pod {pod[:4]}")
        [text] = events_of(await world.events(), "FailedComputeMetricsReplicas")[:1]
        assert text.startswith(
            "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric"
        )


async def test_the_limits_apply_without_metrics() -> None:
    async with testing.world(nodes="simulated", objects=[web(replicas=2)]) as world:
        await world.create(autoscaler(minReplicas=3))
        await world.advance(15)
        assert await replicas(world) == 3
        reason = "Current number of replicas below Spec.MinReplicas"
        assert events_of(await world.events(), "SuccessfulRescale") == [f"New size: 3; reason: {reason}"]
        await world.client.scale(DEPLOYMENT, "web", "default", 12)
        await world.advance(15)
        assert await replicas(world) == 10
        await world.client.scale(DEPLOYMENT, "web", "default", 0)
        await world.advance(30)
        text = "scaling is disabled since the replica count of the target is zero"
        assert (await conditions(world))["ScalingActive"] == ("False", "ScalingDisabled", text)
        assert await replicas(world) == 0


async def test_two_autoscalers_of_the_same_pods_are_refused() -> None:
    async with testing.world(nodes="simulated", objects=[web()]) as world:
        await world.create(autoscaler("a"), autoscaler("b"))
        await world.advance(30)
        text = "pods by selector app=web are controlled by multiple HPAs: [{a default} {b default}]"
        assert (await conditions(world, "b"))["ScalingActive"] == ("False", "AmbiguousSelector", text)


async def test_a_missing_target_is_reported() -> None:
    async with testing.world(nodes="simulated") as world:
        await world.create(autoscaler())
        await world.advance(15)
        able = (await conditions(world))["AbleToScale"]
        assert able[:2] == ("False", "FailedGetScale")
        assert able[2].startswith("the HPA controller was unable to get the target's current scale: deployments")


async def test_policies_limit_the_rate() -> None:
    up = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    async with testing.world(nodes=simulated(scripts={"": Load(0.5)}), objects=[web()]) as world:
        await world.advance(360)
        await world.create(autoscaler(behavior={"scaleUp": up}))
        await world.advance(15)
        assert await replicas(world) == 3
        assert (await conditions(world))["ScalingLimited"][:2] == ("True", "ScaleUpLimit")
        await world.advance(30)
        assert await replicas(world) == 3
        await world.advance(30)
        assert await replicas(world) == 4


def queue_metric() -> tuple[Object, Object]:
    """A definition for values of the external metric `queue`, and the metric of an autoscaler."""
    names = {"plural": "queue", "kind": "ExternalMetricValue", "singular": "queue"}
    spec = {**DEFINITION["spec"], "group": "external.metrics.k8s.io", "names": names}
    metadata = {**DEFINITION["metadata"], "name": "queue.external.metrics.k8s.io"}
    target = {"type": "AverageValue", "averageValue": "10"}
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "target": target}}
    return {**DEFINITION, "metadata": metadata, "spec": spec}, metric


@pytest.mark.parametrize("value", ["many", "", True, {"amount": 1}, [], "1" * 5000], ids=repr)
async def test_a_malformed_external_metric_is_reported(value: Any) -> None:
    definition, metric = queue_metric()
    item = {"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue", "value": value}
    async with testing.world(nodes="simulated", objects=[web(), definition]) as world:
        await world.create({**item, "metadata": {"name": "a", "namespace": "default"}}, autoscaler(metrics=[metric]))
        await world.advance(15)
        active = (await conditions(world))["ScalingActive"]
        assert active[:2] == ("False", "FailedGetExternalMetric")
        start = "unable to get external metric default/queue/nil: unable to fetch metrics from external metrics API: "
        assert f"the HPA was unable to compute the replica count: {start}" in active[2]
        assert await replicas(world) == 2


async def test_an_external_metric_without_a_value_is_zero() -> None:
    definition, metric = queue_metric()
    item = {"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue"}
    async with testing.world(nodes="simulated", objects=[web(), definition]) as world:
        await world.create({**item, "metadata": {"name": "a", "namespace": "default"}}, autoscaler(metrics=[metric]))
        await world.advance(15)
        assert (await conditions(world))["ScalingActive"][:2] == ("True", "ValidMetricFound")


async def test_external_metrics_can_be_custom_resources() -> None:
    definition, metric = queue_metric()
    async with testing.world(nodes="simulated", objects=[web()]) as world:
        await world.create(autoscaler(metrics=[metric]))
        await world.advance(15)
        active = (await conditions(world))["ScalingActive"]
        assert active[:2] == ("False", "FailedGetExternalMetric")
        assert "the server could not find the requested resource" in active[2]
        await world.create(definition)
        value = {"apiVersion": "external.metrics.k8s.io/v1beta1", "kind": "ExternalMetricValue", "value": "35"}
        await world.create({**value, "metadata": {"name": "a", "namespace": "default"}})
        await world.advance(15)
        assert await replicas(world) == 4


@pytest.mark.parametrize(
    ("up", "expected"),
    [
        ({"policies": [PODS_1, PERCENT_100]}, 4),
        ({"policies": [PODS_1, PERCENT_100], "selectPolicy": "Min"}, 3),
        ({"policies": [PODS_1, PERCENT_100], "selectPolicy": "Disabled"}, 2),
        # A percentage is rounded up: 2 pods and 10 percent are 3 pods.
        ({"policies": [{**PERCENT_100, "value": 10}]}, 3),
    ],
    ids=["the larger change", "the smaller change", "no change", "a small percentage"],
)
async def test_the_selected_policy_limits_the_growth(up: Object, expected: int) -> None:
    async with testing.world(nodes=simulated(scripts={"": Load(0.5)}), objects=[web()]) as world:
        await world.advance(360)
        await world.create(autoscaler(behavior={"scaleUp": up}))
        await world.advance(15)
        assert await replicas(world) == expected


@pytest.mark.parametrize(
    ("down", "expected"),
    [
        ({"policies": [PODS_1, PERCENT_50]}, 4),
        ({"policies": [PODS_1, PERCENT_50], "selectPolicy": "Min"}, 7),
        ({"policies": [PODS_1, PERCENT_50], "selectPolicy": "Disabled"}, 8),
        # A percentage of the rest is rounded down: 8 pods without 10 percent are 7 pods.
        ({"policies": [{**PERCENT_50, "value": 10}]}, 7),
    ],
    ids=["the larger change", "the smaller change", "no change", "a small percentage"],
)
async def test_the_selected_policy_limits_the_decline(down: Object, expected: int) -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 0, **down}}
    async with testing.world(nodes=simulated(scripts={"": Load(0.001)}), objects=[web(replicas=8)]) as world:
        await world.advance(360)
        await world.create(autoscaler(behavior=behavior))
        await world.advance(15)
        assert await replicas(world) == expected


async def test_a_percentage_refers_to_the_beginning_of_its_period() -> None:
    up = {"policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}]}
    async with testing.world(nodes=simulated(scripts={"": Load(0.5)}), objects=[web(replicas=4)]) as world:
        await world.advance(360)
        await world.create(autoscaler(behavior={"scaleUp": up}))
        await world.advance(15)
        assert await replicas(world) == 6
        await world.advance(40)
        assert await replicas(world) == 6
        await world.advance(10)
        assert await replicas(world) == 9


async def test_a_custom_resource_with_a_scale_is_a_target() -> None:
    names = {"plural": "farms", "kind": "Farm", "singular": "farm"}
    paths = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    version = {**DEFINITION["spec"]["versions"][0], "name": "v1", "subresources": {"status": {}, "scale": paths}}
    spec = {**DEFINITION["spec"], "group": "example.com", "names": names, "versions": [version]}
    definition = {**DEFINITION, "metadata": {"name": "farms.example.com"}, "spec": spec}
    farm: Object = {
        "apiVersion": "example.com/v1",
        "kind": "Farm",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2},
    }
    target = {"apiVersion": "example.com/v1", "kind": "Farm", "name": "web"}
    # The pods belong to a Deployment, and the scale of the farm selects them.
    async with testing.world(nodes=simulated(scripts={"": Load(0.09)}), objects=[web(), definition]) as world:
        await world.create(farm)
        await world.advance(360)
        await world.create(autoscaler(scaleTargetRef=target))
        await world.advance(15)
        text = "the HPA target's scale is missing a selector"
        assert (await conditions(world))["ScalingActive"] == ("False", "InvalidSelector", text)
        status = {"status": {"replicas": 2, "selector": "app=web"}}
        await world.client.patch_status("example.com/v1/Farm", merge(status), "web", "default")
        await world.advance(15)
        assert (await world.find("example.com/v1/Farm", "web"))["spec"]["replicas"] == 4
        assert await replicas(world) == 2


def selecting(app: str) -> Selector:
    return from_object({"matchLabels": {"app": app}})


def test_a_pod_is_compared_only_with_the_selectors_for_its_labels() -> None:
    selectors, compared = AutoscalerSelectors(), []
    for number in range(1000):
        selector = selecting(f"app-{number}")
        matches = selector.matches

        def counted(labels: Any, number: int = number, matches: Any = matches) -> bool:
            compared.append(number)
            return bool(matches(labels))

        selector.matches = counted
        selectors.set(Request(f"hpa-{number}", "default"), selector)
    assert list(selectors.matching("default", {"app": "app-7", "tier": "x"})) == [Request("hpa-7", "default")]
    assert compared == [7]
    assert list(selectors.matching("other", {"app": "app-7"})) == []


def test_selectors_without_a_fixed_label_are_compared_with_every_pod() -> None:
    selectors = AutoscalerSelectors()
    one, other = Request("one", "default"), Request("other", "default")
    selectors.set(one, from_object({"matchExpressions": [{"key": "app", "operator": "Exists"}]}))
    selectors.set(other, selecting("web"))
    assert sorted(selectors.matching("default", {"app": "web"})) == [one, other]
    assert list(selectors.matching("default", {"tier": "web"})) == []
    selectors.set(other, selecting("db"))
    assert list(selectors.matching("default", {"app": "web"})) == [one]
    selectors.remove(one)
    selectors.remove(one)
    assert list(selectors.matching("default", {"app": "web"})) == []
