"""The documents of the built-in resources are those that the Kubernetes project publishes."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.nonresource.asking import Asking, Tree, asking
from tests.server.openapi import published

from setpoint.server.publish.openapi import v2
from setpoint.server.publish.openapi.operations import states_deleted_object
from setpoint.server.registry.builtin_resources import resources

ROOT = published.folder()
VERSION = "1.37"  # the published files state none
SPEC = ROOT or Path()
needs_documents = pytest.mark.skipif(
    ROOT is None, reason="needs the published documents: go mod download k8s.io/kubernetes@v1.37.1"
)
# Groups and versions that a server with default settings does not serve.
NOT_SERVED = {
    "apis/admissionregistration.k8s.io/v1alpha1",
    "apis/admissionregistration.k8s.io/v1beta1",
    "apis/certificates.k8s.io/v1beta1",
    "apis/coordination.k8s.io/v1alpha2",
    "apis/coordination.k8s.io/v1beta1",
    "apis/internal.apiserver.k8s.io",
    "apis/internal.apiserver.k8s.io/v1alpha1",
    "apis/lifecycle.k8s.io",
    "apis/lifecycle.k8s.io/v1alpha1",
    "apis/resource.k8s.io/v1alpha3",
    "apis/resource.k8s.io/v1beta1",
    "apis/resource.k8s.io/v1beta2",
    "apis/scheduling.k8s.io/v1alpha3",
    "apis/scheduling.k8s.io/v1beta1",
    "apis/storagemigration.k8s.io/v1beta1",
    "logs",
}


# The group that kube-apiserver itself does not serve (decision 0096).
OWN = ("apis/metrics.k8s.io", "apis/metrics.k8s.io/v1beta1")


def is_served(path: str) -> bool:
    parts = path.strip("/").split("/")
    return "/".join(parts[: 3 if parts[0] == "apis" else 2]) not in NOT_SERVED and parts[0] != "logs"


def name_of(file: Path) -> str:
    return file.name.removesuffix("_openapi.json").replace("__", "/")


async def documents(server: Asking) -> dict[str, Tree]:
    """The documents of version 3, by name."""
    index = await server.get("/openapi/v3")
    return {name: await server.get(entry["serverRelativeURL"]) for name, entry in index["paths"].items()}


@needs_documents
async def test_version_2_is_the_published_document() -> None:
    theirs = published.as_default(published.read(SPEC / "swagger.json"))
    theirs["paths"] = {path: item for path, item in theirs["paths"].items() if is_served(path)}
    del theirs["parameters"]["logpath-Noq7euwC"]
    theirs["definitions"] = published.reachable(theirs, theirs["paths"])
    theirs["info"]["version"] = VERSION
    async with asking() as server:
        ours = await server.get("/openapi/v2")
    ours["paths"] = {path: item for path, item in ours["paths"].items() if not path.strip("/").startswith(OWN[0])}
    ours["definitions"] = published.reachable(ours, ours["paths"])
    assert list(published.differences(published.without_enums(ours), published.without_enums(theirs))) == []


@needs_documents
async def test_version_3_has_the_published_documents() -> None:
    async with asking() as server:
        ours = await documents(server)
    theirs = {name_of(file): published.as_default(published.read(file)) for file in (SPEC / "v3").iterdir()}
    assert ours.keys() - set(OWN) == theirs.keys() - NOT_SERVED
    assert ours.keys() >= set(OWN)
    for name, document in ours.items():
        if name in OWN:
            continue
        theirs[name]["info"]["version"] = VERSION
        found = published.differences(published.without_enums(document), published.without_enums(theirs[name]))
        assert list(found) == [], name


def test_the_stated_results_of_deletes_are_those_of_the_rules() -> None:
    stated = {str(found.gvk) for found in resources() if states_deleted_object(found)}
    returned = {str(found.gvk) for found in resources() if found.strategy.returns_deleted_object}
    # kube-apiserver returns these objects too, but its documents state a status.
    assert returned - stated == {"/v1, Kind=Namespace", "apiextensions.k8s.io/v1, Kind=CustomResourceDefinition"}
    assert stated <= returned


def test_documents_are_made_without_the_rules_of_kinds() -> None:
    builtin = resources()
    assert v2.json_fragment(builtin).paths
    assert not [found for found in builtin if "strategy" in found.__dict__]


def enums(node: Any) -> Iterator[list[str]]:
    if isinstance(node, dict):
        if isinstance(node.get("enum"), list):
            yield node["enum"]
        for value in node.values():
            yield from enums(value)


def parameters(document: Tree) -> int:
    found = sum(len(operation.get("parameters", ())) for _, _, operation in published.operations(document))
    return found + sum(len(item.get("parameters", ())) for item in document["paths"].values())


async def test_the_documents_are_complete() -> None:
    async with asking() as server:
        v2, v3 = await server.get("/openapi/v2"), await documents(server)
    both = Counter(
        documents=len(v3),
        paths=sum(len(document["paths"]) for document in v3.values()),
        operations=sum(1 for document in v3.values() for _ in published.operations(document)),
        parameters=sum(parameters(document) for document in v3.values()),
    )
    assert both == {"documents": 51, "paths": 438, "operations": 872, "parameters": 5787}
    counts = {
        "paths": len(v2["paths"]),
        "operations": sum(1 for _ in published.operations(v2)),
        "parameters": parameters(v2),
        "shared parameters": len(v2["parameters"]),
        "definitions": len(v2["definitions"]),
        "enums": sum(1 for _ in enums(v2["definitions"])),
    }
    assert counts == {
        "paths": 437,
        "operations": 871,
        "parameters": 6193,
        "shared parameters": 47,
        "definitions": 628,
        "enums": 106,
    }
    # The documents of version 3 repeat definitions, but state the same values.
    schemas = {name: schema for found in v3.values() for name, schema in found["components"].get("schemas", {}).items()}
    assert sum(1 for _ in enums(schemas)) == counts["enums"]


@pytest.mark.parametrize(
    ("kind", "field", "values"),
    [
        ("core.v1.Container", "imagePullPolicy", ["Always", "IfNotPresent", "Never"]),
        ("core.v1.PodStatus", "phase", ["Failed", "Pending", "Running", "Succeeded", "Unknown"]),
        ("core.v1.ServiceSpec", "type", ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
    ],
)
async def test_the_values_of_an_enumeration_are_listed_and_explained(kind: str, field: str, values: list[str]) -> None:
    async with asking() as server:
        v3, v2 = await server.get("/openapi/v3/api/v1"), await server.get("/openapi/v2")
        for schemas in (v3["components"]["schemas"], v2["definitions"]):
            found = schemas[f"io.k8s.api.{kind}"]["properties"][field]
            assert found["enum"] == values
            _, _, text = found["description"].partition("\n\nPossible enum values:\n")
            assert [line.split('`"')[1].split('"`')[0] for line in text.split("\n - ")] == values


async def test_the_values_of_lists_and_maps_may_be_enumerated() -> None:
    async with asking() as server:
        claim = (await server.get("/openapi/v2"))["definitions"]["io.k8s.api.core.v1.PersistentVolumeClaimStatus"]
        modes, statuses = (claim["properties"][name] for name in ("accessModes", "allocatedResourceStatuses"))
        assert modes["items"]["enum"] == ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
        assert "NodeResizePending" in statuses["additionalProperties"]["enum"]


async def test_paths_and_definitions_are_sorted_with_those_of_custom_resources() -> None:
    async with asking() as server:
        for group in ("b.example.com", "zz.example.com", "a.example.com"):
            await server.define(group=group)
        document = await server.get("/openapi/v2")
        assert list(document) == [
            *("swagger", "info", "paths", "definitions", "parameters", "securityDefinitions", "security")
        ]
        for section in ("paths", "definitions", "parameters"):
            assert list(document[section]) == sorted(document[section])
        assert "/apis/b.example.com/v1/widgets" in document["paths"]
