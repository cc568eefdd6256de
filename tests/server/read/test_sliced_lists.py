"""Lists that are written in slices are the same bytes as lists that are written at once."""

import json
from typing import Any

import pytest
from tests.server.read.reader import MAPS, reading

from setpoint.objects.provenance import Actor
from setpoint.server.codec import list_text
from setpoint.server.message import Response
from setpoint.server.request.slices import READ
from setpoint.store.contract import ANY, Page
from setpoint.store.memory import MemoryStore

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"
DEFINITION: Any = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}


def whole(response: Response) -> bytes:
    assert response.status == 200
    assert isinstance(response.body, bytes | list)
    return response.body if isinstance(response.body, bytes) else b"".join(response.body)


@pytest.mark.parametrize("path", [MAPS, THINGS])
@pytest.mark.parametrize("accept", ["application/json", "application/yaml", TABLE, PARTIAL])
@pytest.mark.parametrize("query", [{}, {"pretty": "true"}, {"limit": "3"}, {"labelSelector": "none=here"}])
async def test_slices_change_no_byte(
    path: str, accept: str, query: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading() as reader:
        if path == THINGS:
            await reader.json(CRDS, method="POST", body=DEFINITION, status=201)
        text = {"items": "[]", "k": 'a: "items": []\nitems: []\n- b', "rows": '"rows":['}
        for number in range(7):
            kind = {"apiVersion": "example.com/v1", "kind": "Thing"} if path == THINGS else {}
            await reader.json(
                path, method="POST", body={**kind, "metadata": {"name": f"m{number}"}, "data": text}, status=201
            )
        pieces = {}
        for size in (1, 2, 1000):
            for name in ("_STORED", "_APART", "TABLE_ROWS"):
                monkeypatch.setattr(list_text, name, size)
            monkeypatch.setattr(list_text.YamlText, "objects", size)
            monkeypatch.setattr(list_text.YamlText, "size", size << 20)
            response = await reader.ask("GET", path, None, {"accept": accept}, **query)
            pieces[size] = whole(response)
            is_empty = "labelSelector" in query
            assert isinstance(response.body, bytes if is_empty or size == 1000 else list)
        assert pieces[1] == pieces[2] == pieces[1000]


@pytest.mark.parametrize("selector", ["app in (a, b)", "app=a"])
async def test_metrics_of_many_pods_read_them_in_slices(selector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with reading() as reader:
        for number in range(600):
            name = f"pod-{number}"
            metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": "ab"[number % 2]}}
            tree = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}}
            await reader.store.commit(f"/core/pods/default/{name}", json.dumps(tree).encode(), ANY, Actor("test"))
        sizes: list[int] = []
        scan, page = MemoryStore.scan, MemoryStore.range

        def scanned(self: MemoryStore, *arguments: Any) -> Any:
            found = scan(self, *arguments)
            sizes.append(len(found))
            return found

        async def ranged(self: MemoryStore, prefix: str, *arguments: Any, **options: Any) -> Page:
            found = await page(self, prefix, *arguments, **options)
            sizes.append(len(found.items))
            return found

        monkeypatch.setattr(MemoryStore, "scan", scanned)
        monkeypatch.setattr(MemoryStore, "range", ranged)
        await reader.json("/apis/metrics.k8s.io/v1beta1/pods", labelSelector=selector)
        assert sum(sizes) >= 600
        assert max(sizes) <= READ
