"""Connections that become plain streams, and bodies that are sent while they are made."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from setpoint.client.http.endpoint import endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Call, Refused, TransportError

from .test_http_transport import listening

SWITCH = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"


@pytest.mark.parametrize("head", [SWITCH, PLAIN], ids=["switched", "just begun"])
async def test_after_its_head_a_hijacked_connection_is_bytes_both_ways(head: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        assert b"upgrade: tcp" in asked.lower()
        writer.write(head + b"first")
        # It echoes until the other side has said all, and says more after that.
        writer.write(await reader.read())
        writer.write(b"last")

    async with listening(talk) as url:
        transport = HttpTransport(endpoint(url))
        async with transport.hijack(Call("POST", "/attach")) as stream:
            await stream.write(b" in between ")
            stream.write_eof()
            heard = b""
            while piece := await stream.read():
                heard += piece
        assert heard == b"first in between last"
        await transport.close()


async def test_a_stream_that_is_refused_says_what_the_server_said() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 409 Conflict\r\nContent-Length: 11\r\n\r\nnot running")

    async with listening(talk) as url:
        transport = HttpTransport(endpoint(url))
        with pytest.raises(Refused) as refused:
            async with transport.hijack(Call("POST", "/attach")):
                pass
        assert (refused.value.answer.status, refused.value.answer.body) == (409, b"not running")
        await transport.close()


async def test_a_slow_reader_of_a_stream_makes_the_server_wait_and_loses_nothing() -> None:
    size = 8 << 20

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCH)
        writer.write(bytes(size))
        await writer.drain()

    async with listening(talk) as url:
        transport = HttpTransport(endpoint(url))
        async with transport.hijack(Call("POST", "/attach")) as stream:
            for _ in range(50):
                await asyncio.sleep(0)
            largest = heard = 0
            while piece := await stream.read():
                heard += len(piece)
                largest = max(largest, len(piece))
        assert heard == size
        assert largest < size / 2
        await transport.close()


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for each in given:
        await asyncio.sleep(0)
        yield each


async def test_a_body_is_sent_in_chunks_while_it_is_made() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert b"transfer-encoding: chunked" in head
        assert b"content-length" not in head
        body = b""
        while size := int((await reader.readline()).strip(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async with listening(talk) as url:
        transport = HttpTransport(endpoint(url))
        async with transport.upload(Call("POST", "/build"), pieces(b"one ", b"", b"two ", bytes(2 << 20))) as stream:
            said = b"".join([piece async for piece in stream])
        assert said == b"one two " + bytes(2 << 20)
        await transport.close()


async def test_an_answer_before_the_end_of_the_body_is_heard() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nbad")
        await writer.drain()
        await heard.wait()

    heard = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(1 << 16)
            await asyncio.sleep(0)

    async with listening(talk) as url:
        transport = HttpTransport(endpoint(url))
        async with transport.upload(Call("POST", "/build"), endless()) as stream:
            assert (stream.answer.status, stream.answer.body) == (400, b"bad")
        heard.set()
        await transport.close()


@pytest.mark.parametrize("begun", [False, True], ids=["before the answer", "after it began"])
async def test_a_body_that_fails_ends_the_request_with_its_own_error(begun: bool) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if begun:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
        await reader.read()

    has_begun = asyncio.Event()

    async def broken() -> AsyncIterator[bytes]:
        yield b"some"
        if begun:
            await has_begun.wait()
        raise OSError("the disk is gone")

    async def sent(transport: HttpTransport) -> None:
        async with transport.upload(Call("POST", "/build"), broken()) as stream:
            async for _ in stream:
                has_begun.set()

    async with listening(talk) as url:
        transport = HttpTransport(endpoint(url))
        with pytest.raises(OSError, match="the disk is gone"):
            await sent(transport)
        await transport.close()


async def test_a_server_that_goes_away_while_it_is_sent_a_body_is_told() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    async with listening(talk) as url:
        transport = HttpTransport(endpoint(url))
        with pytest.raises(TransportError):
            async with transport.upload(Call("POST", "/build"), pieces(*[bytes(1 << 20)] * 20)):
                pass
        await transport.close()
