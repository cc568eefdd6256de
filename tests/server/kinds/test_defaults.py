"""What the rules fill in where a body says nothing, beyond what recordings of a real server show."""

from typing import Any

import pytest
from tests.server.kinds import judged

from setpoint.objects.tree import Object
from setpoint.server.registry.kinds.printers.cells import lookup


def stored(table: str, name: str, sets: dict[str, Any] | None = None) -> Object:
    return judged.created(judged.changed(judged.TABLES[table].objects[name], sets or {}, []))


def test_a_webhook_asks_about_everything_and_fails_closed_within_ten_seconds() -> None:
    (hook,) = stored("cluster", "Webhooks")["webhooks"]
    expected = {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
    }
    assert expected.items() <= hook.items()
    assert hook["rules"][0]["scope"] == "*"
    assert hook["clientConfig"]["service"]["port"] == 443
    assert "reinvocationPolicy" not in hook
    assert stored("cluster", "MutatingWebhooks")["webhooks"][0]["reinvocationPolicy"] == "Never"


def test_a_policy_fails_closed_and_matches_other_versions() -> None:
    spec = stored("cluster", "Policy")["spec"]
    assert spec["failurePolicy"] == "Fail"
    match = spec["matchConstraints"]
    assert (match["matchPolicy"], match["namespaceSelector"], match["objectSelector"]) == ("Equivalent", {}, {})
    assert match["resourceRules"][0]["scope"] == "*"


def test_behaviour_that_is_given_in_part_is_completed() -> None:
    behavior = stored("workloads", "Autoscaler")["spec"]["behavior"]
    up = [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]
    assert behavior["scaleUp"] == {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": up}
    down = [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    assert behavior["scaleDown"] == {"selectPolicy": "Max", "policies": down}


def test_queues_and_shares_have_the_usual_sizes() -> None:
    limited = stored("cluster", "PriorityLevel")["spec"]["limited"]
    assert (limited["nominalConcurrencyShares"], limited["lendablePercent"]) == (30, 0)
    assert limited["limitResponse"]["queuing"] == {"handSize": 8, "queues": 64, "queueLengthLimit": 50}
    assert stored("cluster", "FlowSchema")["spec"]["matchingPrecedence"] == 1000


def test_a_driver_attaches_its_volumes_and_lasts() -> None:
    spec = stored("cluster", "CSIDriver")["spec"]
    assert (spec["attachRequired"], spec["podInfoOnMount"], spec["storageCapacity"]) == (True, False, False)
    assert (spec["fsGroupPolicy"], spec["volumeLifecycleModes"]) == ("ReadWriteOnceWithFSType", ["Persistent"])


@pytest.mark.parametrize(
    ("egress", "types"), [([], ["Ingress"]), ([{}], ["Ingress", "Egress"])], ids=["only ingress", "egress too"]
)
def test_a_network_policy_is_about_what_it_has_rules_for(egress: list[Object], types: list[str]) -> None:
    assert stored("networking", "NetworkPolicy", {"spec.egress": egress})["spec"]["policyTypes"] == types


def test_a_request_for_devices_asks_for_exactly_one() -> None:
    (request,) = stored("cluster", "ResourceClaim")["spec"]["devices"]["requests"]
    assert request["exactly"] == {"allocationMode": "ExactCount", "count": 1, "deviceClassName": "gpu"}


def test_a_local_api_service_is_available_and_a_remote_one_has_a_port() -> None:
    assert lookup(stored("cluster", "APIService"), "spec", "service", "port") == 443
    body = judged.changed(judged.TABLES["cluster"].objects["APIService"], {}, ["spec.service"])
    (condition,) = judged.created(body)["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")


def test_a_job_selects_its_own_pods_and_is_labelled_like_them() -> None:
    job = stored("workloads", "Job")
    labels = {
        "controller-uid": judged.UID,
        "batch.kubernetes.io/controller-uid": judged.UID,
        "job-name": "once",
        "batch.kubernetes.io/job-name": "once",
    }
    assert job["metadata"]["labels"] == labels == job["spec"]["template"]["metadata"]["labels"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": judged.UID}}


def test_a_suspended_job_that_never_ran_may_move_and_change_its_resources() -> None:
    before = stored("workloads", "Job", {"spec.suspend": True})
    moved = judged.changed(
        before,
        {
            "spec.template.spec.nodeSelector": {"disk": "fast"},
            "spec.template.spec.affinity": {"nodeAffinity": {}},
            "spec.template.spec.containers.0.resources": {"requests": {"cpu": "2"}},
        },
        [],
    )
    assert judged.errors_of_update(moved, before) == []
    other_image = judged.changed(before, {"spec.template.spec.containers.0.image": "nginx:2"}, [])
    (error,) = judged.errors_of_update(other_image, before)
    assert error.startswith("spec.template.spec: Invalid value: ")
    running = judged.changed(before, {"spec.suspend": False}, [])
    (error,) = judged.errors_of_update(judged.changed(moved, {"spec.suspend": False}, []), running)
    assert error.startswith("spec.template: Invalid value: ")


def test_the_template_of_a_daemon_set_is_counted_only_when_it_changes() -> None:
    note = "deprecated.daemonset.template.generation"
    before = stored("workloads", "DaemonSet")
    strategy = judged.strategy_of(before)
    assert before["metadata"]["annotations"][note] == "1"
    for path, value, count in (("spec.minReadySeconds", 5, "1"), ("spec.template.spec.hostNetwork", True, "2")):
        tree = judged.admitted(judged.changed(before, {path: value, "metadata.annotations": {note: "9"}}, []))
        strategy.prepare_for_update(tree, before)
        assert tree["metadata"]["annotations"][note] == count
        assert strategy.bumps_generation(tree, before)


def test_annotations_of_a_deployment_count_as_a_change_and_its_labels_are_not_the_status_endpoints() -> None:
    before = stored("workloads", "Deployment")
    strategy = judged.strategy_of(before)
    annotated = judged.changed(before, {"metadata.annotations": {"a": "b"}}, [])
    labelled = judged.changed(before, {"metadata.labels": {"a": "b"}}, [])
    assert strategy.bumps_generation(annotated, before)
    assert not strategy.bumps_generation(labelled, before)
    strategy.prepare_for_update(labelled, before, "status")
    assert "labels" not in labelled["metadata"]


def test_who_asks_for_a_certificate_is_not_the_clients_to_say() -> None:
    body: Object = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "c"},
        "spec": {"request": "eA==", "signerName": "example.com/s", "usages": ["any"], "username": "root"},
    }
    body["spec"]["groups"] = ["system:masters"]
    spec = judged.created(body)["spec"]
    assert "username" not in spec
    assert "groups" not in spec
    assert judged.errors_of(body) == ['spec.request: Invalid value: "eA==": PEM block type must be CERTIFICATE REQUEST']
