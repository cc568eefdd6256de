"""Dependencies: what an object waits for and why, circles, and the order in which objects go."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.tree import Object
from setpoint.workload.dependencies import (
    deadlocks,
    needed_by,
    needs,
    requirements,
    shutdown_order,
    stop_order,
    waiting_for,
)


def made(
    kind: str, name: str, *, status: dict[str, Any] | None = None, producing: tuple[str, ...] = (), **spec: Any
) -> Object:
    metadata: Object = {"name": name}
    if producing:
        entries = [{"serviceName": each} for each in producing]
        metadata["annotations"] = {"service-producer": json.dumps(entries)}
    return {"kind": kind, "metadata": metadata, "spec": spec, "status": status or {}}


def exe(name: str, *depends: str, condition: str = "Ready", **more: Any) -> Object:
    on = [
        {"kind": kind, "name": other, "condition": condition}
        for kind, _, other in (each.partition("/") for each in depends)
    ]
    return made("Executable", name, dependsOn=on, **more)


def names(waves: list[list[Object]]) -> list[list[str]]:
    return [sorted(tree["metadata"]["name"] for tree in wave) for wave in waves]


def test_requirements_come_from_depends_on_templates_networks_and_containers() -> None:
    tree = made(
        "Container",
        "c",
        dependsOn=[{"kind": "Task", "name": "migrate"}, {"kind": "Service", "name": "q", "condition": "Started"}],
        networks=[{"name": "front"}],
        env=[{"name": "A", "value": '{{ portFor "db" }}{{ secret "s" "k" }}'}, {"name": "B", "value": "{{ broken"}],
        args=['{{ fieldOf "Executable" "api" "status.pid" }}', '{{ portForServing "own" }}'],
    )
    assert [tuple(each)[:4] for each in requirements(tree)] == [
        ("Task", "migrate", "Ready", "dependsOn"),
        ("Service", "q", "Started", "dependsOn"),
        ("ContainerNetwork", "front", "Ready", "networks"),
        ("Service", "db", "Started", "portFor in env A"),
        ("Executable", "api", "Started", "fieldOf in args[0]"),
    ]
    run = made("ContainerExec", "x", containerName="c")
    assert [tuple(each)[:4] for each in requirements(run)] == [("Container", "c", "Started", "containerName")]


FAILED_PROBE = {"outcome": "Failure", "probeName": "http", "reason": "connection refused"}


@pytest.mark.parametrize(
    ("kind", "status", "holds", "why"),
    [
        ("Executable", {}, "", "it has not started"),
        ("Executable", {"state": "Starting"}, "", "it is Starting"),
        ("Executable", {"state": "Running"}, "Started", "it is running but not healthy"),
        (
            "Executable",
            {"state": "Running", "healthStatus": "Unhealthy", "healthProbeResults": [FAILED_PROBE]},
            "Started",
            "it is running but not healthy; probe http: connection refused",
        ),
        ("Executable", {"state": "Running", "healthStatus": "Healthy"}, "Started Ready", "it is Running"),
        ("Executable", {"state": "Finished", "exitCode": 0}, "Started Finished Succeeded", "it ended with exit code 0"),
        ("Executable", {"state": "Finished", "exitCode": 3}, "Started Finished", "it ended with exit code 3"),
        ("Executable", {"state": "Finished"}, "Started Finished", "it ended"),
        ("Executable", {"state": "FailedToStart"}, "", "it is FailedToStart"),
        ("ContainerExec", {"state": "Running"}, "Started Ready", "it is Running"),
        ("Container", {"state": "Running", "healthStatus": "Healthy"}, "Started Ready", "it is Running"),
        ("Container", {"state": "RuntimeUnhealthy"}, "", "it is RuntimeUnhealthy"),
        ("Container", {"state": "Paused", "healthStatus": "Caution"}, "Started", "it is Paused"),
        ("Container", {"state": "Exited", "exitCode": 0}, "Started Finished Succeeded", "it ended with exit code 0"),
        ("ExecutableReplicaSet", {"runningReplicas": 1}, "Started", "1 of 2 replicas are running"),
        (
            "ExecutableReplicaSet",
            {"runningReplicas": 2, "healthStatus": "Healthy"},
            "Started Ready",
            "2 of 2 replicas are running",
        ),
        (
            "ExecutableReplicaSet",
            {"observedReplicas": 2, "finishedReplicas": 1, "failedReplicas": 1},
            "Started Finished",
            "0 of 2 replicas are running, 1 failed to start",
        ),
        ("Service", {}, "", "its address is unknown"),
        ("Service", {"effectivePort": 1, "effectiveAddress": "a"}, "Started", "no workload serves it"),
        (
            "Service",
            {"effectivePort": 1, "effectiveAddress": "a", "state": "Ready"},
            "Started Ready",
            "no workload serves it",
        ),
        ("ContainerNetwork", {"state": "Running"}, "Started Ready", "it is Running"),
        ("ContainerVolume", {"state": "Pending"}, "", "it is Pending"),
        ("ContainerVolume", {"state": "Ready"}, "Started Ready", "it is Ready"),
        ("Task", {"state": "Running"}, "Started", "it is Running"),
        ("Task", {"state": "Failed"}, "Started Finished", "it is Failed"),
        ("Task", {"state": "Succeeded"}, "Started Ready Finished Succeeded", "it is Succeeded"),
    ],
)
def test_an_object_waits_until_the_other_has_come_so_far(
    kind: str, status: dict[str, Any], holds: str, why: str
) -> None:
    other = made(kind, "other", status=status, replicas=2)
    for condition in ("Started", "Ready", "Finished", "Succeeded"):
        waiting = waiting_for(exe("me", f"{kind}/other", condition=condition), lambda *key: other)
        expected = [] if condition in holds.split() else [(kind, "other", condition, why)]
        assert [tuple(each) for each in waiting] == expected


@pytest.mark.parametrize(
    ("status", "waits"),
    [
        ({"state": "Starting"}, True),
        ({"state": "Running", "healthStatus": "Caution"}, True),
        ({"state": "Running", "healthStatus": "Unhealthy"}, False),
        ({"state": "Exited", "exitCode": 1}, False),
        ({"state": "Exited", "exitCode": 1, "nextRestartTime": "2026-01-01T00:00:00.000000Z"}, True),
        ({"state": "FailedToStart"}, False),
    ],
)
def test_an_optional_dependency_is_not_waited_for_once_it_has_failed(status: Object, waits: bool) -> None:
    depends = [{"kind": "Container", "name": "other", "optional": True}]
    other = made("Container", "other", status=status)
    assert bool(waiting_for(made("Executable", "me", dependsOn=depends), lambda *key: other)) is waits


def test_what_does_not_exist_is_waited_for() -> None:
    (waiting,) = waiting_for(exe("me", "Executable/none"), lambda *key: None)
    assert str(waiting) == "Executable none to be Ready: it does not exist"


def test_objects_that_wait_for_each_other_are_found_and_the_circle_is_named() -> None:
    found = deadlocks(
        [exe("a", "Executable/b"), exe("b", "Executable/c"), exe("c", "Executable/a"), exe("d", "Executable/a")]
    )
    assert [each.keys for each in found] == [tuple(("Executable", name) for name in "abca")]
    assert found[0].message == (
        "Executable a waits (dependsOn) for Executable b waits (dependsOn) for Executable c waits (dependsOn) for "
        "Executable a; remove one of these dependencies"
    )


def test_an_object_that_waits_for_itself_is_a_circle() -> None:
    assert [each.keys for each in deadlocks([exe("a", "Executable/a")])] == [(("Executable", "a"),) * 2]


def test_who_waits_for_a_service_waits_for_one_of_those_who_serve_it() -> None:
    service = made("Service", "s")
    alone = [exe("a", "Service/s", producing=("s",)), service]
    (found,) = deadlocks(alone)
    assert found.message.startswith("Executable a waits (dependsOn) for Service s is served by Executable a;")
    assert deadlocks([*alone, exe("other", serves=[{"service": "s"}])]) == []
    assert deadlocks([exe("a", "Service/s"), service]) == []  # somebody may yet come


def test_the_address_of_a_service_is_known_before_anybody_serves_it_unless_it_is_proxyless() -> None:
    uses = exe("a", producing=("s",), env=[{"name": "URL", "value": '{{ urlFor "s" }}'}])
    assert deadlocks([uses, made("Service", "s", addressAllocationMode="Localhost")]) == []
    assert deadlocks([uses, made("Service", "s", addressAllocationMode="Proxyless", port=80)]) == []
    (found,) = deadlocks([uses, made("Service", "s", addressAllocationMode="Proxyless")])
    assert "Executable a waits (urlFor in env URL) for Service s is served by Executable a" in found.message


def test_templates_of_replicas_and_tasks_count_for_them() -> None:
    template = {
        "annotations": {"service-producer": '[{"serviceName": "s"}]'},
        "spec": {"dependsOn": [{"kind": "Service", "name": "s"}]},
    }
    replicas = made("ExecutableReplicaSet", "r", template=template)
    assert [each.keys[0] for each in deadlocks([replicas, made("Service", "s")])] == [("ExecutableReplicaSet", "r")]
    task = made("Task", "t", template={"executable": {"args": ['{{ fieldOf "Executable" "e" "status.pid" }}']}})
    assert len(deadlocks([task, exe("e", "Task/t")])) == 1


def test_each_object_is_stopped_before_what_it_depends_on() -> None:
    objects = [exe("db"), exe("api", "Executable/db"), exe("web", "Executable/api", "Executable/db"), exe("alone")]
    assert names(stop_order(objects)) == [["alone", "web"], ["api"], ["db"]]


def test_objects_in_a_circle_are_stopped_last_and_together() -> None:
    objects = [exe("a", "Executable/b"), exe("b", "Executable/a"), exe("c", "Executable/a")]
    assert names(stop_order(objects)) == [["c"], ["a", "b"]]


def test_all_that_an_object_needs_is_found_through_others_services_and_tunnels() -> None:
    api = made("Service", "api")
    inside = made("Service", "api-inside", addressAllocationMode="Proxyless")
    tunnels = [{"name": "api", "serverServiceName": "api", "clientServiceName": "api-inside"}]
    shop = [
        exe("base"),
        exe("server", "Executable/base", serves=[{"service": "api"}]),
        exe("other", "Executable/base"),
        api,
        inside,
        made("ContainerNetwork", "net"),
        made("ContainerNetworkTunnelProxy", "proxy", containerNetworkName="net", tunnels=tunnels),
        made("Task", "test", template={"container": {"env": [{"name": "A", "value": '{{ urlFor "api-inside" }}'}]}}),
    ]
    needed_names = {name for _, name in needs(shop, ("Task", "test"))}
    assert needed_names == {"test", "api-inside", "proxy", "net", "api", "server", "base"}
    assert needs(shop, ("Executable", "base")) == {("Executable", "base")}
    assert needed_by(shop, ("Executable", "base")) == [("Executable", "server"), ("Executable", "other")]
    assert needed_by(shop, ("Executable", "other")) == []


def test_a_shutdown_goes_kind_by_kind_and_dependents_first() -> None:
    objects = [
        made("ContainerNetwork", "net"),
        made("ContainerVolume", "vol"),
        made("Endpoint", "end"),
        made("Service", "db"),
        exe("db-server", producing=("db",)),
        exe("web", env=[{"name": "DB", "value": '{{ portFor "db" }}'}]),
        made("ContainerNetworkConnection", "conn"),
        made("Container", "box", networks=[{"name": "net"}]),
        made("ContainerExec", "run", containerName="box"),
        made("ExecutableReplicaSet", "set"),
        made("ContainerNetworkTunnelProxy", "tunnel", containerNetworkName="net"),
        made("Task", "task"),
    ]
    assert names(shutdown_order(objects)) == [
        ["db", "run", "set", "task", "tunnel"],
        ["box", "web"],
        ["db-server"],
        ["conn"],
        ["net", "vol"],
        ["end"],
    ]


edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20)


@given(edges)
def test_a_circle_is_found_exactly_where_there_is_one(pairs: list[tuple[int, int]]) -> None:
    objects = [exe(f"e{one}", *(f"Executable/e{b}" for a, b in pairs if a == one)) for one in range(8)]
    reachable = {(a, b) for a, b in pairs}
    for middle in range(8):
        reachable |= {(a, c) for a in range(8) for c in range(8) if {(a, middle), (middle, c)} <= reachable}
    found = deadlocks(objects)
    assert bool(found) == any((one, one) in reachable for one in range(8))
    for circle in found:
        numbers = [int(name[1:]) for _, name in circle.keys]
        assert numbers[0] == numbers[-1]
        assert set(pairwise(numbers)) <= set(pairs)


@given(edges)
def test_the_stop_order_has_every_object_once_and_dependents_first(pairs: list[tuple[int, int]]) -> None:
    forward = [(a, b) for a, b in pairs if a < b]
    objects = [exe(f"e{one}", *(f"Executable/e{b}" for a, b in forward if a == one)) for one in range(8)]
    waves = names(stop_order(objects))
    position = {name: index for index, wave in enumerate(waves) for name in wave}
    assert sum(map(len, waves)) == len(position) == 8
    assert all(position[f"e{a}"] < position[f"e{b}"] for a, b in forward)


@given(edges)
def test_what_an_object_needs_is_all_that_it_leads_to_circles_or_not(pairs: list[tuple[int, int]]) -> None:
    objects = [exe(f"e{one}", *(f"Executable/e{b}" for a, b in pairs if a == one)) for one in range(8)]
    found, grows = {0}, True
    while grows:
        more = {b for a, b in pairs if a in found}
        grows = not more <= found
        found |= more
    assert needs(objects, ("Executable", "e0")) == {("Executable", f"e{one}") for one in found}
    for one in range(8):
        expected = {f"e{a}" for a, b in pairs if b == one and a != one}
        assert {name for _, name in needed_by(objects, ("Executable", f"e{one}"))} == expected
