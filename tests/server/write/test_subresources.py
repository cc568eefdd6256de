"""What is written through subresources, and what is left alone there."""

import pytest
from tests.server.write.api import DEFINITIONS, WIDGETS, Api, definition, widget

from setpoint.objects.tree import Json, Object

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def pod(name: str = "p") -> Object:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": name, "labels": {"app": "a"}}, "spec": {"containers": containers}}


def deployment() -> Object:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod()["spec"]}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template}}


async def test_a_binding_puts_a_pod_on_a_node_once(api: Api) -> None:
    await api("POST", PODS, pod())
    body = {"metadata": {"name": "p", "annotations": {"by": "me"}}, "target": {"kind": "Node", "name": "n"}}
    assert (await api("POST", f"{PODS}/p/binding", body)).status == 201
    bound = (await api("GET", f"{PODS}/p")).body
    assert bound["spec"]["nodeName"] == "n"
    assert bound["metadata"]["annotations"] == {"by": "me"}
    assert [found["type"] for found in bound["status"]["conditions"]] == ["PodScheduled"]
    again = await api("POST", f"{PODS}/p/binding", body)
    assert (again.status, again.body["reason"]) == (409, "Conflict")
    assert (await api("POST", f"{PODS}/nope/binding", body | {"metadata": {"name": "nope"}})).status == 404
    assert (await api("POST", f"{PODS}/nope/binding", body)).status == 400


@pytest.mark.parametrize(("allowed", "status"), [(1, 201), (0, 429)])
async def test_an_eviction_costs_the_budget_of_the_pod(api: Api, allowed: int, status: int) -> None:
    await api("POST", PODS, pod())
    await api("POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}})
    await api.merge(f"{PODS}/p/status", {"status": {"phase": "Running"}})
    selector = {"matchLabels": {"app": "a"}}
    await api("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}})
    await api.merge(f"{BUDGETS}/b/status", {"status": {"disruptionsAllowed": allowed, "observedGeneration": 1}})
    answer = await api("POST", f"{PODS}/p/eviction", {"kind": "Eviction", "metadata": {"name": "p"}})
    assert answer.status == status
    left = (await api("GET", f"{BUDGETS}/b")).body["status"]["disruptionsAllowed"]
    assert left == 0
    still = await api("GET", f"{PODS}/p")
    assert ("deletionTimestamp" in still.body["metadata"]) is (status == 201)


async def test_a_scale_changes_the_replicas_and_nothing_else(api: Api) -> None:
    await api("POST", DEPLOYMENTS, deployment())
    scale = (await api("GET", f"{DEPLOYMENTS}/d/scale")).body
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 1}, "app=a")
    scale["spec"]["replicas"] = 3
    scale["metadata"]["labels"] = {"not": "taken"}
    changed = await api("PUT", f"{DEPLOYMENTS}/d/scale", scale)
    assert (changed.status, changed.body["spec"]) == (200, {"replicas": 3})
    stale = await api("PUT", f"{DEPLOYMENTS}/d/scale", scale)
    assert (stale.status, stale.body["reason"]) == (409, "Conflict")
    stored = (await api("GET", f"{DEPLOYMENTS}/d")).body
    assert stored["spec"]["replicas"] == 3
    assert "labels" not in stored["metadata"]
    entries = {entry.get("subresource"): entry for entry in stored["metadata"]["managedFields"]}
    assert entries["scale"]["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


@pytest.mark.parametrize("body", [{"spec": {"replicas": -1}}, {"spec": {"replicas": "many"}}])
async def test_a_number_of_replicas_that_cannot_be_is_refused(api: Api, body: Json) -> None:
    await api("POST", DEPLOYMENTS, deployment())
    assert (await api.merge(f"{DEPLOYMENTS}/d/scale", body)).status == 422
    assert (await api("GET", f"{DEPLOYMENTS}/d")).body["spec"]["replicas"] == 1


async def test_the_status_of_a_custom_resource_is_written_only_through_its_own_endpoint(api: Api) -> None:
    body = definition()
    version = body["spec"]["versions"][0]
    version["subresources"] = {"status": {}}
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    await api("POST", DEFINITIONS, body)
    made = await api("POST", WIDGETS, widget() | {"status": {"phase": "sent"}})
    assert "status" not in made.body
    through = {"metadata": {"labels": {"not": "taken"}}, "spec": {"size": 9}, "status": {"phase": "ready"}}
    changed = await api.merge(f"{WIDGETS}/w/status", through)
    assert (changed.body["status"], changed.body["spec"]) == ({"phase": "ready"}, {"size": 1})
    assert "labels" not in changed.body["metadata"]
    assert changed.body["metadata"]["generation"] == 1
    main = await api.merge(f"{WIDGETS}/w", {"spec": {"size": 2}, "status": {"phase": "mine"}})
    assert (main.body["status"], main.body["metadata"]["generation"]) == ({"phase": "ready"}, 2)


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward", "proxy"])
async def test_what_needs_a_node_says_that_there_is_none(api: Api, subresource: str) -> None:
    await api("POST", PODS, pod())
    answer = await api("GET", f"{PODS}/p/{subresource}")
    assert (answer.status, answer.body["message"]) == (400, "pod p does not have a host assigned")
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert (await api("POST", f"{PODS}/p/binding", binding)).status == 201
    answer = await api("GET", f"{PODS}/p/{subresource}")
    wanted = f"the server does not connect to nodes: {subresource} of pod p is possible only on node n"
    assert (answer.status, answer.body["message"]) == (503, wanted)
    assert (await api("GET", f"{PODS}/nope/{subresource}")).status == 404


@pytest.mark.parametrize(
    ("path", "spec", "status"),
    [
        (
            "authorization.k8s.io/v1/selfsubjectaccessreviews",
            {"resourceAttributes": {"verb": "get"}},
            {"allowed": True},
        ),
        (
            "authorization.k8s.io/v1/subjectaccessreviews",
            {"user": "somebody", "resourceAttributes": {"verb": "get", "resource": "pods"}},
            {"allowed": False},
        ),
        (
            "authorization.k8s.io/v1/subjectaccessreviews",
            {"groups": ["system:masters"], "nonResourceAttributes": {"verb": "get", "path": "/x"}},
            {"allowed": True},
        ),
    ],
)
async def test_a_review_is_answered_and_not_stored(api: Api, path: str, spec: Json, status: Json) -> None:
    before = await api.store.revision()
    answer = await api("POST", f"/apis/{path}", {"spec": spec})
    assert (answer.status, answer.body["status"]) == (201, status)
    assert await api.store.revision() == before
