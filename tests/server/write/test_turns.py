"""Large requests do not hold the event loop: its longest turn is a small part of the CPU that the request takes."""

import msgspec
import pytest
from tests.turns import measured

from setpoint.plane import ControlPlane
from setpoint.server.message import Request, Response
from setpoint.store.memory import MemoryStore

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"


async def ask(plane: ControlPlane, method: str, path: str, body: bytes, content_type: str) -> Response:
    path, _, query = path.partition("?")
    return await plane.handler(Request(method, path, query, {"content-type": content_type}, body))


def large(number: int) -> bytes:
    data = {f"k{each}": "v" for each in range(number)}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": data})


BODIES = {
    "yaml-merge-keys": (
        "POST",
        CONFIG_MAPS,
        HEAD + "x: &a {k: v}\ndata:\n" + "  <<: *a\n" * 20_000,
        "application/yaml",
    ),
    "yaml-keys": (
        "POST",
        CONFIG_MAPS,
        HEAD + "data:\n" + "".join(f"  k{n}: v\n" for n in range(20_000)),
        "application/yaml",
    ),
    "yaml-apply": (
        "PATCH",
        f"{CONFIG_MAPS}/one?fieldManager=me",
        HEAD + "data:\n" + "".join(f"  k{n}: v\n" for n in range(20_000)),
        "application/apply-patch+yaml",
    ),
    "json-not-canonical": ("POST", CONFIG_MAPS, large(60_000).decode().replace(":", ": "), "application/json"),
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_large_body_leaves_the_loop_to_others(name: str) -> None:
    method, path, body, content_type = BODIES[name]
    async with ControlPlane(system=False) as plane:
        response, seen = await measured(ask(plane, method, path, body.encode(), content_type))
        assert response.status == 201, response.body
    assert seen.longest < seen.total / 3


async def test_a_small_patch_of_a_large_object_leaves_the_loop_to_others() -> None:
    async with ControlPlane(system=False) as plane:
        await ask(plane, "POST", CONFIG_MAPS, large(60_000), "application/json")
        patch = b'{"data":{"k1":"w"}}'
        asked = ask(plane, "PATCH", f"{CONFIG_MAPS}/one", patch, "application/merge-patch+json")
        response, seen = await measured(asked)
        assert response.status == 200, response.body
    assert seen.longest < seen.total / 3


async def test_a_yaml_document_of_too_many_nodes_names_the_remedy() -> None:
    async with ControlPlane(system=False) as plane:
        body = (HEAD + "x: [" + "1," * 600_000 + "]\n").encode()
        response = await ask(plane, "POST", CONFIG_MAPS, body, "application/yaml")
    assert isinstance(response.body, bytes)
    status = msgspec.json.decode(response.body)
    assert response.status == 400
    assert "yaml: document has more than 500000 nodes: send it as JSON" in status["message"]


async def test_deleting_a_collection_gives_others_turns() -> None:
    store = MemoryStore()
    async with ControlPlane(store, system=False) as plane:
        for number in range(200):
            tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c-{number}"}}
            await ask(plane, "POST", CONFIG_MAPS, msgspec.json.encode(tree), "application/json")
        before = store.current
        asked = ask(plane, "DELETE", CONFIG_MAPS, b"", "application/json")
        response, seen = await measured(asked, steps=lambda: store.current)
        assert response.status == 200
        assert store.current == before + 200
    assert seen.most_steps == 1
