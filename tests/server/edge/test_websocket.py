"""Watching over a WebSocket, with the client that the official Kubernetes library uses."""

import asyncio
import json
import socket
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.server.protobuf.bodies import watch_events
from websockets.frames import CloseCode, Opcode

from setpoint.plane import ControlPlane
from setpoint.server.codec.protobuf import decode
from setpoint.server.message import Request

client = pytest.importorskip("websocket", reason="websocket-client comes with the official client: the group `clients`")

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@contextmanager
def served() -> Iterator[tuple[str, Callable[[str], None]]]:
    """A server in a thread: its address, and how to make a ConfigMap in it."""
    ready: list[str] = []
    loop = asyncio.new_event_loop()
    began, stop = threading.Event(), asyncio.Event()
    plane = ControlPlane(token="secret")

    async def serve() -> None:
        async with plane:
            ready.append((await plane.listen(tls=False)).replace("http", "ws", 1))
            began.set()
            await stop.wait()

    def make(name: str) -> None:
        body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).encode()

        async def ask() -> int:
            return (await plane.handler(Request("POST", CONFIG_MAPS, "", {}, body))).status

        assert asyncio.run_coroutine_threadsafe(ask(), loop).result(10) == 201

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert began.wait(10)
        yield ready[0], make
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def test_every_event_is_a_message_and_the_client_may_end_it() -> None:
    with served() as (url, make):
        make("a")
        make("b")
        headers = ["Authorization: Bearer secret"]
        watch = client.create_connection(f"{url}{CONFIG_MAPS}?watch=1&resourceVersion=0", header=headers, timeout=10)
        names: list[str] = []
        while len(names) < 2:
            event = json.loads(watch.recv())
            assert event["type"] in ("ADDED", "BOOKMARK")
            names += [event["object"]["metadata"]["name"]] if event["type"] == "ADDED" else []
        make("c")
        assert json.loads(watch.recv())["object"]["metadata"]["name"] == "c"
        assert {"a", "b"} <= set(names)
        watch.ping("are you there")
        assert watch.recv_data(control_frame=True) == (Opcode.PONG, b"are you there")
        watch.close()


def test_an_event_in_protobuf_is_a_binary_message_without_a_length() -> None:
    with served() as (url, make):
        make("a")
        make("b")
        accept = "application/vnd.kubernetes.protobuf;stream=watch"
        headers = ["Authorization: Bearer secret", f"Accept: {accept}"]
        watch = client.create_connection(f"{url}{CONFIG_MAPS}?watch=1&resourceVersion=0", header=headers, timeout=10)
        for name in ("a", "b"):
            kind, payload = watch.recv_data()
            assert kind == Opcode.BINARY
            (event,) = watch_events(len(payload).to_bytes(4) + payload)
            assert (event.type, decode(event.object)["metadata"]["name"]) == ("ADDED", name)
        watch.close()


def test_the_server_ends_a_watch_with_a_close_frame() -> None:
    with served() as (url, _):
        headers = ["Authorization: Bearer secret"]
        watch = client.create_connection(f"{url}{CONFIG_MAPS}?watch=1&timeoutSeconds=1", header=headers, timeout=10)
        kind, payload = watch.recv_data(control_frame=True)
        while kind == Opcode.TEXT:
            kind, payload = watch.recv_data(control_frame=True)
        assert (kind, int.from_bytes(payload, "big")) == (Opcode.CLOSE, CloseCode.NORMAL_CLOSURE)
        watch.shutdown()


def test_a_browser_brings_its_token_among_the_protocols() -> None:
    token = urlsafe_b64encode(b"secret").decode().rstrip("=")
    offered = [f"base64url.bearer.authorization.k8s.io.{token}", "v1.k8s.io"]
    with served() as (url, make):
        watch = client.create_connection(f"{url}{CONFIG_MAPS}?watch=1", subprotocols=offered, timeout=10)
        assert watch.subprotocol == "v1.k8s.io"
        make("a")
        assert json.loads(watch.recv())["object"]["metadata"]["name"] == "a"
        watch.close()
        with pytest.raises(client.WebSocketBadStatusException, match="403"):
            client.create_connection(f"{url}{CONFIG_MAPS}?watch=1", subprotocols=["v1.k8s.io"], timeout=10)


def test_what_is_no_stream_is_answered_as_it_stands() -> None:
    with served() as (url, _), pytest.raises(client.WebSocketBadStatusException, match="200"):
        client.create_connection(f"{url}{CONFIG_MAPS}", header=["Authorization: Bearer secret"], timeout=10)


def test_the_end_of_a_client_is_answered_and_so_is_a_breach_of_the_protocol() -> None:
    headers = ["Authorization: Bearer secret"]
    with served() as (url, _):
        for frame, code in (
            (bytes.fromhex("8882 00000000 03e8"), CloseCode.NORMAL_CLOSURE),
            (bytes.fromhex("8102 6869"), CloseCode.PROTOCOL_ERROR),
            (bytes.fromhex("8884 00000000 03e8 c328"), CloseCode.INVALID_DATA),
            (bytes.fromhex("81ff 0000010000000000"), CloseCode.MESSAGE_TOO_BIG),
        ):
            watch = client.create_connection(f"{url}{CONFIG_MAPS}?watch=1", header=headers, timeout=10)
            watch.sock.sendall(frame)
            kind, payload = watch.recv_data(control_frame=True)
            while kind == Opcode.TEXT:
                kind, payload = watch.recv_data(control_frame=True)
            assert (kind, int.from_bytes(payload[:2], "big")) == (Opcode.CLOSE, code)
            watch.shutdown()


def test_a_ping_before_the_offer_is_taken_does_not_get_before_the_answer() -> None:
    with served() as (url, _):
        host, port = url.removeprefix("ws://").split(":")
        with socket.create_connection((host, int(port)), 10) as early:
            early.sendall(
                f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                "Authorization: Bearer secret\r\n\r\n".encode()
                + bytes.fromhex("8980 00000000")
            )
            answer = early.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 101 ")
            assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" in answer
