"""The rules of the core kinds: what is refused, what may change, what is filled in."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.kinds.writes import PLURALS, Place, Writes

from setpoint.merge import mergepatch
from setpoint.objects.tree import Object, copy

_CASES = Path(__file__).parent / "cases"
_NAMESPACED = set(PLURALS.values()) - {"Namespace", "Node", "PersistentVolume"}


def _load(name: str) -> Any:
    return yaml.safe_load((_CASES / f"{name}.yaml").read_text())


def _cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in _load(name)]


def _place(kind: str, subresource: str = "") -> Place:
    return Place("", kind, "ns" if kind in _NAMESPACED else "", "a", subresource)


def _body(kind: str, patch: Object) -> Object:
    base: Object = copy(_load("bases")[kind])
    patched: Object = mergepatch.apply(base, patch)
    return patched


@pytest.mark.parametrize("kind", sorted(PLURALS.values()))
def test_a_plain_object_of_each_kind_is_accepted(kind: str) -> None:
    assert Writes().create(_place(kind), _body(kind, {})).errors == []


@pytest.mark.parametrize("case", _cases("refused"))
def test_new_objects_are_refused_for_all_that_is_wrong_with_them(case: Any) -> None:
    written = Writes().create(_place(case["kind"]), _body(case["kind"], case["with"]))
    assert [str(error) for error in written.errors] == case["errors"]


@pytest.mark.parametrize("case", _cases("changed"))
def test_changes_are_judged_by_what_was_there(case: Any) -> None:
    kind, writes = case["kind"], Writes()
    created = writes.create(_place(kind), _body(kind, case.get("from", {})))
    assert created.errors == []
    place = _place(kind, case.get("subresource", ""))
    stored = mergepatch.apply(created.tree, case.get("before", {}))
    writes.objects[place.key] = writes.admit(_place(kind), stored)
    changed = mergepatch.apply(copy(writes.objects[place.key]), case["with"])
    errors = [str(error) for error in writes.update(place, changed).errors]
    assert len(errors) == len(case["errors"])
    assert all(found.startswith(wanted) for found, wanted in zip(errors, case["errors"], strict=True))


def test_a_service_that_becomes_a_name_gives_back_what_it_was_given() -> None:
    writes = Writes()
    writes.create(_place("Service"), _body("Service", {"spec": {"type": "NodePort"}}))
    body = _body("Service", {"spec": {"type": "ExternalName", "externalName": "example.com"}})
    spec = writes.update(_place("Service"), body).tree["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & spec.keys()
    assert "nodePort" not in spec["ports"][0]


def test_a_service_keeps_its_node_port_when_its_port_is_renumbered() -> None:
    writes = Writes()
    first = writes.create(_place("Service"), _body("Service", {"spec": {"type": "NodePort"}})).tree
    body = _body("Service", {"spec": {"type": "NodePort", "ports": [{"port": 81}]}})
    second = writes.update(_place("Service"), body).tree
    assert second["spec"]["ports"][0]["nodePort"] == first["spec"]["ports"][0]["nodePort"]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("NGINX", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_an_image_is_pulled_again_only_if_its_name_says_the_latest(image: str, policy: str) -> None:
    written = Writes().create(_place("Pod"), _body("Pod", {"spec": {"containers": [{"name": "c", "image": image}]}}))
    assert written.tree["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"requests": {"example.com/x": "1"}, "limits": {"example.com/x": "1"}}, "BestEffort"),
    ],
)
def test_the_quality_of_service_follows_from_processor_and_memory(resources: Object, quality: str) -> None:
    container = {"name": "c", "image": "x", "resources": resources}
    written = Writes().create(_place("Pod"), _body("Pod", {"spec": {"containers": [container]}}))
    assert written.tree["status"]["qosClass"] == quality


def test_a_gated_pod_says_what_it_waits_for() -> None:
    body = _body("Pod", {"spec": {"schedulingGates": [{"name": "example.com/g"}]}})
    conditions = Writes().create(_place("Pod"), body).tree["status"]["conditions"]
    assert [(it["type"], it["status"], it["reason"]) for it in conditions] == [
        ("PodScheduled", "False", "SchedulingGated")
    ]


def test_a_repeated_variable_is_warned_about() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    body = _body("Pod", {"spec": {"containers": [{"name": "c", "image": "x", "env": env}]}})
    assert Writes().create(_place("Pod"), body).warnings == [
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'
    ]
