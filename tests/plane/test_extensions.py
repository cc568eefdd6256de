"""Endpoints that others add below the objects of custom resources."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import setpoint as sp
from setpoint.client.transport import Call
from setpoint.objects.errors import APIError, Forbidden, MethodNotAllowed, NotFound
from setpoint.plane import Serving
from setpoint.server.handshake import PROTOCOL
from setpoint.server.message import DuplexSink, Frame, Response, Sink
from setpoint.server.registry.resource import Resource as Served
from setpoint.server.request.context import Context
from setpoint.server.request.extension import Extension

PROTOCOLS = ("v5.channel.k8s.io",)
PATH = "/apis/example.com/v1/parrots/polly/"


class Parrot(sp.Resource, group="example.com", version="v1", scope="Cluster"):
    """Says what it hears."""


@dataclass
class Chat:
    """Says everything twice, until it hears nothing."""

    heard: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)

    async def run(self, sink: Sink) -> None:
        assert isinstance(sink, DuplexSink)
        assert sink.listen(self.heard.put_nowait)
        while message := await self.heard.get():
            sink.write(Frame(message * 2))


async def words(context: Context, resource: Served) -> Response:
    return Response(200, "text/plain", f"{context.info.name}: {context.query['say'][0]}".encode())


async def chat(context: Context, resource: Served) -> Response:
    return Response(200, "text/plain", Chat(), [(PROTOCOL, PROTOCOLS[0])])


SERVING = Serving(
    subresources=[
        Extension("example.com", "parrots", "words", {"get": words}),
        Extension("example.com", "parrots", "chat", {"get": chat, "create": chat}),
    ]
)


async def test_it_answers_for_its_verbs_and_is_told_of_in_discovery() -> None:
    async with sp.ControlPlane(serving=SERVING) as plane, plane.client() as client:
        await client.install(Parrot)
        assert (await client.send(Call("GET", PATH + "words", [("say", "hello")]))).body == b"polly: hello"
        with pytest.raises(MethodNotAllowed):
            await client.send(Call("DELETE", PATH + "words"))
        with pytest.raises(NotFound):
            await client.send(Call("GET", PATH + "songs"))
        found = (await client.send(Call("GET", "/apis/example.com/v1"))).body
        assert b'"parrots/words"' in found
        assert b'"parrots/chat"' in found


async def test_who_may_not_is_refused_before_it_is_asked() -> None:
    async with sp.ControlPlane(serving=SERVING) as plane, plane.client(user="ada") as client:
        await plane.client().install(Parrot)
        with pytest.raises(Forbidden, match="parrots/words"):
            await client.send(Call("GET", PATH + "words", [("say", "hello")]))


async def test_it_may_talk_over_a_websocket(tmp_path: Path) -> None:
    async with sp.ControlPlane(serving=SERVING) as plane:
        await plane.listen()
        plane.write_kubeconfig(tmp_path / "kubeconfig")
        async with sp.Client.from_kubeconfig(tmp_path / "kubeconfig") as client:
            await client.install(Parrot)
            async with client.socket(Call("GET", PATH + "chat"), PROTOCOLS) as socket:
                assert socket.protocol == PROTOCOLS[0]
                for message in (b"a", b"\x00\n\xff", b"x" * 100_000):
                    await socket.send(message)
                    assert await socket.receive() == message * 2
                await socket.send(b"")
                assert await socket.receive() is None


async def test_what_it_raises_is_an_answer() -> None:
    async def refuses(context: Context, resource: Served) -> Response:
        raise NotFound.of(resource.group_resource, context.info.name)

    extensions = [Extension("example.com", "parrots", "words", {"get": refuses})]
    async with sp.ControlPlane(serving=Serving(extensions)) as plane, plane.client() as client:
        await client.install(Parrot)
        with pytest.raises(APIError, match=r'parrots\.example\.com "polly" not found'):
            await client.send(Call("GET", PATH + "words"))
