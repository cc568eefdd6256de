"""Reads that repeat on one connection are answered at once, and exactly as all others are."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from tests.event_loops import LoopFactory
from tests.store.late_store import LateStore

from setpoint.config.settings import Authentication, Config
from setpoint.objects.clock import SystemClock
from setpoint.plane import ControlPlane
from setpoint.server.message import Peer, Request
from setpoint.server.verbs.read_fast_path import Repeat
from setpoint.store.contract import Store
from setpoint.store.memory import MemoryStore

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
HEADERS = "Host: x\r\nAuthorization: Bearer secret\r\nAccept: application/json\r\n"


class Wire:
    """A connection on which requests are written as they are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def get(self, target: str, headers: str = HEADERS) -> tuple[int, dict[str, str], bytes]:
        self._writer.write(f"GET {target} HTTP/1.1\r\n{headers}\r\n".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        found = dict(line.split(": ", 1) for line in lines)
        return int(first.split()[1]), found, await self._reader.readexactly(int(found["Content-Length"]))

    def close(self) -> None:
        self._writer.close()


@pytest.fixture
def loop_factory() -> LoopFactory:
    """Runs each test on one event loop only: repeated reads do not depend on the loop."""
    return asyncio.new_event_loop


@pytest.fixture(params=["memory", "late"])
async def plane(request: pytest.FixtureRequest) -> AsyncIterator[ControlPlane]:
    """Provides a control plane with two ConfigMaps, on a store in memory, and on one that other servers write to."""
    store = MemoryStore()
    late = cast(Store, LateStore(store))
    async with ControlPlane(store if request.param == "memory" else late, token="secret") as plane:
        await plane.listen(tls=False)
        for name in ("a", "b"):
            await create(plane, name)
        yield plane


@pytest.fixture
async def wire(plane: ControlPlane) -> AsyncIterator[Wire]:
    """Provides a connection to the control plane."""
    wire = Wire(*await asyncio.open_connection("127.0.0.1", int(plane.url.rpartition(":")[2])))
    yield wire
    wire.close()


async def create(plane: ControlPlane, name: str, **data: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    response = await plane.handler(Request("POST", CONFIG_MAPS, "", {}, json.dumps(body).encode()))
    assert response.status == 201


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were answered for at once."""
    names: list[str] = []
    read = Repeat.read

    def noting(self: Repeat, name: str) -> bytes | None:
        found = read(self, name)
        if found is not None:
            names.append(name)
        return found

    monkeypatch.setattr(Repeat, "read", noting)
    return names


async def test_the_answers_are_the_same_but_for_what_is_each_requests_own(
    plane: ControlPlane, wire: Wire, repeated: list[str]
) -> None:
    answers = [await wire.get(f"{CONFIG_MAPS}/a") for _ in range(5)]
    first = answers[0]
    for status, headers, body in answers:
        assert (status, body) == (200, first[2])
        assert headers.keys() == first[1].keys()
    assert len({headers["Audit-Id"] for _, headers, _ in answers}) == 5
    assert len(repeated) >= 3


async def test_repeated_reads_are_counted_like_all_others(plane: ControlPlane, wire: Wire, repeated: list[str]) -> None:
    async def count() -> float:
        _, _, body = await wire.get("/metrics")
        lines = [line for line in body.decode().splitlines() if line.startswith("apiserver_request_total{")]
        wanted = ('resource="configmaps"', 'verb="GET"', 'code="200"')
        return sum(float(line.rpartition(" ")[2]) for line in lines if all(label in line for label in wanted))

    before = await count()
    for _ in range(5):
        await wire.get(f"{CONFIG_MAPS}/a")
    assert len(repeated) >= 3
    assert await count() == before + 5


async def test_other_objects_of_the_collection_and_every_change_are_seen_at_once(
    plane: ControlPlane, wire: Wire, repeated: list[str]
) -> None:
    for _ in range(3):
        await wire.get(f"{CONFIG_MAPS}/a")
    assert json.loads((await wire.get(f"{CONFIG_MAPS}/b"))[2])["metadata"]["name"] == "b"
    assert (await wire.get(f"{CONFIG_MAPS}/c"))[0] == 404
    await create(plane, "c")
    assert (await wire.get(f"{CONFIG_MAPS}/c"))[0] == 200
    await plane.handler(Request("DELETE", f"{CONFIG_MAPS}/c"))
    assert (await wire.get(f"{CONFIG_MAPS}/c"))[0] == 404
    assert {"b", "c"} <= set(repeated)


@pytest.mark.parametrize("path", ["a?at=1", "%61", "", "..", "a/", "/a"])
async def test_whatever_is_no_plain_name_goes_the_ordinary_way(
    plane: ControlPlane, wire: Wire, path: str, repeated: list[str]
) -> None:
    target = f"{CONFIG_MAPS}/{path}"
    for _ in range(3):
        await wire.get(f"{CONFIG_MAPS}/a")
    ordinary = await plane.handler(Request("GET", *target.partition("?")[::2]))
    repeated.clear()
    answer = await wire.get(target)
    assert answer[0] == ordinary.status
    assert repeated in ([], ["a"])


async def test_who_brings_other_credentials_on_the_connection_is_somebody_else(
    plane: ControlPlane, wire: Wire, repeated: list[str]
) -> None:
    for _ in range(3):
        await wire.get(f"{CONFIG_MAPS}/a")
    repeated.clear()
    assert (await wire.get(f"{CONFIG_MAPS}/a", HEADERS.replace("secret", "guess")))[0] == 401
    assert (await wire.get(f"{CONFIG_MAPS}/a", HEADERS + "Impersonate-User: jane\r\n"))[0] == 403
    assert (await wire.get(f"{CONFIG_MAPS}/a", HEADERS + "Impersonate-User: jane\r\n"))[0] == 403
    assert (await wire.get(f"{CONFIG_MAPS}/a", HEADERS + "Impersonate-User: jane\r\n"))[0] == 403
    assert repeated == []


async def test_another_form_is_never_answered_from_memory(plane: ControlPlane, wire: Wire, repeated: list[str]) -> None:
    yaml = HEADERS.replace("application/json", "application/yaml")
    for _ in range(4):
        assert (await wire.get(f"{CONFIG_MAPS}/a", yaml))[2].startswith(b"apiVersion: v1")
    assert repeated == []


async def test_a_token_that_was_revoked_reads_nothing_more(repeated: list[str], tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('theirs,eve,1,"system:masters"\n')
    headers = HEADERS.replace("secret", "theirs")
    config = Config(authentication=Authentication(token_file=str(tokens)))
    async with ControlPlane(token="secret", config=config) as plane:
        port = int((await plane.listen(tls=False)).rpartition(":")[2])
        await create(plane, "a")
        wire = Wire(*await asyncio.open_connection("127.0.0.1", port))
        for _ in range(4):
            assert (await wire.get(f"{CONFIG_MAPS}/a", headers))[0] == 200
        assert repeated
        # The administrator's token in the group that may read nothing: who they are has changed.
        tokens.write_text("theirs,eve,1\n")
        plane.reload()
        assert (await wire.get(f"{CONFIG_MAPS}/a", headers))[0] == 403
        tokens.write_text("")
        plane.reload()
        assert (await wire.get(f"{CONFIG_MAPS}/a", headers))[0] == 401
        wire.close()


async def test_credentials_that_depend_on_more_than_themselves_are_looked_at_each_time() -> None:
    async with ControlPlane(token="secret") as plane:
        await create(plane, "a")
        server = plane._started
        now = SystemClock().now().timestamp()
        path = f"{CONFIG_MAPS}/a"

        async def repeats(peer: Peer, **headers: str) -> bool:
            return await server.repeat(Request("GET", path, "", headers, b"", peer)) is not None

        certified = Peer("1.2.3.4:5", "eve", ("system:masters",), "00", now + 3600)
        assert await repeats(certified)
        assert not await repeats(certified._replace(expires=now + 1))
        assert await repeats(Peer("1.2.3.4:5"), authorization="Bearer secret")
        # As a client may write it, and not as it is known: it is looked up the long way.
        assert not await repeats(Peer("1.2.3.4:5"), authorization="bearer secret")
        expired = Request("GET", path, "", {}, b"", certified._replace(expires=now - 1))
        assert (await server(expired)).status == 401


async def test_a_read_in_protobuf_is_repeated_as_the_pipeline_answers_it() -> None:
    async with ControlPlane(token="secret") as plane:
        await create(plane, "a")
        server = plane._started
        for accept in ("application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"):
            headers = {"authorization": "Bearer secret", "accept": accept}
            request = Request("GET", f"{CONFIG_MAPS}/a", "", headers, b"", Peer("1.2.3.4:5"))
            repeat = await server.repeat(request)
            assert repeat is not None
            assert repeat.read("a") == (await server(request)).body
            assert repeat.read("b") is None
        headers["accept"] = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        assert await server.repeat(request._replace(headers=headers)) is None
