"""The operations of custom resources are those of upstream's own builder (`cases/custom_operations.yaml`)."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.nonresource.asking import Asking, Tree, asking, definition
from tests.server.openapi import published

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "custom_operations.yaml").read_text())
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
GVK = "x-kubernetes-group-version-kind"


def names(document: Tree, node: Tree) -> list[str]:
    """The names of the parameters of a path or an operation; that of the body with its definition."""
    found = []
    for entry in node.get("parameters", ()):
        shared = "$ref" in entry
        parameter = document["parameters"][entry["$ref"].rpartition("/")[2]] if shared else entry
        body = " " + parameter["schema"]["$ref"].rpartition("/")[2] if parameter["in"] == "body" else ""
        found.append(f"{parameter['in']} {parameter['name']}{body}{' shared' if shared else ''}")
    return found


def answers(operation: Tree, version: str) -> dict[str, str]:
    found = {}
    for code, response in operation["responses"].items():
        schemas = [response] if version == "v2" else list(response.get("content", {}).values()) or [{}]
        (ref,) = {entry.get("schema", {}).get("$ref", "") for entry in schemas}
        found[code] = ref.rpartition("/")[2]
    return found


def media(operation: Tree, version: str) -> Tree:
    if version == "v2":
        return {"consumes": operation["consumes"], "produces": operation["produces"]}
    body = operation.get("requestBody", {"content": {}})
    (content,) = (response["content"] for code, response in operation["responses"].items() if code == "200")
    found: Tree = {"consumes": sorted(body["content"]), "produces": sorted(content)}
    return found | {"body": sorted({entry["schema"]["$ref"].rpartition("/")[2] for entry in body["content"].values()})}


def summary(document: Tree, root: str, version: str) -> Tree:
    """The facts about all operations below a path."""
    found: Tree = {}
    for path, item in document["paths"].items():
        if not path.startswith(root):
            continue
        found[path] = {"parameters": names(document, item)}
        for method in published.METHODS:
            if method in item:
                operation = item[method]
                found[path][method] = {
                    "id": operation["operationId"],
                    "text": operation["description"],
                    "action": operation["x-kubernetes-action"],
                    "kind": operation[GVK]["kind"],
                    "tags": operation["tags"],
                    "parameters": names(document, operation),
                    "answers": answers(operation, version),
                    **media(operation, version),
                }
    return found


async def defined(server: Asking, case: Tree) -> None:
    tree: Any = definition(case["plural"], case["group"], names=case["names"], subresources=case["subresources"])
    tree["spec"]["scope"] = case["scope"]
    response = await server.ask("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", method="POST", body=tree)
    assert response.status == 201, response.body


@pytest.mark.parametrize("case", CASES, ids=[case["plural"] for case in CASES])
@pytest.mark.parametrize("version", ["v2", "v3"])
async def test_operations_are_described_as_upstream_describes_them(case: Tree, version: str) -> None:
    root = f"/apis/{case['group']}/v1"
    async with asking() as server:
        await defined(server, case)
        document = await server.get("/openapi/v2" if version == "v2" else f"/openapi/v3{root}")
    assert summary(document, root, version) == case[version]


async def test_the_document_of_a_custom_group_has_no_index_and_its_own_title() -> None:
    async with asking() as server:
        await server.define()
        index = (await server.get("/openapi/v3"))["paths"]
        assert "apis/ex.com" not in index
        document = await server.get("/openapi/v3/apis/ex.com/v1")
        assert document["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
        assert document["components"].keys() == {"schemas"}
        assert "/apis/ex.com/v1/" not in document["paths"]
        groups = {kind["group"] for kind in document["components"]["schemas"][META + "DeleteOptions"][GVK]}
        assert {"", "apps", "batch"} <= groups
        assert not groups & {"admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"}
