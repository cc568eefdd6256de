"""Bindings and evictions of pods: what they write, and the requests that they refuse."""

from typing import Any

import pytest
from tests.server.write.api import Answer, Api

from setpoint.objects.tree import Object

PODS = "/api/v1/namespaces/default/pods"
BINDINGS = "/api/v1/namespaces/default/bindings"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


async def made(api: Api, *, phase: str = "", node: str = "n", **spec: Any) -> Object:
    body = {
        "metadata": {"name": "p", "labels": {"app": "a"}, "finalizers": ["example.com/hold"]},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }
    assert (await api("POST", PODS, body)).status == 201
    if phase:
        assert (await bind(api, node)).status == 201
        assert (await api.merge(f"{PODS}/p/status", {"status": {"phase": phase}})).status == 200
    return await read(api)


async def read(api: Api) -> Object:
    found: Object = (await api("GET", f"{PODS}/p")).body
    return found


async def bind(api: Api, node: Any = "n", query: str = "", **metadata: Any) -> Answer:
    body = {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": node}}
    return await api("POST", f"{PODS}/p/binding", body, query=query)


async def evict(api: Api, query: str = "", **more: Any) -> Answer:
    return await api("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}, **more}, query=query)


# Bindings


async def test_a_binding_adds_its_marks_and_says_when(api: Api) -> None:
    await made(api)
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"nominatedNodeName": "old", "conditions": [unscheduled, {"type": "Other", "status": "True"}]}
    await api.merge(f"{PODS}/p/status", {"status": status})
    answer = await bind(api, labels={"zone": "x"}, annotations={"by": "me"})
    assert (answer.status, answer.body["status"], answer.body["code"]) == (201, "Success", 201)
    pod = await read(api)
    assert pod["metadata"]["labels"] == {"app": "a", "zone": "x"}
    assert pod["metadata"]["annotations"] == {"by": "me"}
    assert "nominatedNodeName" not in pod["status"]
    assert {each["type"]: each["status"] for each in pod["status"]["conditions"]} == {
        "PodScheduled": "True",
        "Other": "True",
    }
    scheduled = next(each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
    assert scheduled == {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }


async def test_a_binding_of_the_collection_names_its_pod(api: Api) -> None:
    pod = await made(api)
    body: Object = {"metadata": {"name": "p", "uid": "ignored"}, "target": {"name": "n"}}
    assert (await api("POST", BINDINGS, body)).status == 201
    assert (await read(api))["spec"]["nodeName"] == "n"
    assert pod["metadata"]["uid"] != "ignored"
    for name, words in (("", "Name parameter required."), ("a/b", 'Name parameter invalid: "a/b"')):
        refused = await api("POST", BINDINGS, {**body, "metadata": {"name": name}})
        assert (refused.status, words in refused.body["message"]) == (400, True), refused.body


@pytest.mark.parametrize(
    ("target", "status", "words"),
    [
        ({"kind": "Pod", "name": "n"}, 400, "name the node"),
        ({"kind": "Node"}, 400, "name the node"),
        ({"kind": "Node", "name": ""}, 400, "name the node"),
        ({"kind": "Node", "name": "No Node"}, 422, 'target.name: Invalid value: "No Node"'),
    ],
)
async def test_a_binding_to_no_node_is_refused(api: Api, target: Any, status: int, words: str) -> None:
    await made(api)
    refused = await api("POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": target})
    assert (refused.status, words in refused.body["message"]) == (status, True), refused.body
    assert "nodeName" not in (await read(api))["spec"]


async def test_a_binding_is_conditional_on_the_uid_and_the_version(api: Api) -> None:
    metadata = (await made(api))["metadata"]
    for precondition, field in (({"uid": "another"}, "UID"), ({"resourceVersion": "1"}, "ResourceVersion")):
        for query in ("", "dryRun=All"):
            refused = await bind(api, query=query, **precondition)
            assert (refused.status, f"Precondition failed: {field}" in refused.body["message"]) == (409, True)
    exact = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert (await bind(api, query="dryRun=All", **exact)).status == 201
    assert "nodeName" not in (await read(api))["spec"]
    assert (await bind(api, **exact)).status == 201


@pytest.mark.parametrize(
    ("spec", "is_deleted", "words"),
    [
        ({}, True, "pod p is being deleted, cannot be assigned to a host"),
        ({"schedulingGates": [{"name": "example.com/wait"}]}, False, "pod p has non-empty .spec.schedulingGates"),
    ],
)
async def test_a_pod_that_cannot_run_is_not_bound(api: Api, spec: Any, is_deleted: bool, words: str) -> None:
    await made(api, **spec)
    if is_deleted:
        await api("DELETE", f"{PODS}/p")
    refused = await bind(api)
    assert (refused.status, words in refused.body["message"]) == (409, True), refused.body


async def test_a_bound_pod_keeps_its_node(api: Api) -> None:
    await made(api, phase="Running")
    refused = await bind(api, "other")
    assert 'pod p is already assigned to node "n"' in refused.body["message"]
    assert (await read(api))["spec"]["nodeName"] == "n"


# Evictions


async def budget(api: Api, name: str = "b", allowed: int = 1, **selector: Any) -> None:
    spec = {"minAvailable": 1, "selector": selector or {"matchLabels": {"app": "a"}}}
    assert (await api("POST", BUDGETS, {"metadata": {"name": name}, "spec": spec})).status == 201
    status = {"disruptionsAllowed": allowed, "desiredHealthy": 2, "currentHealthy": 1, "observedGeneration": 1}
    assert (await api.merge(f"{BUDGETS}/{name}/status", {"status": status})).status == 200


async def allowed(api: Api, name: str = "b") -> int:
    left: int = (await api("GET", f"{BUDGETS}/{name}")).body["status"].get("disruptionsAllowed", 0)
    return left


async def test_an_eviction_marks_the_pod_for_its_owner(api: Api) -> None:
    await made(api, phase="Running")
    answer = await evict(api)
    assert (answer.status, answer.body["status"]) == (201, "Success")
    pod = await read(api)
    mark = next(each for each in pod["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert mark == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": None,
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
    assert "deletionTimestamp" in pod["metadata"]
    version = pod["metadata"]["resourceVersion"]
    assert (await evict(api)).status == 201
    again = await read(api)
    assert len(again["status"]["conditions"]) == len(pod["status"]["conditions"])
    assert again["metadata"]["resourceVersion"] == version, "a second eviction changes nothing"


async def test_an_eviction_in_a_dry_run_costs_nothing(api: Api) -> None:
    await made(api, phase="Running")
    await budget(api)
    for query, more in (("dryRun=All", {}), ("", {"deleteOptions": {"dryRun": ["All"]}})):
        assert (await evict(api, query, **more)).status == 201
        pod = await read(api)
        assert "deletionTimestamp" not in pod["metadata"]
        assert "DisruptionTarget" not in {each["type"] for each in pod["status"]["conditions"]}
        assert await allowed(api) == 1
    assert (await evict(api)).status == 201
    assert await allowed(api) == 0


@pytest.mark.parametrize(("phase", "left"), [("Running", 1), ("Pending", 2), ("Succeeded", 2), ("Failed", 2)])
async def test_only_a_running_pod_costs_the_budget(api: Api, phase: str, left: int) -> None:
    await made(api, phase=phase)
    await budget(api, allowed=2)
    assert (await evict(api)).status == 201
    assert await allowed(api) == left
    assert (await evict(api)).status == 201
    assert await allowed(api) == left, "a pod that is being deleted costs nothing"


async def test_an_exhausted_budget_is_explained(api: Api) -> None:
    await made(api, phase="Running")
    await budget(api, allowed=0)
    refused = await evict(api)
    assert refused.status == 429
    assert refused.body["message"].startswith("Cannot evict pod as it would violate the pod's disruption budget.")
    [cause] = refused.body["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget b needs 2 healthy pods and has 1 currently"
    assert "deletionTimestamp" not in (await read(api))["metadata"]


async def test_budgets_of_other_pods_do_not_count_and_two_of_one_are_refused(api: Api) -> None:
    await made(api, phase="Running")
    await budget(api, "other", 0, matchLabels={"app": "other"})
    await budget(api, "first")
    await budget(api, "second")
    refused = await evict(api)
    assert (refused.status, "more than one PodDisruptionBudget" in refused.body["message"]) == (500, True)
    await api("DELETE", f"{BUDGETS}/second")
    assert (await evict(api)).status == 201
    assert (await allowed(api, "first"), await allowed(api, "other")) == (0, 0)


async def test_an_eviction_is_conditional(api: Api) -> None:
    metadata = (await made(api, phase="Running"))["metadata"]
    for wrong in ({"uid": "another"}, {"resourceVersion": "1"}):
        assert (await evict(api, deleteOptions={"preconditions": wrong})).status == 409
    assert "deletionTimestamp" not in (await read(api))["metadata"]
    exact = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    assert (await evict(api, deleteOptions={"preconditions": exact})).status == 201
    refused = await evict(api, metadata={"name": "other"})
    assert (refused.status, refused.body["message"]) == (400, "name in URL does not match name in Eviction object")


async def test_an_eviction_of_the_beta_version_is_accepted(api: Api) -> None:
    await made(api, phase="Running")
    assert (await evict(api, apiVersion="policy/v1beta1", kind="Eviction")).status == 201
