"""Large objects, lists and errors are written beside the event loop, in whatever form a client asks for."""

import asyncio

import msgspec
import pytest
from tests.server.protobuf.bodies import watch_events
from tests.server.read.reader import MemorySink

from setpoint.server.message import Frame, Request

from .loop import MOST, Loop

# Handles megabytes in every representation.
pytestmark = pytest.mark.slow

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
JSON, YAML = "application/json", "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
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
        ("/large", "", PROTOBUF),
        ("", "", PROTOBUF),
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


class Counting(MemorySink):
    """Only counts the events, which would take long to read."""

    def write(self, frame: Frame) -> bool:
        self.events += [{} for _ in watch_events(frame.payload)]
        return not self.closed


async def test_the_loop_turns_while_a_large_object_is_told_to_watches_in_protobuf() -> None:
    async with Loop() as loop:
        headers = {"accept": f"{PROTOBUF};stream=watch"}
        query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        assert (await loop.post(CONFIG_MAPS, config_map("first", 30_000))).status == 201
        loop.worst, before = 0.0, loop.offload
        response = await loop.server(Request("GET", CONFIG_MAPS, query, headers))
        assert not isinstance(response.body, bytes | list)
        sink = Counting()
        watch = asyncio.ensure_future(response.body.run(sink))
        await sink.told(1)
        assert loop.offload > before
        # Writes have work of their own beside the loop: with a watch there is more of it.
        works = []
        for name in ("second", "third"):
            before = loop.offload
            await loop.post(CONFIG_MAPS, config_map(name, 30_000))
            await loop.ask("DELETE", f"{CONFIG_MAPS}/{name}")
            if name == "second":
                await sink.told(3)
                sink.close()
                await watch
            works.append(loop.offload - before)
        assert works[0] == works[1] + 2
        assert loop.worst < MOST


async def test_small_answers_are_written_in_the_loop() -> None:
    async with Loop() as loop:
        await loop.post(CONFIG_MAPS, config_map("small", 10))
        # The writers of a kind are made beside the loop, once in the process.
        for path in ("/small", ""):
            await loop.ask("GET", CONFIG_MAPS + path, "", PROTOBUF)
        before = loop.offload
        for path in ("/small", ""):
            for accept in (JSON, YAML, TABLE, PROTOBUF):
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
