"""Small calls over HTTP/2: messages in any pieces, the duties of a client, and every failure."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.contract import ABSENT
from setpoint.store.etcd import EtcdConfig, EtcdStore, Tls, small_calls
from setpoint.store.etcd.small_calls import CallFailed, SmallCalls

from .etcd_server import etcd, require_etcd, shared_etcd
from .test_etcd_faults import certificates, demand_logins

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
END, ACK = 1, 1
MESSAGE = b"\x00\x00\x00\x00\x05hello"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


class Peer:
    """A server that answers each request with the bytes that a test wants, and records the frames that it receives."""

    def __init__(self, answer: Callable[[int], bytes | None]) -> None:
        self._answer = answer
        self.connections = 0
        self.frames: list[tuple[int, int, int, bytes]] = []
        self.piece = 1 << 20

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            assert await reader.readexactly(24) == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            writer.write(frame(SETTINGS, 0, 0))
            while True:
                top = await reader.readexactly(9)
                payload = await reader.readexactly(int.from_bytes(top[:3], "big"))
                stream = int.from_bytes(top[5:], "big")
                self.frames.append((top[3], top[4], stream, payload))
                if top[3] != DATA:
                    continue
                answer = self._answer(stream)
                if answer is None:
                    return
                for start in range(0, len(answer), self.piece):
                    writer.write(answer[start : start + self.piece])
                    await asyncio.sleep(0)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    def received(self, kind: int) -> list[tuple[int, int, bytes]]:
        return [(flags, stream, payload) for each, flags, stream, payload in self.frames if each == kind]


@asynccontextmanager
async def calling(peer: Peer) -> AsyncIterator[SmallCalls]:
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    calls = SmallCalls(f"127.0.0.1:{port}", "/etcdserverpb.KV/Txn", EtcdConfig((f"127.0.0.1:{port}",)))
    try:
        yield calls
    finally:
        calls.close()
        server.close()
        await server.wait_closed()


def success(stream: int) -> bytes:
    begin, end = frame(HEADERS, 4, stream, b"\x88"), frame(HEADERS, END | 4, stream, b"\x88")
    return begin + frame(DATA, 0, stream, MESSAGE) + end


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
async def test_a_message_may_arrive_in_any_pieces(piece: int) -> None:
    peer = Peer(success)
    peer.piece = piece
    async with calling(peer) as calls:
        assert [await calls.call(b"question", None) for _ in range(3)] == [b"hello"] * 3
    assert peer.connections == 1
    assert [stream for _, stream, _ in peer.received(DATA)] == [1, 3, 5]
    assert peer.received(DATA)[0] == (END, 1, b"\x00\x00\x00\x00\x08question")
    fields = peer.received(HEADERS)[0][2]
    assert b"/etcdserverpb.KV/Txn" in fields
    assert b"application/grpc" in fields


async def test_a_login_is_sent_with_the_call() -> None:
    peer = Peer(success)
    async with calling(peer) as calls:
        for token in ("short", "x" * 126, "x" * 127, "x" * 5000):
            await calls.call(b"", token)
    fields = [payload for _, _, payload in peer.received(HEADERS)]
    assert fields[0].endswith(b"\x00\x05token\x05short")
    assert fields[1].endswith(b"\x05token\x7e" + b"x" * 126)
    assert fields[2].endswith(b"\x05token\x7f\x00" + b"x" * 127)
    assert fields[3].endswith(b"\x05token\x7f\x89\x26" + b"x" * 5000)


async def test_the_duties_of_a_client_are_met() -> None:
    def answer(stream: int) -> bytes:
        large = b"\x00" + (20_000).to_bytes(4, "big") + bytes(20_000)
        ping = frame(PING, 0, 0, b"12345678") + frame(PING, ACK, 0, b"87654321") + frame(SETTINGS, ACK, 0)
        data = frame(DATA, 0, stream, large[:16_384]) + frame(DATA, 0, stream, large[16_384:])
        return ping + data + frame(HEADERS, END, stream)

    peer = Peer(answer)
    async with calling(peer) as calls:
        assert await calls.call(b"", None) == bytes(20_000)
        await calls.call(b"", None)
    assert peer.received(SETTINGS) == [(0, 0, b""), (ACK, 0, b"")]
    assert peer.received(PING)[0] == (ACK, 0, b"12345678")
    assert (0, 0, (16_384).to_bytes(4, "big")) in peer.received(WINDOW)


@pytest.mark.parametrize(
    "answer",
    [
        lambda stream: frame(HEADERS, END | 4, stream, b"\x88"),  # only trailers: an error of gRPC
        lambda stream: frame(DATA, 0, stream, MESSAGE[:-1]) + frame(HEADERS, END, stream),
        lambda stream: frame(DATA, 0, stream, b"\x01" + MESSAGE[1:]) + frame(HEADERS, END, stream),
        lambda stream: frame(RESET, 0, stream, bytes(4)),
        lambda _: frame(GOAWAY, 0, 0, bytes(8)),
        lambda _: None,
        lambda _: b"",
        lambda stream: success(stream + 2),
    ],
    ids=["trailers", "short", "compressed", "reset", "goaway", "closed", "silent", "other stream"],
)
async def test_a_failure_is_noticed_and_not_repeated_at_once(
    answer: Callable[[int], bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_calls, "_PATIENCE", 0.2)
    peer = Peer(answer)
    async with calling(peer) as calls:
        for _ in range(2):
            with pytest.raises(CallFailed):
                await calls.call(b"", None)
        assert peer.connections == 1
        calls._again = 0.0
        peer._answer = success
        assert await calls.call(b"", None) == b"hello"
        assert peer.connections == 2


async def test_an_unreachable_server_is_a_failure() -> None:
    calls = SmallCalls("127.0.0.1:1", "/", EtcdConfig(("127.0.0.1:1",)))
    with pytest.raises(CallFailed):
        await calls.call(b"", None)


@pytest.mark.parametrize("ca", [b"no certificate", b"\xff", None])
async def test_certificates_that_cannot_be_used_are_a_failure(
    ca: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    calls = SmallCalls("127.0.0.1:1", "/", EtcdConfig((), tls=Tls(ca, b"certificate", b"key")))
    with pytest.raises(CallFailed) as failure:
        await calls.call(b"", None)
    assert not isinstance(failure.value.__cause__, ConnectionRefusedError)


def repeated(monkeypatch: pytest.MonkeyPatch, store: EtcdStore) -> list[object]:
    """Records the transactions that gRPC makes."""
    made: list[object] = []
    client = store._session.client
    txn = client.txn

    async def noting(*arguments: object, **options: object) -> object:
        made.append(arguments)
        return await txn(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(client, "txn", noting)
    return made


@pytest.mark.slow
async def test_etcd_confirms_by_small_calls_also_after_its_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    require_etcd()
    with etcd() as (server,):
        store = await EtcdStore.open(EtcdConfig((server.endpoint,)))
        revision = await store.commit("/a/b/c", b"1", ABSENT, Actor("alice"))
        made = repeated(monkeypatch, store)
        for _ in range(100):
            assert await store.confirmed() == revision
        assert made == []
        await asyncio.to_thread(server.restart)
        await store._session.client.quorum.recovered()
        assert await store.confirmed() == revision
        assert len(made) == 1, "gRPC answers after the failure"
        store._session.client._members[0].small_txns._again = 0.0
        assert await store.confirmed() == revision
        assert len(made) == 1
        await store.close()


@pytest.mark.slow
async def test_small_calls_use_tls_and_logins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require_etcd()
    tls = certificates(tmp_path)
    flags = [
        f"--cert-file={tmp_path / 'server.pem'}",
        f"--key-file={tmp_path / 'server.key'}",
        f"--trusted-ca-file={tmp_path / 'ca.pem'}",
        "--client-cert-auth",
    ]
    with etcd(flags=flags, scheme="https") as (server,):
        store = await EtcdStore.open(EtcdConfig((server.endpoint,), "/tls", tls))
        made = repeated(monkeypatch, store)
        assert await store.confirmed() == 0
        assert made == []
        await store.close()
        wrong = SmallCalls(server.endpoint, "/etcdserverpb.KV/Txn", EtcdConfig((), tls=tls._replace(ca=None)))
        with pytest.raises(CallFailed):
            await wrong.call(b"", None)
    with etcd() as (server,):
        await demand_logins(server)
        store = await EtcdStore.open(EtcdConfig((server.endpoint,), "/mine", user="setpoint", password="p:w@rd"))
        made = repeated(monkeypatch, store)
        assert await store.confirmed() == 0
        assert made == []
        store._session.client._token = "forgotten"
        assert await store.confirmed() == 0
        assert len(made) == 1, "gRPC renews the login"
        await store.close()


@pytest.mark.slow
async def test_a_closed_store_makes_no_small_call() -> None:
    require_etcd()
    store = await EtcdStore.open(EtcdConfig((shared_etcd().endpoint,), "/closed"))
    await store.confirmed()
    connection = store._session.client._members[0].small_txns._connection
    assert connection is not None
    await store.close()
    assert not connection.is_open
