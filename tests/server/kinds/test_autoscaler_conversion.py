"""Autoscalers in two versions over one storage: nothing gets lost on the way there and back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.kinds import judged

from setpoint.objects.tree import Object, copy
from setpoint.server.registry.kinds.autoscaling.conversion import convert

V1, V2 = "autoscaling/v1", "autoscaling/v2"
PREFIX = "autoscaling.alpha.kubernetes.io/"
NAMES = st.sampled_from(["a", "requests-per-second", "queue.length"])
AMOUNTS = st.sampled_from(["1", "500m", "2Gi", "10k"])
SELECTORS = st.none() | st.just({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "Exists"}]})
REFERENCE = {"apiVersion": "v1", "kind": "Service", "name": "s"}


def given_only(**fields: Any) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def metric_of(name: str, selector: Object | None) -> Object:
    return given_only(name=name, selector=selector)


IDENTIFIERS = st.builds(metric_of, NAMES, SELECTORS)
RESOURCE_TARGETS = st.one_of(
    st.builds(lambda value: {"type": "Utilization", "averageUtilization": value}, st.integers(1, 500)),
    st.builds(lambda value: {"type": "AverageValue", "averageValue": value}, AMOUNTS),
)
AVERAGES = st.builds(lambda value: {"type": "AverageValue", "averageValue": value}, AMOUNTS)
VALUES = st.builds(lambda value: {"type": "Value", "value": value}, AMOUNTS)
METRICS = st.one_of(
    st.builds(
        lambda name, target: {"type": "Resource", "resource": {"name": name, "target": target}},
        st.sampled_from(["memory", "example.com/gpu"]),
        RESOURCE_TARGETS,
    ),
    st.builds(
        lambda target: {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "container": "c", "target": target},
        },
        RESOURCE_TARGETS,
    ),
    st.builds(
        lambda metric, target: {"type": "Pods", "pods": {"metric": metric, "target": target}}, IDENTIFIERS, AVERAGES
    ),
    st.builds(
        lambda metric, target: {
            "type": "Object",
            "object": {"describedObject": REFERENCE, "metric": metric, "target": target},
        },
        IDENTIFIERS,
        AVERAGES | VALUES,
    ),
    st.builds(
        lambda metric, target: {"type": "External", "external": {"metric": metric, "target": target}},
        IDENTIFIERS,
        AVERAGES | VALUES,
    ),
)
BEHAVIOR: st.SearchStrategy[Object | None] = st.sampled_from(
    [None, {"scaleUp": {"selectPolicy": "Min", "tolerance": "50m"}}, {"scaleDown": {}}]
)
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
STATUS: Object = {
    "currentReplicas": 2,
    "desiredReplicas": 3,
    "lastScaleTime": "2024-05-01T10:00:00Z",
    "currentMetrics": [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 12, "averageValue": "5m"}}}
    ],
    "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2024-05-01T10:00:00Z"}],
}


def newer(metrics: list[Object], behavior: Object | None = None, status: Object | None = None) -> Object:
    spec = given_only(
        scaleTargetRef={"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        maxReplicas=5,
        metrics=metrics,
        behavior=copy(behavior),
    )
    tree: Object = {"apiVersion": V2, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": spec}
    return judged.admitted({**tree, "status": status} if status else tree)


@given(st.lists(METRICS, max_size=4), BEHAVIOR, st.sampled_from([None, STATUS]), st.booleans())
def test_what_goes_to_the_older_version_comes_back_as_it_was(
    metrics: list[Object], behavior: Object | None, status: Object | None, with_cpu: bool
) -> None:
    # The percentage of the older version comes last, whatever place it had.
    tree = newer([*metrics, CPU] if with_cpu or not metrics else metrics, behavior, status)
    older = convert(copy(tree), V2, V1)
    back = judged.admitted(convert(older, V1, V2))
    assert back == tree
    assert judged.strategy_of(tree).validate(older) == judged.strategy_of(tree).validate(tree) == []


def test_the_older_version_has_the_percentage_as_a_field_and_the_rest_as_text() -> None:
    metric = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
    }
    older = convert(newer([metric, CPU]), V2, V1)
    assert older["spec"]["targetCPUUtilizationPercentage"] == 60
    assert older["metadata"]["annotations"] == {
        PREFIX + "metrics": '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]'
    }


def test_behaviour_is_carried_under_the_names_of_a_struct() -> None:
    older = convert(newer([CPU], {"scaleDown": {}}), V2, V1)
    carried = json.loads(older["metadata"]["annotations"][PREFIX + "behavior"])
    assert carried["ScaleDown"] == {
        "StabilizationWindowSeconds": None,
        "SelectPolicy": "Max",
        "Policies": [{"Type": "Percent", "Value": 100, "PeriodSeconds": 15}],
        "Tolerance": None,
    }


@pytest.mark.parametrize("name", ["metrics", "current-metrics", "behavior", "conditions"])
@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "[1]", '[{"type":1}]', '[{"type":"Pods","pods":{"targetAverageValue":"much"}}]', "[" * 5000],
    ids=["nothing", "half", "empty list", "empty map", "numbers", "wrong type", "wrong amount", "deep"],
)
def test_text_that_does_not_fit_carries_nothing(name: str, text: str) -> None:
    older: Object = {
        "apiVersion": V1,
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a", "annotations": {PREFIX + name: text, "mine": "x"}},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 2},
    }
    made = judged.admitted(convert(judged.admitted(older), V1, V2))
    assert made["metadata"]["annotations"] == {"mine": "x"}
    (metric,) = made["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}
    assert "behavior" not in made["spec"]


def test_a_write_through_the_older_version_that_changes_only_what_is_carried_is_a_change() -> None:
    strategy = judged.strategy_of(newer([CPU]))
    one, other = convert(newer([CPU]), V2, V1), convert(newer([CPU], {"scaleUp": {}}), V2, V1)
    assert one["spec"] == other["spec"]
    assert strategy.bumps_generation(other, one)
    assert not strategy.bumps_generation(copy(one), one)


def test_the_newer_version_never_keeps_what_only_the_older_one_carries() -> None:
    tree = newer([CPU])
    tree["metadata"]["annotations"] = {PREFIX + "metrics": "[]", "mine": "x"}
    assert judged.admitted(tree)["metadata"]["annotations"] == {"mine": "x"}
