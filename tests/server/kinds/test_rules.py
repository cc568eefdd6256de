"""The rules of the core kinds: what is refused, what may change, what is filled in."""

from typing import Any

import pytest
from tests.server.kinds.objects import bases, load, place_of
from tests.server.kinds.writes import PLURALS, Writes

from setpoint.merge import mergepatch
from setpoint.objects.tree import Object, copy
from setpoint.server.registry.kinds.core.persistent_volume import PersistentVolumeStrategy


def _cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in load(name)]


def _body(kind: str, patch: Object) -> Object:
    patched: Object = mergepatch.apply(copy(bases()[kind]), patch)
    return patched


@pytest.mark.parametrize("kind", sorted(PLURALS.values()))
def test_a_plain_object_of_each_kind_is_accepted(kind: str) -> None:
    assert Writes().create(place_of(kind), _body(kind, {})).errors == []


@pytest.mark.parametrize("case", _cases("refused"))
def test_new_objects_are_refused_for_all_that_is_wrong_with_them(case: Any) -> None:
    written = Writes().create(place_of(case["kind"]), _body(case["kind"], case["with"]))
    assert [str(error) for error in written.errors] == case["errors"]


@pytest.mark.parametrize("case", _cases("changed"))
def test_changes_are_judged_by_what_was_there(case: Any) -> None:
    kind, writes = case["kind"], Writes()
    created = writes.create(place_of(kind), _body(kind, case.get("from", {})))
    assert created.errors == []
    place = place_of(kind, case.get("subresource", ""))
    stored = mergepatch.apply(created.tree, case.get("before", {}))
    writes.objects[place.key] = writes.admit(place_of(kind), stored)
    changed = mergepatch.apply(copy(writes.objects[place.key]), case["with"])
    errors = [str(error) for error in writes.update(place, changed).errors]
    assert len(errors) == len(case["errors"])
    assert all(found.startswith(wanted) for found, wanted in zip(errors, case["errors"], strict=True))


def test_a_service_that_becomes_a_name_gives_back_what_it_was_given() -> None:
    writes = Writes()
    writes.create(place_of("Service"), _body("Service", {"spec": {"type": "NodePort"}}))
    body = _body("Service", {"spec": {"type": "ExternalName", "externalName": "example.com"}})
    spec = writes.update(place_of("Service"), body).tree["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & spec.keys()
    assert "nodePort" not in spec["ports"][0]


def test_a_service_keeps_its_node_port_when_its_port_is_renumbered() -> None:
    writes = Writes()
    first = writes.create(place_of("Service"), _body("Service", {"spec": {"type": "NodePort"}})).tree
    body = _body("Service", {"spec": {"type": "NodePort", "ports": [{"port": 81}]}})
    second = writes.update(place_of("Service"), body).tree
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
    written = Writes().create(place_of("Pod"), _body("Pod", {"spec": {"containers": [{"name": "c", "image": image}]}}))
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
    written = Writes().create(place_of("Pod"), _body("Pod", {"spec": {"containers": [container]}}))
    assert written.tree["status"]["qosClass"] == quality


def test_a_pod_that_is_limited_as_a_whole_asks_for_what_its_containers_ask_for() -> None:
    containers = [{"name": name, "image": "x", "resources": {"requests": {"cpu": "500m"}}} for name in "ab"]
    body = _body("Pod", {"spec": {"containers": containers, "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}})
    written = Writes().create(place_of("Pod"), body)
    assert written.errors == []
    assert written.tree["spec"]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_a_gated_pod_says_what_it_waits_for() -> None:
    body = _body("Pod", {"spec": {"schedulingGates": [{"name": "example.com/g"}]}})
    conditions = Writes().create(place_of("Pod"), body).tree["status"]["conditions"]
    assert [(it["type"], it["status"], it["reason"]) for it in conditions] == [
        ("PodScheduled", "False", "SchedulingGated")
    ]


def test_a_repeated_variable_is_warned_about() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    body = _body("Pod", {"spec": {"containers": [{"name": "c", "image": "x", "env": env}]}})
    assert Writes().create(place_of("Pod"), body).warnings == [
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'
    ]


@pytest.mark.parametrize(
    ("phase", "sent", "stored"),
    [
        ("Pending", None, "2001-01-01T00:00:00Z"),
        ("Bound", None, "2002-02-02T00:00:00Z"),
        ("Bound", "2001-01-01T00:00:00Z", "2002-02-02T00:00:00Z"),
        ("Bound", "2001-01-01T00:00:00.5Z", "2001-01-01T00:00:00Z"),
        ("Bound", "2001-01-01T00:00:01Z", "2001-01-01T00:00:01Z"),
    ],
)
def test_the_phase_of_a_volume_has_a_time(phase: str, sent: str | None, stored: str) -> None:
    told = {"phase": phase} if sent is None else {"phase": phase, "lastPhaseTransitionTime": sent}
    # Decoding drops the fraction.
    tree = {"status": {name: value.replace(".5Z", "Z") for name, value in told.items()}}
    old = {"status": {"phase": "Pending", "lastPhaseTransitionTime": "2001-01-01T00:00:00Z"}}
    PersistentVolumeStrategy().stamp(tree, old, "2002-02-02T00:00:00Z", {"status": told})
    assert tree["status"]["lastPhaseTransitionTime"] == stored
