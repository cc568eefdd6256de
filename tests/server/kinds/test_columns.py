"""Tables: which columns each kind has, and what they say about objects in odd states."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from tests.server.kinds import judged

from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Json, Object
from setpoint.server.registry.kinds import strategy_for
from setpoint.server.registry.kinds.autoscaling.metrics_text import metrics_text
from setpoint.server.registry.kinds.printers.columns import first_few, since

COLUMNS = yaml.safe_load((Path(__file__).parent / "cases" / "columns.yaml").read_text())
NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


def cells(tree: Object) -> dict[str, Json]:
    return {column.name: column.cell(tree, NOW) for column in judged.strategy_of(tree).columns}


@pytest.mark.parametrize("kind", sorted(COLUMNS))
def test_a_kind_has_the_columns_of_the_api(kind: str) -> None:
    api_version, _, name = kind.partition(" ")
    strategy = strategy_for(GroupVersion.parse(api_version).group, name)
    assert strategy is not None
    shown = [column.name + ("*" if column.priority else "") for column in strategy.columns]
    assert ",".join(shown) == COLUMNS[kind]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({}, {"Status": "Running", "Completions": "0/3", "Duration": ""}),
        ({"startTime": "2024-05-01T11:59:00Z", "succeeded": 1}, {"Completions": "1/3", "Duration": "60s"}),
        (
            {
                "startTime": "2024-05-01T10:00:00Z",
                "completionTime": "2024-05-01T10:05:30Z",
                "conditions": [
                    {"type": "SuccessCriteriaMet", "status": "True"},
                    {"type": "Complete", "status": "True"},
                ],
            },
            {"Status": "Complete", "Duration": "5m30s"},
        ),
        ({"conditions": [{"type": "FailureTarget", "status": "True"}]}, {"Status": "FailureTarget"}),
        ({"conditions": [{"type": "Failed", "status": "False"}]}, {"Status": "Running"}),
    ],
)
def test_a_job_says_how_far_it_is(status: Object, shown: Object) -> None:
    tree = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {"completions": 3}, "status": status}
    assert shown.items() <= cells(tree).items()


def test_a_job_that_is_being_deleted_says_so_unless_it_has_ended() -> None:
    tree: Object = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"deletionTimestamp": "2024-05-01T11:00:00Z"},
        "spec": {"parallelism": 4},
        "status": {"conditions": [{"type": "Suspended", "status": "True"}]},
    }
    assert (cells(tree)["Status"], cells(tree)["Completions"]) == ("Terminating", "0/1 of 4")
    tree["status"]["conditions"].append({"type": "Failed", "status": "True"})
    assert cells(tree)["Status"] == "Failed"


def test_an_ingress_shows_a_few_hosts_and_all_addresses() -> None:
    rules = [{"host": f"{name}.example.com"} for name in "abcde"]
    points = [{"ip": "10.0.0.2"}, {"ip": "10.0.0.1"}, {"hostname": "lb.example.com"}]
    tree: Object = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {},
        "spec": {"rules": rules},
        "status": {"loadBalancer": {"ingress": points}},
    }
    found = cells(tree)
    assert found["Hosts"] == "a.example.com,b.example.com,c.example.com + 2 more..."
    assert found["Address"] == "10.0.0.1,10.0.0.2,lb.example.com"
    assert (found["Class"], found["Ports"], found["Age"]) == ("<none>", "80", "<unknown>")


@pytest.mark.parametrize(
    ("types", "certificate", "shown"),
    [
        ([], "", "Pending"),
        (["Approved"], "", "Approved"),
        (["Approved"], "eA==", "Approved,Issued"),
        (["Approved", "Denied", "Failed"], "", "Denied,Failed"),
    ],
)
def test_a_certificate_request_says_what_became_of_it(types: list[str], certificate: str, shown: str) -> None:
    tree: Object = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {},
        "spec": {"expirationSeconds": 7200},
        "status": {"conditions": [{"type": kind} for kind in types], "certificate": certificate},
    }
    assert (cells(tree)["Condition"], cells(tree)["RequestedDuration"]) == (shown, "120m")


@pytest.mark.parametrize(
    ("metric", "status", "shown"),
    [
        ({"type": "Resource", "resource": {"name": "cpu", "target": {}}}, {}, "cpu: <unknown>/<auto>"),
        (
            {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}},
            {"resource": {"current": {"averageUtilization": 12}}},
            "cpu: 12%/80%",
        ),
        ({"type": "Pods", "pods": {"target": {"averageValue": "5"}}}, {}, "<unknown>/5"),
        (
            {"type": "External", "external": {"target": {"averageValue": "5"}}},
            {"external": {"current": {"averageValue": "3"}}},
            "3/5 (avg)",
        ),
        ({"type": "Object", "object": {"target": {"value": "7"}}}, {"object": {"current": {"value": "6"}}}, "6/7"),
        ({"type": "Guess"}, {}, "<unknown type>"),
    ],
)
def test_a_metric_is_shown_as_what_is_and_what_should_be(metric: Object, status: Object, shown: str) -> None:
    assert metrics_text([metric], [status] if status else []) == shown
    assert metrics_text([metric] * 4, []).endswith(" + 2 more...")


def test_a_few_of_many_are_shown_with_the_count_of_the_others() -> None:
    assert first_few([], 3) == "<unset>"
    assert first_few(["a", "b", "c"], 3) == "a,b,c"
    assert first_few(list("abcde"), 3) == "a,b,c + 2 more..."


def test_what_is_no_time_is_long_ago_in_no_way_that_can_be_told() -> None:
    assert since("2024-05-01T11:58:30Z", NOW) == "90s"
    assert since("2024-05-01T11:58:30.500000Z", NOW) == "89s"
    assert since(None, NOW) == since("yesterday", NOW) == "<unknown>"
