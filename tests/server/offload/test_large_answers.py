"""Large objects, lists and errors are written beside the event loop, in whatever form a client asks for."""

import msgspec
import pytest

from .loop import MOST, Loop

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JSON, YAML = "application/json", "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def config_map(name: str, keys: int) -> dict[str, object]:
    data = {f"key-{number}": "value" for number in range(keys)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.mark.parametrize(
    ("path", "query", "accept"),
    [
        ("/large", "", YAML),
        ("/large", "includeObject=Object", TABLE),
        ("/large", "", PARTIAL),
        ("", "", YAML),
        ("", "includeObject=Object", TABLE),
        ("", "pretty=true", JSON),
    ],
)
async def test_the_loop_turns_while_a_large_answer_is_written(path: str, query: str, accept: str) -> None:
    async with Loop() as loop:
        for name, keys in (("a-small", 1), ("large", 30_000)):
            assert (await loop.post(CONFIG_MAPS, config_map(name, keys))).status == 201
        loop.worst, before = 0.0, loop.offload
        response = await loop.ask("GET", CONFIG_MAPS + path, query, accept)
        assert response.status == 200
        assert response.content_type.startswith(accept.partition(";")[0])
        assert loop.offload > before
        assert loop.worst < MOST


async def test_small_answers_are_written_in_the_loop() -> None:
    async with Loop() as loop:
        await loop.post(CONFIG_MAPS, config_map("small", 10))
        before = loop.offload
        for path in ("/small", ""):
            for accept in (JSON, YAML, TABLE):
                assert (await loop.ask("GET", CONFIG_MAPS + path, "", accept)).status == 200
        assert loop.offload == before


async def test_the_loop_turns_while_an_error_with_many_causes_is_written() -> None:
    wrong = config_map("wrong", 1)
    wrong["metadata"] = {"name": "wrong", "labels": {f"-{number}": "x" for number in range(10_000)}}
    async with Loop() as loop:
        loop.worst, before = 0.0, loop.offload
        response = await loop.post(CONFIG_MAPS, wrong)
        assert response.status == 422
        assert isinstance(response.body, bytes)
        assert len(msgspec.json.decode(response.body)["details"]["causes"]) == 10_000
        assert loop.offload > before
        assert loop.worst < MOST


async def test_a_long_selector_is_read_beside_the_loop() -> None:
    async with Loop() as loop:
        await loop.post(CONFIG_MAPS, config_map("one", 1))
        for parameter, term in (("labelSelector", "a{}!=b"), ("fieldSelector", "metadata.name!=a{}")):
            loop.worst, before = 0.0, loop.offload
            selector = ",".join(term.format(number) for number in range(3_000))
            response = await loop.ask("GET", CONFIG_MAPS, f"{parameter}={selector}")
            assert response.status == 200
            assert loop.offload > before
            assert loop.worst < MOST


async def test_the_loop_turns_while_a_large_object_is_deleted() -> None:
    async with Loop() as loop:
        await loop.post(CONFIG_MAPS, config_map("large", 30_000))
        loop.worst, before = 0.0, loop.offload
        assert (await loop.ask("DELETE", f"{CONFIG_MAPS}/large")).status == 200
        assert loop.offload > before
        assert loop.worst < MOST
