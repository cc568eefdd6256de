"""The work of the components, in steps. A step fails with AssertionError or `Refused`.

The steps only ask for results that kube-controller-manager and kube-scheduler produce: the server itself stores.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.oracle.components import access_steps, storage_steps
from tests.oracle.components.api import Api
from tests.oracle.components.manifests import job, named, node, pod_spec, template, workload

CORE, APPS, BATCH = "/api/v1", "/apis/apps/v1", "/apis/batch/v1"
HERE = f"{CORE}/namespaces/default"
DEPLOYMENTS, SETS = f"{APPS}/namespaces/default/deployments", f"{APPS}/namespaces/default/replicasets"
JOBS, CRON_JOBS = f"{BATCH}/namespaces/default/jobs", f"{BATCH}/namespaces/default/cronjobs"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
REVISION = "deployment.kubernetes.io/revision"


def nodes_become_ready(api: Api) -> None:
    """Three nodes report, and the node controller removes the taint of new nodes."""
    for name in ("node-a", "node-b", "node-c"):
        api.create(f"{CORE}/nodes", node(name))

    def usable() -> bool:
        found = api.items(f"{CORE}/nodes")
        return len(found) == 3 and all(
            not each["spec"].get("taints") and _condition(each, "Ready") == "True" for each in found
        )

    api.until("three nodes are ready and have no taints", usable)


def a_cron_job_begins(api: Api) -> None:
    """A job of every minute, whose run the last step expects."""
    body = {"schedule": "* * * * *", "jobTemplate": {"spec": job("tick")["spec"]}}
    api.create(CRON_JOBS, named("tick", body))


def components_lead(api: Api) -> None:
    """Both components hold their leases."""
    for name in ("kube-controller-manager", "kube-scheduler"):
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}"
        assert api.get(path)["spec"]["holderIdentity"], f"{path} has no holder"


def a_deployment_rolls_forward_and_back(api: Api) -> None:
    """A rollout, a second revision, and a rollback to the template of the first."""
    api.create(DEPLOYMENTS, workload("web", 3))
    _rolled_out(api, "web", 3, "1")
    _set_image(api, "example.com/two")
    _rolled_out(api, "web", 3, "2")
    _set_image(api, "example.com/one")
    _rolled_out(api, "web", 3, "3")
    found = {
        each["metadata"]["annotations"][REVISION]: each["spec"]["replicas"] for each in _selected(api, SETS, "web")
    }
    assert found == {"2": 0, "3": 3}, f"replicas of the replica sets by revision: {found}"
    images = {each["spec"]["containers"][0]["image"] for each in _running(api, "web")}
    assert images == {"example.com/one"}


def a_service_has_endpoints(api: Api) -> None:
    """Endpoints and EndpointSlices follow the pods of a Service."""
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    api.create(f"{HERE}/services", named("web", {"selector": {"app": "web"}, "ports": ports}))
    for replicas in (3, 1):
        api.merge(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": replicas}})
        api.until(f"the endpoints of {replicas} pods", partial(_has_addresses, api, replicas))


def own_endpoints_are_mirrored(api: Api) -> None:
    """Endpoints of a Service without a selector become EndpointSlices."""
    api.create(f"{HERE}/services", named("outside", {"ports": [{"port": 80}]}))
    subsets = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]
    api.create(f"{HERE}/endpoints", named("outside") | {"subsets": subsets})
    query = f"{SLICES}?labelSelector=kubernetes.io/service-name%3Doutside"
    [found] = api.until("a mirrored slice", lambda: api.items(query))
    assert found["endpoints"][0]["addresses"] == ["192.0.2.1"]


def a_job_finishes(api: Api) -> None:
    """A job of three runs, two at once; and a job that is deleted as soon as the job has finished."""
    api.create(JOBS, job("sum", completions=3, parallelism=2))
    api.create(JOBS, job("brief", ttlSecondsAfterFinished=0))
    found = api.until("three runs", lambda: _finished(api.get(f"{JOBS}/sum")))
    assert found["status"]["succeeded"] == 3
    api.until_gone(f"{JOBS}/brief")


def an_indexed_job_has_indexes(api: Api) -> None:
    """Each run of an indexed job has an index of its own."""
    api.create(JOBS, job("indexed", completions=3, parallelism=3, completionMode="Indexed"))
    found = api.until("all indexes are complete", lambda: _finished(api.get(f"{JOBS}/indexed")))
    assert found["status"]["completedIndexes"] == "0-2"


def a_stateful_set_is_ordered(api: Api) -> None:
    """The pods of a StatefulSet have ordinals, and the last one is deleted first."""
    path = f"{APPS}/namespaces/default/statefulsets"
    api.create(path, workload("db", 3, serviceName="db"))
    api.until("three ordinals", lambda: api.get(f"{path}/db")["status"].get("readyReplicas") == 3)
    api.merge(f"{path}/db/scale", {"spec": {"replicas": 2}})
    api.until(
        "the first two ordinals are left",
        lambda: {each["metadata"]["name"] for each in _running(api, "db")} == {"db-0", "db-1"},
    )


def a_daemon_set_has_a_pod_on_each_node(api: Api) -> None:
    """Every node has one pod."""
    path = f"{APPS}/namespaces/default/daemonsets"
    api.create(path, workload("agent"))
    api.until("three pods are ready", lambda: api.get(f"{path}/agent").get("status", {}).get("numberReady") == 3)
    assert {each["spec"]["nodeName"] for each in _running(api, "agent")} == {"node-a", "node-b", "node-c"}
    api.delete(f"{path}/agent")
    api.until("the pods are deleted", lambda: not _selected(api, f"{HERE}/pods", "agent"))


def a_replication_controller_replaces_a_pod(api: Api) -> None:
    """A deleted pod comes back under another name."""
    body = {"replicas": 1, "selector": {"app": "old"}, "template": template("old")}
    api.create(f"{HERE}/replicationcontrollers", named("old", body))
    [first] = api.until("one pod", lambda: _running(api, "old"))
    api.delete(f"{HERE}/pods/{first['metadata']['name']}")
    api.until(
        "another pod",
        lambda: [each for each in _running(api, "old") if each["metadata"]["uid"] != first["metadata"]["uid"]],
    )


def a_budget_refuses_an_eviction(api: Api) -> None:
    """The disruption controller counts the pods of a budget, and an eviction beyond the budget gets 429."""
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    api.create(path, named("db", {"minAvailable": 2, "selector": {"matchLabels": {"app": "db"}}}))
    api.until("two healthy pods", lambda: api.get(f"{path}/db").get("status", {}).get("currentHealthy") == 2)
    eviction = named("db-0") | {"apiVersion": "policy/v1", "kind": "Eviction"}
    assert api.refusal("POST", f"{HERE}/pods/db-0/eviction", eviction) == 429


def a_quota_counts(api: Api) -> None:
    """The quota controller counts the objects that a namespace has already."""
    api.create(f"{CORE}/namespaces", named("counted"))
    there = f"{CORE}/namespaces/counted"
    for name in ("one", "two"):
        api.create(f"{there}/configmaps", named(name))
    api.until("the published authority", lambda: api.exists(f"{there}/configmaps/kube-root-ca.crt"))
    api.create(f"{there}/resourcequotas", named("most", {"hard": {"configmaps": "3", "pods": "4"}}))
    path = f"{there}/resourcequotas/most"
    expected = {"configmaps": "3", "pods": "0"}
    api.until("the quota is used", lambda: api.get(path).get("status", {}).get("used") == expected)


def a_pod_is_preempted(api: Api) -> None:
    """A pod of a higher priority takes the place of a pod of a lower priority."""
    api.create(f"{CORE}/nodes", node("node-d", pool="scarce"))
    for name, value in (("low", 10), ("high", 1000)):
        api.create("/apis/scheduling.k8s.io/v1/priorityclasses", named(name) | {"value": value})
    place: dict[str, Any] = {"cpu": "3", "nodeSelector": {"pool": "scarce"}}
    api.create(f"{HERE}/pods", named("modest", pod_spec(priorityClassName="low", **place)))
    api.until("the first pod runs", lambda: api.get(f"{HERE}/pods/modest")["status"].get("phase") == "Running")
    api.create(f"{HERE}/pods", named("urgent", pod_spec(priorityClassName="high", **place)))
    found = api.until(
        "the urgent pod runs",
        lambda: (pod := api.get(f"{HERE}/pods/urgent"))["status"].get("phase") == "Running" and pod,
    )
    assert found["spec"]["nodeName"] == "node-d"
    assert not api.exists(f"{HERE}/pods/modest"), "the pod of the lower priority is still there"
    events = api.items(f"{HERE}/events?fieldSelector=involvedObject.name%3Dmodest,reason%3DPreempted")
    assert len(events) == 1, f"{len(events)} events report the preemption"


def a_taint_evicts_pods(api: Api) -> None:
    """A taint with NoExecute deletes the pods of a node."""
    taint = {"key": "example.com/repair", "effect": "NoExecute"}
    api.merge(f"{CORE}/nodes/node-d", {"spec": {"taints": [taint]}})
    api.until_gone(f"{HERE}/pods/urgent")


def dependents_are_collected(api: Api) -> None:
    """Deletion in the foreground, in the background, and without the dependents."""
    for app in ("ahead", "behind", "left"):
        api.create(DEPLOYMENTS, workload(app, 1))
    for app in ("ahead", "behind", "left"):
        _rolled_out(api, app, 1, "1")
    api.delete(f"{DEPLOYMENTS}/ahead", "Foreground")
    api.delete(f"{DEPLOYMENTS}/behind", "Background")
    api.delete(f"{DEPLOYMENTS}/left", "Orphan")
    for app in ("ahead", "behind", "left"):
        api.until_gone(f"{DEPLOYMENTS}/{app}")
    assert not _selected(api, SETS, "ahead"), "deletion in the foreground ends after that of the dependents"
    for app in ("ahead", "behind"):
        for path in (SETS, f"{HERE}/pods"):
            api.until(f"{path} of {app} are deleted", partial(_has_none, api, path, app))
    [orphan] = _selected(api, SETS, "left")
    assert "ownerReferences" not in orphan["metadata"]
    assert len(_running(api, "left")) == 1
    api.delete(f"{SETS}/{orphan['metadata']['name']}")


def custom_objects_own_and_are_owned(api: Api) -> None:
    """The garbage collector follows custom resources, whose definition is created while the collector runs."""
    definition = named("boxes.components.example.com") | {
        "spec": {
            "group": "components.example.com",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        }
    }
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    path = "/apis/components.example.com/v1/namespaces/default/boxes"
    api.until("boxes are served", lambda: api.exists(path))
    kind = {"apiVersion": "components.example.com/v1", "kind": "Box"}
    owner = api.create(path, named("outer") | kind)
    reference = [{**kind, "name": "outer", "uid": owner["metadata"]["uid"]}]
    api.create(path, named("inner", ownerReferences=reference) | kind)
    api.create(f"{HERE}/configmaps", named("content", ownerReferences=reference))
    api.delete(f"{path}/outer")
    for gone in (f"{path}/inner", f"{HERE}/configmaps/content"):
        api.until_gone(gone)


def a_namespace_goes_with_its_contents(api: Api) -> None:
    """The namespace controller deletes all contents, and waits for finalizers."""
    api.create(f"{CORE}/namespaces", named("leaving"))
    there = f"{CORE}/namespaces/leaving"
    api.until("its account", lambda: api.exists(f"{there}/serviceaccounts/default"))
    api.create(f"{APPS}/namespaces/leaving/deployments", workload("web", 2))
    api.create(f"{there}/secrets", named("key"))
    api.create(f"{there}/configmaps", named("kept", finalizers=["example.com/keep"]))
    api.create(
        "/apis/components.example.com/v1/namespaces/leaving/boxes",
        named("box") | {"apiVersion": "components.example.com/v1", "kind": "Box"},
    )
    # An event that the scheduler sends during the deletion is rejected by every server.
    events = "/apis/events.k8s.io/v1/namespaces/leaving/events?fieldSelector=reason%3DScheduled"
    api.until("two scheduled pods", lambda: len(api.items(events)) == 2)
    api.delete(there)
    api.until(
        "a finalizer remains",
        lambda: _condition(api.get(there), "NamespaceFinalizersRemaining") == "True" and not api.items(f"{there}/pods"),
    )
    api.merge(f"{there}/configmaps/kept", {"metadata": {"finalizers": None}})
    api.until_gone(there)


def the_cron_job_has_run(api: Api) -> None:
    """The job of every minute has run since the first step."""
    api.until("a run of the cron job", lambda: api.get(f"{CRON_JOBS}/tick").get("status", {}).get("lastSuccessfulTime"))
    api.delete(f"{CRON_JOBS}/tick")


STEPS: tuple[Callable[[Api], None], ...] = (
    nodes_become_ready,
    a_cron_job_begins,
    components_lead,
    a_deployment_rolls_forward_and_back,
    a_service_has_endpoints,
    own_endpoints_are_mirrored,
    a_job_finishes,
    an_indexed_job_has_indexes,
    a_stateful_set_is_ordered,
    a_daemon_set_has_a_pod_on_each_node,
    a_replication_controller_replaces_a_pod,
    a_budget_refuses_an_eviction,
    a_quota_counts,
    a_pod_is_preempted,
    a_taint_evicts_pods,
    dependents_are_collected,
    custom_objects_own_and_are_owned,
    a_namespace_goes_with_its_contents,
    *storage_steps.STEPS,
    *access_steps.STEPS,
    the_cron_job_has_run,
)


def _condition(found: Any, kind: str) -> str:
    conditions = found.get("status", {}).get("conditions") or []
    return next((str(each["status"]) for each in conditions if each["type"] == kind), "")


def _finished(found: Any) -> Any:
    return found if _condition(found, "Complete") == "True" else None


def _selected(api: Api, path: str, app: str) -> list[Any]:
    return api.items(f"{path}?labelSelector=app%3D{app}")


def _running(api: Api, app: str) -> list[Any]:
    return [
        each
        for each in _selected(api, f"{HERE}/pods", app)
        if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
    ]


def _set_image(api: Api, image: str) -> None:
    body = {"spec": {"template": template("web", image=image)}}
    api.merge(f"{DEPLOYMENTS}/web", body)


def _rolled_out(api: Api, name: str, replicas: int, revision: str) -> None:
    """Waits as `kubectl rollout status` does."""

    def done() -> bool:
        found = api.get(f"{DEPLOYMENTS}/{name}")
        status = found.get("status", {})
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and found["metadata"]["annotations"].get(REVISION) == revision
            and [status.get(field) for field in ("replicas", "updatedReplicas", "availableReplicas")] == [replicas] * 3
        )

    api.until(f"{name} has {replicas} pods of revision {revision}", done)


def _has_none(api: Api, path: str, app: str) -> bool:
    return not _selected(api, path, app)


def _has_addresses(api: Api, count: int) -> bool:
    """True if the service has this number of addresses in Endpoints, and in EndpointSlices."""
    slices = api.items(f"{SLICES}?labelSelector=kubernetes.io/service-name%3Dweb")
    if not slices or not api.exists(f"{HERE}/endpoints/web"):
        return False
    subsets = api.get(f"{HERE}/endpoints/web").get("subsets") or []
    legacy = sum(len(each.get("addresses") or []) for each in subsets)
    return legacy == sum(len(each.get("endpoints") or []) for each in slices) == count
