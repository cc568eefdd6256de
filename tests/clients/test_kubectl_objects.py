"""kubectl's commands about objects: making, showing, changing, scaling, waiting, deleting."""

import json
import subprocess
import threading
import time
from pathlib import Path

import pytest
import yaml
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import config_map, deployment, pod, service
from tests.clients.serving import SECONDS, Serving

pytestmark = pytest.mark.slow


def test_create_makes_every_document_of_a_file_and_says_which_exist(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    several = [config_map("one", a="1"), deployment("web"), service("web")]
    assert kubectl("create", "-f", "-", stdin=several).splitlines() == [
        "configmap/one created",
        "deployment.apps/web created",
        "service/web created",
    ]
    assert server.get(f"/api/v1/namespaces/{namespace}/configmaps/one")["data"] == {"a": "1"}
    said = kubectl.refused("create", "-f", "-", stdin=several)
    assert 'configmaps "one" already exists' in said
    assert 'deployments.apps "web" already exists' in said


def test_create_generates_the_objects_of_its_shorthands(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=a=b")
    kubectl("create", "secret", "generic", "hidden", "--from-literal=a=b")
    kubectl("create", "deployment", "web", "--image=nginx:1")
    kubectl("create", "job", "once", "--image=busybox", "--", "true")
    if kubectl.minor > 20:  # until then it makes those of a version that is gone
        kubectl("create", "cronjob", "often", "--image=busybox", "--schedule=*/5 * * * *")
        assert server.get(f"/apis/batch/v1/namespaces/{namespace}/cronjobs/often")["spec"]["schedule"] == "*/5 * * * *"
        kubectl("create", "poddisruptionbudget", "keep", "--selector=app=web", "--min-available=1")
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "reads", "--role=reader", f"--serviceaccount={namespace}:robot")
    kubectl("create", "quota", "little", "--hard=pods=3")
    kubectl("create", "service", "clusterip", "web", "--tcp=80:8080")
    assert server.get(f"/api/v1/namespaces/{namespace}/secrets/hidden")["data"] == {"a": "Yg=="}
    [rule] = server.get(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/reader")["rules"]
    assert rule["verbs"] == ["get", "list"]


def test_get_prints_the_forms_it_is_asked_for(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin=deployment("web"))
    [head, row] = kubectl("get", "deployments").splitlines()
    assert head.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "0/2", "0", "0"]
    [head, row] = kubectl("get", "deployments", "-o", "wide").splitlines()
    assert head.split()[-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert row.split()[-3:] == ["main", "nginx:1", "app=web"]
    assert kubectl("get", "deploy/web", "-o", "name") == "deployment.apps/web\n"
    assert yaml.safe_load(kubectl("get", "deploy", "web", "-o", "yaml"))["spec"]["replicas"] == 2
    assert json.loads(kubectl("get", "deploy", "-o", "json"))["items"][0]["metadata"]["namespace"] == namespace
    assert kubectl("get", "deploy", "-o", "jsonpath={.items[*].spec.replicas}") == "2"
    assert kubectl("get", "deploy", "-o", "custom-columns=N:.metadata.name").split() == ["N", "web"]
    assert kubectl("get", "all", "-o", "name") == "deployment.apps/web\n"


def test_get_of_what_is_not_there_says_so(kubectl: Kubectl) -> None:
    assert kubectl.refused("get", "configmap", "none") == (
        'Error from server (NotFound): configmaps "none" not found\n'
    )
    assert 'the server doesn\'t have a resource type "gadgets"' in kubectl.refused("get", "gadgets")


def test_get_selects_by_labels_fields_and_namespaces(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin=[config_map("one", labels={"tier": "a"}), config_map("two")])
    assert kubectl("get", "cm", "-l", "tier in (a, b)", "-o", "name") == "configmap/one\n"
    assert kubectl("get", "cm", "-l", "!tier", "-o", "name") == "configmap/two\n"
    assert kubectl("get", "cm", "--field-selector", "metadata.name=two", "-o", "name") == "configmap/two\n"
    everywhere = kubectl("get", "cm", "-A").splitlines()
    assert everywhere[0].split()[0] == "NAMESPACE"
    assert [namespace, "one"] in [line.split()[:2] for line in everywhere]
    assert '"spec.colour" is not a known field selector' in kubectl.refused(
        "get", "cm", "--field-selector", "spec.colour=red"
    )


def test_get_reads_long_lists_in_chunks(kubectl: Kubectl) -> None:
    wanted = [f"configmap/c{number:02}" for number in range(25)]
    kubectl("create", "-f", "-", stdin=[config_map(name.partition("/")[2]) for name in wanted])
    whole = kubectl("get", "cm", "--chunk-size=4", "-o", "name").splitlines()
    assert whole == wanted
    assert len(kubectl("get", "cm", "--chunk-size=7").splitlines()) == 1 + len(wanted)


def test_get_sorts_and_shows_labels(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=[config_map("a", labels={"rank": "2"}), config_map("b", labels={"rank": "1"})])
    assert kubectl("get", "cm", "--sort-by=.metadata.labels.rank", "-o", "name").split() == [
        "configmap/b",
        "configmap/a",
    ]
    assert kubectl("get", "cm", "-L", "rank", "--no-headers").splitlines()[0].split()[-1] == "2"
    assert kubectl("get", "cm", "a", "--show-labels", "--no-headers").split()[-1] == "rank=2"


def test_get_watches(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    collection = f"/api/v1/namespaces/{namespace}/configmaps"
    server.ask("POST", collection, config_map("first"))
    with kubectl.start("get", "cm", "--watch", "--output-watch-events", "--no-headers") as watching:
        stop = threading.Timer(SECONDS, watching.kill)
        stop.start()
        try:
            assert watching.stdout is not None
            assert watching.stdout.readline().split()[:2] == ["ADDED", "first"]
            server.ask("POST", collection, config_map("second", a="1"))
            assert watching.stdout.readline().split()[:3] == ["ADDED", "second", "1"]
            server.ask("PUT", f"{collection}/second", config_map("second", a="1", b="2"))
            assert watching.stdout.readline().split()[:3] == ["MODIFIED", "second", "2"]
            server.ask("DELETE", f"{collection}/first")
            assert watching.stdout.readline().split()[:2] == ["DELETED", "first"]
        finally:
            stop.cancel()
            watching.kill()


def test_describe_reads_an_object_and_its_surroundings(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=[deployment("web"), service("web"), pod("one"), config_map("c", key="value")])
    told = kubectl("describe", "deployment", "web")
    assert "2 desired | 0 updated | 0 total | 0 available" in told
    assert "25% max unavailable, 25% max surge" in told
    assert "Selector:" in kubectl("describe", "service", "web")
    told = kubectl("describe", "pod", "one")
    assert "QoS Class:" in told
    assert "BestEffort" in told
    assert "value" in kubectl("describe", "cm/c")
    assert "Status:       Active" in kubectl("describe", "namespace", kubectl.namespace)


def test_label_and_annotate_change_metadata_and_guard_what_is_set(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    kubectl("create", "-f", "-", stdin=config_map("one"))
    assert kubectl("label", "cm", "one", "tier=a", "gone=soon") == "configmap/one labeled\n"
    assert "already has a value" in kubectl.refused("label", "cm", "one", "tier=b")
    kubectl("label", "cm", "one", "tier=b", "--overwrite")
    kubectl("label", "cm", "one", "gone-")
    assert kubectl("annotate", "cm", "one", "note=hello there").startswith("configmap/one annotate")
    metadata = server.get(f"/api/v1/namespaces/{namespace}/configmaps/one")["metadata"]
    assert metadata["labels"] == {"tier": "b"}
    assert metadata["annotations"] == {"note": "hello there"}
    assert "a valid label must be" in kubectl.refused("label", "cm", "one", "tier=no good")


def test_patch_merges_by_key_or_whole_or_by_operations(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    kubectl("create", "-f", "-", stdin=deployment("web"))
    added = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    kubectl("patch", "deploy", "web", "-p", json.dumps(added))
    containers = server.get(path)["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in containers] == ["side", "main"]
    kubectl("patch", "deploy", "web", "--type=merge", "-p", json.dumps(added))
    [container] = server.get(path)["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "side"
    operations = [
        {"op": "test", "path": "/spec/replicas", "value": 2},
        {"op": "replace", "path": "/spec/replicas", "value": 5},
    ]
    kubectl("patch", "deploy", "web", "--type=json", "-p", json.dumps(operations))
    assert server.get(path)["spec"]["replicas"] == 5
    assert "The request is invalid" in kubectl.refused(
        "patch", "deploy", "web", "--type=json", "-p", json.dumps(operations)
    )
    assert (
        kubectl("patch", "deploy", "web", "-p", '{"spec":{"replicas":5}}')
        == "deployment.apps/web patched (no change)\n"
    )


def test_edit_sends_what_the_editor_changed_and_shows_what_is_refused(
    kubectl: Kubectl, server: Serving, namespace: str, tmp_path: Path
) -> None:
    kubectl("create", "-f", "-", stdin=deployment("web"))
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    edited = kubectl("edit", "deploy", "web", KUBE_EDITOR="sed -i 's/replicas: 2/replicas: 4/'")
    assert edited == "deployment.apps/web edited\n"
    assert server.get(path)["spec"]["replicas"] == 4
    script = tmp_path / "editor"
    # The second time it is handed the refusal, it leaves the file as it is.
    script.write_text(f'#!/bin/sh\ncp "$1" "{tmp_path}/seen"\nsed -i "s/replicas: 4/replicas: -1/" "$1"\n')
    script.chmod(0o755)
    done = kubectl.run("edit", "deploy", "web", KUBE_EDITOR=str(script))
    assert done.returncode != 0
    assert "spec.replicas: Invalid value: -1" in (tmp_path / "seen").read_text()
    assert server.get(path)["spec"]["replicas"] == 4


def test_scale_goes_through_the_scale_of_a_resource(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin=deployment("web"))
    assert kubectl("scale", "deploy", "web", "--replicas=7", "--current-replicas=2") == "deployment.apps/web scaled\n"
    assert server.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web/scale")["spec"] == {"replicas": 7}
    assert "Expected replicas to be 2, was 7" in kubectl.refused(
        "scale", "deploy", "web", "--replicas=1", "--current-replicas=2"
    )
    assert kubectl("autoscale", "deploy", "web", "--max=9").endswith("autoscaled\n")
    [autoscaler] = server.get(f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers")["items"]
    assert autoscaler["spec"]["maxReplicas"] == 9


def test_set_changes_what_containers_run(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin=deployment("web"))
    assert kubectl("set", "image", "deploy/web", "main=nginx:2") == "deployment.apps/web image updated\n"
    kubectl("set", "env", "deploy/web", "COLOUR=red")
    kubectl("set", "resources", "deploy/web", "--limits=cpu=200m,memory=64Mi")
    [container] = server.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/web")["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["image"] == "nginx:2"
    assert container["env"] == [{"name": "COLOUR", "value": "red"}]
    assert container["resources"] == {"limits": {"cpu": "200m", "memory": "64Mi"}}


def test_replace_writes_the_whole_object(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps/one"
    kubectl("create", "-f", "-", stdin=config_map("one", a="1", b="2"))
    before = server.get(path)
    assert kubectl("replace", "-f", "-", stdin=config_map("one", a="3")) == "configmap/one replaced\n"
    assert server.get(path)["data"] == {"a": "3"}
    assert "the object has been modified" in kubectl.refused("replace", "-f", "-", stdin=before)
    forced = kubectl("replace", "--force", "-f", "-", stdin=config_map("one", a="4")).splitlines()
    assert forced[0].startswith('configmap "one" deleted')
    assert forced[1:] == ["configmap/one replaced"]
    after = server.get(path)
    assert after["data"] == {"a": "4"}
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def test_wait_ends_when_a_condition_holds_or_the_object_is_gone(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    kubectl("create", "-f", "-", stdin=deployment("web"))
    assert "timed out waiting" in kubectl.refused("wait", "deploy/web", "--for=condition=Available", "--timeout=0.2s")
    with kubectl.start("wait", "deploy/web", "--for=condition=Available", "--timeout=20s") as waiting:
        found = server.get(path)
        found["status"] = {
            "conditions": [
                {"type": "Available", "status": "True", "reason": "Ready", "message": "", "lastUpdateTime": None}
            ]
        }
        server.ask("PUT", f"{path}/status", found)
        assert waiting.communicate(timeout=SECONDS)[0] == "deployment.apps/web condition met\n"
    with kubectl.start("wait", "deploy/web", "--for=delete", "--timeout=20s") as waiting:
        server.ask("DELETE", path)
        # An old one that finds nothing to wait for takes that for a mistake.
        assert waiting.wait(SECONDS) == 0 or kubectl.minor < 24


def test_rollout_follows_the_status_of_a_deployment(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    kubectl("create", "-f", "-", stdin=deployment("web"))
    with kubectl.start("rollout", "status", "deploy/web", "--timeout=20s") as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "Waiting for deployment spec update to be observed...\n"
        found = server.get(path)
        counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2)
        found["status"] = {"observedGeneration": 1, **counts}
        server.ask("PUT", f"{path}/status", found)
        assert 'deployment "web" successfully rolled out' in waiting.communicate(timeout=SECONDS)[0]
    assert kubectl("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"
    assert "kubectl.kubernetes.io/restartedAt" in server.get(path)["spec"]["template"]["metadata"]["annotations"]
    kubectl("rollout", "pause", "deploy/web")
    assert server.get(path)["spec"]["paused"] is True
    kubectl("rollout", "resume", "deploy/web")
    assert "paused" not in server.get(path)["spec"]
    assert "No rollout history found" in kubectl("rollout", "history", "deploy/web")


@pytest.mark.parametrize(
    ("cascade", "finalizers"), [("background", None), ("orphan", ["orphan"]), ("foreground", ["foregroundDeletion"])]
)
def test_delete_leaves_the_dependents_to_who_collects_them(
    kubectl: Kubectl, server: Serving, namespace: str, cascade: str, finalizers: list[str] | None
) -> None:
    kubectl("create", "-f", "-", stdin=deployment("web"))
    assert kubectl("delete", "deploy", "web", f"--cascade={cascade}", "--wait=false").startswith(
        'deployment.apps "web" deleted'
    )
    left = server.get(f"/apis/apps/v1/namespaces/{namespace}/deployments")["items"]
    assert [each["metadata"]["finalizers"] for each in left] == ([finalizers] if finalizers else [])


def test_delete_waits_for_finalizers(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["setpoint.example/hold"]
    kubectl("create", "-f", "-", stdin=held)
    path = f"/api/v1/namespaces/{namespace}/configmaps/held"
    with kubectl.start("delete", "cm", "held") as deleting:
        deadline = time.monotonic() + SECONDS
        while "deletionTimestamp" not in server.get(path)["metadata"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(subprocess.TimeoutExpired):
            deleting.wait(0.7)
        kubectl("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        assert deleting.wait(SECONDS) == 0
    assert server.names(f"/api/v1/namespaces/{namespace}/configmaps") == []


def test_delete_takes_many_at_once(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    collection = f"/api/v1/namespaces/{namespace}/configmaps"
    kubectl("create", "-f", "-", stdin=[config_map(name, labels={"odd": str(name in "ac")}) for name in "abcd"])
    kubectl("delete", "cm", "-l", "odd=True")
    assert server.names(collection) == ["b", "d"]
    kubectl("delete", "cm", "--all")
    assert server.names(collection) == []
    assert 'configmaps "a" not found' in kubectl.refused("delete", "cm", "a")
    assert kubectl("delete", "cm", "a", "--ignore-not-found") == ""


def test_a_pod_that_no_node_runs_is_deleted_at_once(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("run", "one", "--image=nginx:1", "--restart=Never")
    assert kubectl("get", "pod", "one", "--no-headers").split()[:4] == ["one", "0/1", "Pending", "0"]
    kubectl("delete", "pod", "one", "--timeout=10s")
    assert server.names(f"/api/v1/namespaces/{namespace}/pods") == []


def test_a_dry_run_changes_nothing(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    shown = kubectl("create", "-f", "-", "--dry-run=server", "-o", "yaml", stdin=deployment("web"))
    assert yaml.safe_load(shown)["spec"]["progressDeadlineSeconds"] == 600
    assert server.names(f"/apis/apps/v1/namespaces/{namespace}/deployments") == []
