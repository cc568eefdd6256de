"""The workload kinds as clients meet them: definitions, columns, patches, scale, other kinds beside them."""

import json
import zlib
from importlib.resources import files
from typing import Any

import pytest
from tests.workload.kinds.conftest import Plane
from tools.workload_definitions import contents

from setpoint.client.patches import json_patch, merge
from setpoint.objects.errors import Invalid
from setpoint.server.message import Request
from setpoint.workload.kinds import definitions as shipped
from setpoint.workload.kinds.all import SERVED
from setpoint.workload.kinds.container import Container, ContainerSpec
from setpoint.workload.kinds.executable import Executable, ExecutableSpec
from setpoint.workload.kinds.executable_replica_set import ExecutableReplicaSet
from setpoint.workload.kinds.parts import creates_if_missing, ends_with_object, reuses_existing
from setpoint.workload.kinds.service import Service

GROUP = "/apis/usvc-dev.developer.microsoft.com/v1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def named(kind: str, name: str, **spec: Any) -> Any:
    return {"apiVersion": GROUP.removeprefix("/apis/"), "kind": kind, "metadata": {"name": name}, "spec": spec}


def asked(served: Plane, path: str, accept: str = "application/json") -> Any:
    """What the server answers to a GET."""
    answer = served.run(served.plane.handler(Request("GET", path, headers={"accept": accept})))
    assert answer.status == 200
    return json.loads(answer.body)


def test_the_shipped_definitions_are_what_the_classes_say() -> None:
    kept = zlib.decompress(files(shipped.__package__ or "").joinpath(shipped.FILE).read_bytes())
    assert kept == contents(), "make them anew: python -m tools.workload_definitions"


def test_names_scope_and_subresources_are_those_that_clients_of_dcp_know() -> None:
    found = {}
    for definition in shipped.definitions():
        spec = definition["spec"]
        assert spec["scope"] == "Cluster"
        if spec["names"]["kind"] == "App":
            continue  # it is no workload, and DCP has none
        assert spec["names"]["categories"] == ["workloads"]
        (version,) = spec["versions"]
        found[spec["names"]["plural"]] = spec["names"]["shortNames"][0], sorted(version.get("subresources", {}))
    assert found == {
        "executables": ("exe", ["status"]),
        "executablereplicasets": ("exers", ["scale", "status"]),
        "containers": ("ctr", ["status"]),
        "containernetworks": ("ctrnet", ["status"]),
        "containernetworkconnections": ("ctrnetconn", []),
        "containervolumes": ("ctrvol", ["status"]),
        "containerexecs": ("ctrexec", ["status"]),
        "containernetworktunnelproxies": ("cntp", ["status"]),
        "services": ("svc", ["status"]),
        "endpoints": ("end", ["status"]),
        "tasks": ("tsk", ["status"]),
    }


def test_every_field_is_described() -> None:
    def undescribed(schema: Any, path: str) -> list[str]:
        found = []
        for name, inner in schema.get("properties", {}).items():
            place = f"{path}.{name}"
            if path and not inner.get("description"):
                found.append(place)
            found += undescribed(inner, place)
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                found += undescribed(schema[key], f"{path}[]")
        return found

    for definition in shipped.definitions():
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for part in ("spec", "status"):
            assert undescribed(schema["properties"].get(part, {}), part) == [], definition["metadata"]["name"]


def test_installing_them_again_changes_nothing(served: Plane) -> None:
    kind = "apiextensions.k8s.io/v1/CustomResourceDefinition"
    before = served.run(served.client.list(kind)).items
    served.run(shipped.install(served.client))
    assert served.run(served.client.list(kind)).items == before
    assert len(before) == len(SERVED)


def rows(served: Plane, plural: str, name: str, *, wide: bool = False) -> dict[str, Any]:
    table = asked(served, f"{GROUP}/{plural}/{name}", TABLE)
    columns = [column["name"] for column in table["columnDefinitions"] if wide or column["priority"] == 0]
    shown = [number for number, column in enumerate(table["columnDefinitions"]) if wide or column["priority"] == 0]
    (row,) = table["rows"]
    return dict(zip(columns, [row["cells"][number] for number in shown], strict=True))


def test_kubectl_get_shows_how_an_executable_is(served: Plane) -> None:
    served.run(served.client.create(named("Executable", "shown", executablePath="/bin/true")))
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "ProbeFailed",
        "message": "m",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    status = {"state": "Running", "healthStatus": "Caution", "pid": 41, "restartCount": 2, "conditions": [ready]}
    served.run(served.client.patch_status(Executable, merge({"status": status}), "shown"))
    found = rows(served, "executables", "shown")
    assert found.pop("Age")
    assert found == {"Name": "shown", "State": "Running", "Health": "Caution", "PID": 41, "Restarts": 2}
    assert rows(served, "executables", "shown", wide=True)["Reason"] == "ProbeFailed"


def test_kubectl_get_shows_where_a_service_is(served: Plane) -> None:
    served.run(served.client.create(named("Service", "shown")))
    status = {"state": "Ready", "effectiveAddress": "localhost", "effectivePort": 8080}
    served.run(served.client.patch_status(Service, merge({"status": status}), "shown"))
    found = rows(served, "services", "shown")
    assert found.pop("Age")
    assert found == {"Name": "shown", "State": "Ready", "Address": "localhost", "Port": 8080, "Protocol": "TCP"}


def test_aspire_starts_and_stops_by_json_patches(served: Plane) -> None:
    served.run(served.client.create(named("Executable", "by-aspire", executablePath="x", start=False)))
    for path in ("/spec/start", "/spec/stop"):
        patch = json_patch([{"op": "add", "path": path, "value": True}])
        found = served.run(served.client.patch(Executable, patch, "by-aspire"))
    assert (found.spec.start, found.spec.stop) == (True, True)
    with pytest.raises(Invalid, match=r"spec.stop: Forbidden"):
        served.run(served.client.patch(Executable, json_patch([{"op": "remove", "path": "/spec/stop"}]), "by-aspire"))


def test_replicas_are_scaled_by_the_scale_subresource(served: Plane) -> None:
    served.run(
        served.client.create(named("ExecutableReplicaSet", "scaled", template={"spec": {"executablePath": "x"}}))
    )
    patch = merge({"spec": {"replicas": 4}})
    served.run(
        served.client.patch(
            f"{GROUP.removeprefix('/apis/')}/ExecutableReplicaSet", patch, "scaled", subresource="scale"
        )
    )
    assert served.run(served.client.get(ExecutableReplicaSet, "scaled")).spec.replicas == 4


def test_annotations_may_be_a_quarter_of_a_mebibyte_together(served: Plane) -> None:
    tree = named("Container", "annotated", image="a")
    tree["metadata"]["annotations"] = {"a": "x" * (256 * 1024)}
    with pytest.raises(Invalid, match=r"metadata.annotations: Too long: may not be more than 262144 bytes"):
        served.run(served.client.create(tree))
    tree["metadata"]["annotations"] = {"a": "x" * (256 * 1024 - 1)}
    served.run(served.client.create(tree))


def test_kinds_of_the_core_that_have_the_same_names_stay_what_they_are(served: Plane) -> None:
    core = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "same", "namespace": "default"},
        "spec": {"ports": [{"port": 80}]},
    }
    served.run(served.client.create(core))
    served.run(served.client.create(named("Service", "same", port=81)))
    assert served.run(served.client.get("v1/Service", "same", "default"))["spec"]["ports"][0]["port"] == 80
    assert served.run(served.client.get(Service, "same")).spec.port == 81


def test_objects_are_read_and_written_as_classes(served: Plane) -> None:
    made = served.run(
        served.client.create(
            Executable.from_json(named("Executable", "typed", executablePath="x", persistent=True, stopTimeout="1m30s"))
        )
    )
    assert made.spec.effective_mode == "persistent"
    assert made.spec.stop_timeout.total_seconds() == 90
    moment = "2030-01-01T00:00:00.000001Z"
    served.run(served.client.patch_status(made, merge({"status": {"startupTimestamp": moment, "executionID": "7"}})))
    found = served.run(served.client.get(Executable, "typed"))
    assert str(found.status.startup_timestamp) == moment
    assert found.status.execution_id == "7"
    assert found.to_json()["status"] == {"startupTimestamp": moment, "executionID": "7"}


def test_modes_mean_what_dcp_says() -> None:
    assert Container(spec=ContainerSpec(image="a")).spec.effective_mode == "session"
    assert ExecutableSpec(executable_path="x", mode="cleanup").effective_mode == "cleanup"
    assert ExecutableSpec(executable_path="x", mode="cleanup", persistent=True).effective_mode == "persistent"
    table = {
        mode: (reuses_existing(mode), creates_if_missing(mode), ends_with_object(mode))
        for mode in ("session", "persistent", "existing", "cleanup")
    }
    assert table == {
        "session": (False, True, True),
        "persistent": (True, True, False),
        "existing": (True, False, False),
        "cleanup": (True, False, True),
    }


def test_every_kind_is_shipped_once() -> None:
    assert [each["spec"]["names"]["kind"] for each in shipped.definitions()] == [kind.gvk().kind for kind in SERVED]
    assert shipped.definitions()[0] is not shipped.definitions()[0]
