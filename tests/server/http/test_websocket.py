"""Watching over a WebSocket, with the client that the official Kubernetes library uses."""

import asyncio
import json
import os
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.plane import ControlPlane
from setpoint.server.exchange import Request
from setpoint.server.http import websocket

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
        assert watch.recv_data(control_frame=True) == (websocket.PONG, b"are you there")
        watch.close()


def test_the_server_ends_a_watch_with_a_close_frame() -> None:
    with served() as (url, _):
        headers = ["Authorization: Bearer secret"]
        watch = client.create_connection(f"{url}{CONFIG_MAPS}?watch=1&timeoutSeconds=1", header=headers, timeout=10)
        kind, payload = watch.recv_data(control_frame=True)
        while kind == websocket.TEXT:
            kind, payload = watch.recv_data(control_frame=True)
        assert (kind, int.from_bytes(payload, "big")) == (websocket.CLOSE, websocket.NORMAL)
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


@given(st.lists(st.tuples(st.sampled_from((websocket.TEXT, websocket.BINARY)), st.binary(max_size=300)), max_size=5))
def test_frames_are_heard_however_their_bytes_come(messages: list[tuple[int, bytes]]) -> None:
    sent = b"".join(_masked(kind, payload) for kind, payload in messages)
    ear = websocket.Ear()
    heard = [found for place in range(len(sent)) for found in ear.hear(sent[place : place + 1])]
    assert heard == messages


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (websocket.frame(websocket.TEXT, b"not masked"), websocket.PROTOCOL_ERROR),
        (b"\xf1\x80abcd", websocket.PROTOCOL_ERROR),
        (b"\x09\x80abcd", websocket.PROTOCOL_ERROR),
        (b"\x89\xfe\x01\x00abcd", websocket.PROTOCOL_ERROR),
        (b"\x81\xff" + (1 << 40).to_bytes(8, "big"), websocket.TOO_BIG),
    ],
    ids=["not masked", "reserved bits", "half a ping", "a long ping", "far too long"],
)
def test_what_the_protocol_forbids_ends_the_connection(data: bytes, code: int) -> None:
    with pytest.raises(websocket.Refused) as refused:
        websocket.Ear().hear(data)
    assert refused.value.code == code


def _masked(kind: int, payload: bytes) -> bytes:
    """A frame as a client sends it."""
    mask = os.urandom(4)
    head = websocket.frame(kind, payload)[: -len(payload)] if payload else websocket.frame(kind, b"")
    head = bytes((head[0], head[1] | 0x80)) + head[2:]
    return head + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
