"""What rules of admission do with pods: accounts, priorities, tolerations, runtimes, nodes, images."""

from typing import Any

import pytest
from tests.server.quota.books import PODS, pod
from tests.server.write.api import Api, new_api

from setpoint.server.admission.plugins.event_rate_limit import EventRateLimit, RateLimit
from setpoint.server.admission.plugins.pod_node_selector import PodNodeSelector
from setpoint.server.admission.plugins.runtime_class import merge_tolerations
from setpoint.server.admission.plugins.service_account import ServiceAccount
from setpoint.server.server_options import ServerSettings

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
NODES = "/api/v1/nodes"
MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def priority_class(name: str, value: int, **rest: Any) -> Any:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **rest,
    }


# --- accounts ---


async def test_a_pod_gets_the_default_account_and_a_token_even_before_that_account_was_made(api: Api) -> None:
    spec = (await api("POST", PODS, pod("a"))).body["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount == {"name": volume["name"], "readOnly": True, "mountPath": MOUNT}


async def test_where_it_is_required_the_default_account_must_be_there() -> None:
    async with new_api(admission=[ServiceAccount(require_default=True)]) as api:
        refused = await api("POST", PODS, pod("a"))
        assert refused.body["message"] == (
            'pods "a" is forbidden: error looking up service account default/default: '
            'serviceaccount "default" not found'
        )
        await api("POST", ACCOUNTS, {"metadata": {"name": "default"}})
        assert (await api("POST", PODS, pod("a"))).status == 201


async def test_an_account_says_whether_its_token_is_mounted_and_how_images_are_pulled(api: Api) -> None:
    account = {
        "metadata": {"name": "quiet"},
        "automountServiceAccountToken": False,
        "imagePullSecrets": [{"name": "s"}],
    }
    await api("POST", ACCOUNTS, account)
    spec = (await api("POST", PODS, pod("a", serviceAccountName="quiet"))).body["spec"]
    assert "volumes" not in spec
    assert spec["imagePullSecrets"] == [{"name": "s"}]
    own = pod("b", serviceAccountName="quiet", automountServiceAccountToken=True, imagePullSecrets=[{"name": "t"}])
    spec = (await api("POST", PODS, own)).body["spec"]
    assert len(spec["volumes"]) == 1
    assert spec["imagePullSecrets"] == [{"name": "t"}]


async def test_what_a_container_mounts_there_itself_stays(api: Api) -> None:
    body = pod("a", volumes=[{"name": "own", "emptyDir": {}}])
    body["spec"]["containers"][0]["volumeMounts"] = [{"name": "own", "mountPath": MOUNT}]
    spec = (await api("POST", PODS, body)).body["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["own"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
async def test_a_mirror_pod_has_no_account_and_nothing_that_needs_one(api: Api, spec: Any, why: str) -> None:
    body = pod("a", nodeName="n", **spec)
    body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    refused = await api("POST", PODS, body)
    assert (refused.status, refused.body["message"]) == (403, f'pods "a" is forbidden: {why}')


async def test_an_account_that_lists_its_secrets_lets_pods_use_no_others(api: Api) -> None:
    metadata = {"name": "strict", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
    await api("POST", ACCOUNTS, {"metadata": metadata, "secrets": [{"name": "ok"}]})

    def using(name: str) -> Any:
        volumes = [{"name": "v", "secret": {"secretName": name}}]
        return pod("a", serviceAccountName="strict", volumes=volumes)

    refused = await api("POST", PODS, using("other"))
    assert refused.body["message"] == (
        'pods "a" is forbidden: volume with secret.secretName="other" is not allowed because service account '
        "strict does not reference that secret"
    )
    assert (await api("POST", PODS, using("ok"))).status == 201


# --- priorities ---


async def test_the_default_class_is_everybodys_and_there_is_only_one(api: Api) -> None:
    assert (await api("POST", CLASSES, priority_class("high", 9, globalDefault=True))).status == 201
    second = await api("POST", CLASSES, priority_class("low", 1, globalDefault=True))
    assert second.body["message"] == (
        'priorityclasses.scheduling.k8s.io "low" is forbidden: PriorityClass high is already marked as default. '
        "Only one default can exist"
    )
    spec = (await api("POST", PODS, pod("a"))).body["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (9, "high")
    await api("DELETE", f"{CLASSES}/high")
    spec = (await api("POST", PODS, pod("b"))).body["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in spec


async def test_the_classes_of_the_system_are_there_from_the_first_moment(api: Api) -> None:
    found = {tree["metadata"]["name"]: tree["value"] for tree in (await api("GET", CLASSES)).body["items"]}
    assert found == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


async def test_a_priority_is_kept_by_an_update_that_does_not_name_it(api: Api) -> None:
    await api("POST", CLASSES, priority_class("p", 7, preemptionPolicy="Never"))
    made = (await api("POST", PODS, pod("a", priorityClassName="p"))).body
    for name in ("priority", "preemptionPolicy"):
        del made["spec"][name]
    spec = (await api("PUT", f"{PODS}/a", made)).body["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


# --- nodes and runtimes ---


async def test_a_runtime_brings_its_overhead_its_nodes_and_its_tolerations(api: Api) -> None:
    scheduling = {
        "nodeSelector": {"r": "1"},
        "tolerations": [{"key": "r", "operator": "Exists"}],
    }
    runtime = {"metadata": {"name": "kata"}, "handler": "kata", "overhead": {"podFixed": {"cpu": "250m"}}}
    assert (await api("POST", RUNTIMES, runtime | {"scheduling": scheduling})).status == 201
    spec = (await api("POST", PODS, pod("a", runtimeClassName="kata", nodeSelector={"z": "2"}))).body["spec"]
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"r": "1", "z": "2"}
    assert {"key": "r", "operator": "Exists"} in spec["tolerations"]
    refusals: dict[str, Any] = {
        ("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"): {
            "runtimeClassName": "kata",
            "overhead": {"cpu": "1"},
        },
        "conflict: runtimeClass.scheduling.nodeSelector[r] = 1; pod.spec.nodeSelector[r] = 9": {
            "runtimeClassName": "kata",
            "nodeSelector": {"r": "9"},
        },
        'pod rejected: RuntimeClass "none" not found': {"runtimeClassName": "none"},
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead": {
            "overhead": {"cpu": "1"}
        },
    }
    for why, spec in refusals.items():
        refused = await api("POST", PODS, pod("b", **spec))
        assert refused.body["message"] == f'pods "b" is forbidden: {why}'


def test_a_toleration_that_another_includes_is_left_out() -> None:
    all_of_a = {"key": "a", "operator": "Exists"}
    some_of_a = {"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"}
    brief = {"key": "b", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    longer = brief | {"tolerationSeconds": 9}
    assert merge_tolerations([some_of_a, brief], [all_of_a, longer]) == [all_of_a, longer]
    assert merge_tolerations([all_of_a], [all_of_a]) == [all_of_a]
    assert merge_tolerations([some_of_a], [{"operator": "Exists"}]) == [{"operator": "Exists"}]


async def test_tolerations_of_the_pod_itself_count(api: Api) -> None:
    spec = (await api("POST", PODS, pod("a", tolerations=[{"operator": "Exists"}]))).body["spec"]
    assert spec["tolerations"] == [{"operator": "Exists"}]
    spec = (await api("POST", PODS, pod("b"))).body["spec"]
    assert [found["tolerationSeconds"] for found in spec["tolerations"]] == [300, 300]


async def test_a_pod_knows_the_zone_of_its_node(api: Api) -> None:
    labels = {"topology.kubernetes.io/zone": "z", "other": "x"}
    node = await api("POST", NODES, {"metadata": {"name": "n", "labels": labels}})
    assert node.body["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    made = await api("POST", PODS, pod("a", nodeName="n"))
    assert made.body["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z"}


async def test_a_resize_needs_a_linux_node_with_enough_resources(api: Api) -> None:
    strategic = "application/strategic-merge-patch+json"

    async def resized(**requests: str) -> Any:
        containers = [{"name": "c", "resources": {"requests": requests}}]
        return await api("PATCH", f"{PODS}/a/resize", {"spec": {"containers": containers}}, kind=strategic)

    await api("POST", PODS, pod("a", requests={"cpu": "100m", "memory": "64Mi"}, nodeName="n"))
    assert (await resized(cpu="200m")).body["message"] == 'pods "a" is forbidden: node "n" not found'
    await api("POST", NODES, {"metadata": {"name": "n", "labels": {"kubernetes.io/os": "windows"}}})
    refused = await resized(cpu="200m")
    assert refused.body["details"]["causes"] == [{"reason": "UnsupportedPlatform"}]
    await api.merge(f"{NODES}/n", {"metadata": {"labels": None}})
    await api.merge(f"{NODES}/n/status", {"status": {"allocatable": {"cpu": "1", "memory": "64Mi"}}})
    refused = await resized(cpu="2", memory="128Mi")
    assert refused.body["message"].endswith(
        "cpu, requested: 2000, allocatable: 1000; memory, requested: 134217728, allocatable: 67108864"
    )
    assert refused.body["details"]["causes"] == [{"reason": "NodeCapacity"}]
    assert (await resized(cpu="200m")).status == 200


# --- off by default ---


async def test_rules_that_are_off_do_nothing_until_they_are_switched_on() -> None:
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}], "externalIPs": ["203.0.113.1"]}}
    gpu = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    async def off(api: Api) -> None:
        spec = (await api("POST", PODS, pod("a", **gpu, affinity=affinity))).body["spec"]
        assert len(spec["tolerations"]) == 2
        assert (await api("POST", "/api/v1/namespaces/default/services", service)).status == 201
        assert (await api("POST", "/api/v1/namespaces/new/configmaps", {"metadata": {"name": "c"}})).status == 404

    async def on(api: Api) -> None:
        refused = await api("POST", PODS, pod("a", affinity=affinity))
        assert "has TopologyKey zone but only key kubernetes.io/hostname is allowed" in refused.body["message"]
        body = pod("a", **gpu)
        body["spec"]["containers"][0]["imagePullPolicy"] = "Never"
        spec = (await api("POST", PODS, body)).body["spec"]
        assert {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in spec["tolerations"]
        assert spec["containers"][0]["imagePullPolicy"] == "Always"
        refused = await api("POST", "/api/v1/namespaces/default/services", service)
        assert (
            refused.body["message"] == 'services "s" is forbidden: Use of external IPs is denied by admission control'
        )
        assert (await api("POST", "/api/v1/namespaces/new/configmaps", {"metadata": {"name": "c"}})).status == 201
        assert (await api("GET", "/api/v1/namespaces/new")).status == 200

    async with new_api() as api:
        await off(api)
    names = ("LimitPodHardAntiAffinityTopology", "ExtendedResourceToleration", "AlwaysPullImages")
    others = ("DenyServiceExternalIPs", "NamespaceAutoProvision", "NamespaceExists")
    async with new_api(settings=ServerSettings(enabled_plugins=(*names, *others))) as api:
        await on(api)


async def test_a_namespace_says_on_which_nodes_its_pods_run() -> None:
    async with new_api(admission=[PodNodeSelector("d=1", {"default": "d=1,e=2,f=3"})]) as api:
        assert (await api("POST", PODS, pod("a"))).body["spec"]["nodeSelector"] == {"d": "1"}
        annotation = {"scheduler.alpha.kubernetes.io/node-selector": "e=2, f=3"}
        await api.merge("/api/v1/namespaces/default", {"metadata": {"annotations": annotation}})
        assert (await api("POST", PODS, pod("b"))).body["spec"]["nodeSelector"] == {"e": "2", "f": "3"}
        refused = await api("POST", PODS, pod("c", nodeSelector={"e": "9"}))
        assert "pod node label selector conflicts with its namespace node label selector" in refused.body["message"]
        refused = await api("POST", PODS, pod("c", nodeSelector={"g": "9"}))
        assert "pod node label selector labels conflict with its namespace whitelist" in refused.body["message"]


async def test_events_come_no_faster_than_they_are_let() -> None:
    async with new_api(admission=[EventRateLimit([RateLimit("Namespace", 1, 2)])]) as api:

        async def event(name: str) -> Any:
            involved = {"kind": "Pod", "name": "p", "namespace": "default"}
            return await api(
                "POST", "/api/v1/namespaces/default/events", {"metadata": {"name": name}, "involvedObject": involved}
            )

        assert [(await event(f"e{at}")).status for at in range(3)] == [201, 201, 429]
        api.clock.advance(1.0)
        assert (await event("e3")).status == 201
        refused = await event("e4")
        assert refused.body["message"].endswith("limit reached on type Namespace for key default")
