"""The transport over HTTP, against real sockets: our own server, and servers that misbehave."""

import asyncio
import gc
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from setpoint.client.http.connection import HttpConnection
from setpoint.client.http.dial import dial
from setpoint.client.http.endpoint import EndpointError, endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Call, TransportError
from setpoint.plane import ControlPlane

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(talk: Talk) -> AsyncIterator[str]:
    """A server that says what a test wants, at a URL. Its connections are closed at the end."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()
        for writer in writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def served(**options: object) -> AsyncIterator[HttpTransport]:
    """A control plane, and a transport to it."""
    async with ControlPlane(token="secret") as plane:
        url = await plane.listen(tls=False)
        async with transport(url, **{"credentials": token, **options}) as found:
            yield found


@asynccontextmanager
async def transport(url: str, **options: object) -> AsyncIterator[HttpTransport]:
    found = HttpTransport(endpoint(url), **options)  # type: ignore[arg-type]
    try:
        yield found
    finally:
        await found.close()


async def token(refused: Mapping[str, str] | None) -> Mapping[str, str]:
    return {"authorization": "Bearer secret"}


async def test_requests_and_answers_go_over_one_kept_connection() -> None:
    async with ControlPlane(token="secret") as plane:
        url = await plane.listen(tls=False)
        async with transport(url, credentials=token) as client:
            body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}'
            made = await client.send(Call("POST", CONFIG_MAPS, (), {"content-type": "application/json"}, body))
            assert made.status == 201
            found = await client.send(Call("GET", f"{CONFIG_MAPS}/a", [("fieldManager", "ä b")]))
            assert found.status == 200
            assert b'"k":"v"' in found.body
            assert found.headers["content-type"] == "application/json"
            assert len(client._pool.open) == 1


async def test_a_stream_is_read_as_it_comes_and_ends_when_it_is_left() -> None:
    async with served() as client:
        async with client.stream(Call("GET", CONFIG_MAPS, [("watch", "1")])) as stream:
            assert stream.answer.status == 200
            body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}'
            await client.send(Call("POST", CONFIG_MAPS, (), {"content-type": "application/json"}, body))
            async for piece in stream:
                assert b'"type":"ADDED"' in piece
                break
        assert len(client._pool.open) == 1


async def test_an_error_in_place_of_a_stream_has_its_body() -> None:
    nowhere = Call("GET", "/apis/nobody/v1/things", [("watch", "1")])
    async with served() as client, client.stream(nowhere) as stream:
        assert stream.answer.status == 404
        assert stream.answer.body


async def test_the_servers_certificate_is_checked(tmp_path: Path) -> None:
    async with ControlPlane(token="secret", data=tmp_path) as plane:
        url = await plane.listen()
        async with transport(url, credentials=token) as stranger:
            with pytest.raises(TransportError, match="certificate"):
                await stranger.send(Call("GET", "/version"))
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        friend = HttpTransport(endpoint(url, tls=trusting), credentials=token)
        assert (await friend.send(Call("GET", "/version"))).status == 200
        await friend.close()


@pytest.mark.parametrize("moment", ["connected", "agreed"])
async def test_a_request_cancelled_while_it_connects_leaves_no_connection(tmp_path: Path, moment: str) -> None:
    """asyncio cannot close TLS that has not begun, and ends agreed TLS only after an answer of the server."""

    class Cancelling(HttpConnection):
        def __init__(self) -> None:
            super().__init__()
            if moment == "connected":
                dialing.cancel()

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            dialing.cancel()

    async with ControlPlane(token="secret", data=tmp_path) as plane:
        url = await plane.listen()
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        dialing = asyncio.ensure_future(dial(endpoint(url, tls=trusting), Cancelling))
        await asyncio.wait([dialing])
        assert dialing.cancelled()
        await asyncio.sleep(0)
        assert [each for each in gc.get_objects() if is_open_connection(each, url)] == []


def is_open_connection(found: object, url: str) -> bool:
    if type(found) is not socket.socket or found.family != socket.AF_INET:
        return False
    try:
        return bool(found.getpeername()[1] == int(url.rpartition(":")[2]))
    except OSError:  # closed, or not connected
        return False


async def test_credentials_that_the_server_does_not_know_are_asked_for_anew_once() -> None:
    asked: list[Mapping[str, str] | None] = []
    stale = {"authorization": "Bearer stale"}

    async def credentials(refused: Mapping[str, str] | None) -> Mapping[str, str]:
        asked.append(refused)
        return {"authorization": "Bearer secret"} if refused else stale

    async with served(credentials=credentials) as client:
        assert (await client.send(Call("GET", CONFIG_MAPS))).status == 200
    assert asked == [None, stale]


async def test_a_kept_connection_that_the_server_closed_is_replaced_for_reads_and_reported_for_writes() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")  # the next request, which is left without an answer

    async with listening(once) as url, transport(url) as client:
        for _ in range(3):
            assert (await client.send(Call("GET", "/"))).body == b"ok"
        with pytest.raises(TransportError) as failed:
            await client.send(Call("POST", "/", body=b"{}"))
        assert failed.value.sent


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "closed the connection"),
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, "larger than"),
    ],
    ids=["nothing", "another protocol", "half an answer", "an endless head"],
)
async def test_an_answer_that_is_none_is_an_error_that_says_why(said: bytes, why: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()

    async with listening(talk) as url, transport(url) as client:
        with pytest.raises(TransportError, match=why):
            await client.send(Call("GET", "/"))


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        await writer.drain()

    async with listening(talk) as url, transport(url) as client:
        assert (await client.send(Call("GET", "/"))).body == b"all of it"


@pytest.mark.feature("E42")
async def test_a_server_that_does_not_answer_in_time_is_left() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(talk) as url, transport(url) as client:
        with pytest.raises(TransportError, match=r"within 0\.05 s"):
            await client.send(Call("GET", "/", timeout=0.05))
        assert not client._pool.open


async def test_a_stream_that_nobody_takes_holds_the_server_back() -> None:
    sent = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"x" * 65536
        while True:
            writer.write(b"10000\r\n" + chunk + b"\r\n")
            await writer.drain()
            sent += len(chunk)

    async with listening(talk) as url, transport(url) as client, client.stream(Call("GET", "/")) as stream:
        previous = -1
        while sent != previous:
            previous = sent
            await asyncio.sleep(0.05)
        held = sent
        assert held < 64 << 20
        taken = 0
        async for piece in stream:
            taken += len(piece)
            if taken > held + (8 << 20):
                break


async def test_nobody_listening_is_told_apart_from_a_lost_answer() -> None:
    async with listening(lambda reader, writer: asyncio.sleep(0)) as url:
        pass
    async with transport(url) as client:
        with pytest.raises(TransportError, match="cannot connect") as failed:
            await client.send(Call("GET", "/"))
        assert not failed.value.sent


@pytest.mark.parametrize("status", ["200 Connection established", "407 Proxy Authentication Required"])
async def test_a_proxy_tunnels_or_says_why_not(status: str) -> None:
    seen: list[bytes] = []
    async with ControlPlane(token="secret") as plane:
        url = await plane.listen(tls=False)
        port = int(url.rpartition(":")[2])

        async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(f"HTTP/1.1 {status}\r\n\r\n".encode())
            if not status.startswith("200"):
                return
            inner, outer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pump(reader, outer), _pump(inner, writer))

        async with listening(proxy) as through:
            where = endpoint(url, proxy=through.replace("://", "://me:word@"))
            client = HttpTransport(where, credentials=token)
            if status.startswith("200"):
                assert (await client.send(Call("GET", "/version"))).status == 200
            else:
                with pytest.raises(TransportError, match="407"):
                    await client.send(Call("GET", "/version"))
            await client.close()
    assert seen[0].startswith(b"CONNECT 127.0.0.1:")
    assert b"Proxy-Authorization: Basic bWU6d29yZA==" in seen[0]


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def test_a_unix_socket_is_an_address_too(tmp_path: Path) -> None:
    async with ControlPlane(token="secret") as plane:
        path = tmp_path / "s"
        await plane.listen_unix(path)
        client = HttpTransport(endpoint("http://localhost", unix=str(path)), credentials=token)
        assert (await client.send(Call("GET", "/version"))).status == 200
        await client.close()


@pytest.mark.parametrize("url", ["ftp://host", "https://", "http://:80"])
def test_what_is_no_address_is_named(url: str) -> None:
    with pytest.raises(EndpointError, match="expected https"):
        endpoint(url)


def answering(*answers: bytes) -> Talk:
    """Says these, one to a request, and then waits for the other side to go."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
        await reader.read()

    return talk


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FORGED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"


@pytest.mark.parametrize("first", [OK + FORGED, OK + FORGED[:30]], ids=["a whole one", "half of one"])
async def test_a_second_answer_to_one_request_is_never_taken_for_that_to_the_next(first: bytes) -> None:
    async with listening(answering(first, OK)) as url, transport(url) as client:
        for _ in range(3):
            assert (await client.send(Call("GET", "/"))).body == b"ok"
            assert not client._pool.open


async def test_words_on_the_way_and_chunks_with_trailers_are_understood() -> None:
    chunked = (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;extension=1\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: late\r\n\r\n"
    )
    async with listening(answering(chunked, OK)) as url, transport(url) as client:
        answer = await client.send(Call("GET", "/"))
        assert (answer.body, "trailer" in answer.headers, "link" in answer.headers) == (b"abcde", False, False)
        assert (await client.send(Call("GET", "/"))).body == b"ok"
        assert len(client._pool.open) == 1


async def test_a_stream_that_came_whole_while_nobody_read_it_leaves_a_connection_that_works() -> None:
    body = b"x" * (3 << 20)
    long = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    async with listening(answering(long, OK)) as url, transport(url) as client:
        async with client.stream(Call("GET", "/")) as stream:
            pieces = [piece async for piece in stream]
        assert b"".join(pieces) == body
        assert (await client.send(Call("GET", "/", timeout=5))).body == b"ok"
        assert len(client._pool.open) == 1


async def test_a_write_goes_over_a_new_connection_where_the_old_one_has_just_ended() -> None:
    seen = 0

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        seen += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()

    async with listening(once) as url, transport(url) as client:
        for number in range(5):
            assert (await client.send(Call("POST", "/"))).body == b"ok"
            # The end of the connection is there, and the event loop has not come to it.
            assert seen == number + 1


async def test_a_server_that_answers_before_it_has_read_everything_is_heard() -> None:
    async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
        await writer.drain()
        await heard.wait()

    heard = asyncio.Event()
    async with listening(early) as url, transport(url) as client:
        answer = await client.send(Call("POST", "/", body=b"x" * (8 << 20), timeout=60))
        assert (answer.status, answer.body) == (413, b"big")
        heard.set()


async def test_what_would_break_a_request_is_not_sent() -> None:
    async with transport("http://127.0.0.1:1") as client:
        for call in (
            Call("GET", "/a b"),
            Call("GET", "/a\r\nHost: evil"),
            Call("GET", "/", headers={"impersonate-user": "jane\r\nImpersonate-Group: system:masters"}),
            Call("GET", "/", headers={"x": "a\nb"}),
        ):
            with pytest.raises(TransportError, match="line break or a space") as failed:
                await client.send(call)
            assert not failed.value.sent


async def test_so_many_requests_are_under_way_at_once_and_no_more() -> None:
    under_way = most = 0

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        while await reader.readuntil(b"\r\n\r\n"):
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.005)
            under_way -= 1
            writer.write(OK)

    async with listening(slow) as url, transport(url, max_requests=4) as client:
        await asyncio.gather(*(client.send(Call("GET", "/")) for _ in range(40)))
        assert len(client._pool.open) == 4
    assert most == 4


async def test_whoever_stops_waiting_leaves_nothing_behind() -> None:
    async with listening(answering()) as url, transport(url, max_requests=1) as client:
        for _ in range(3):
            asking = asyncio.ensure_future(client.send(Call("GET", "/")))
            await asyncio.sleep(0.01)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert not client._pool.open


async def test_closing_ends_what_is_under_way() -> None:
    async with listening(answering()) as url, transport(url) as client:
        asking = asyncio.ensure_future(client.send(Call("GET", "/")))
        await asyncio.sleep(0.02)
        await client.close()
        with pytest.raises(TransportError, match="the client is closed"):
            await asking
        with pytest.raises(TransportError, match="the client is closed"):
            await client.send(Call("GET", "/"))


async def test_credentials_that_stay_the_same_are_not_tried_twice() -> None:
    asked = 0

    async def refusing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        while await reader.readuntil(b"\r\n\r\n"):
            asked += 1
            writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    async with listening(refusing) as url, transport(url, credentials=token) as client:
        assert (await client.send(Call("GET", "/"))).status == 401
        async with client.stream(Call("GET", "/")) as stream:
            assert stream.answer.status == 401
        assert len(client._pool.open) == 1
    assert asked == 2


@pytest.mark.parametrize("case", ["plain", "login", "refused", "another protocol"])
async def test_a_socks_proxy_tunnels_or_says_why_not(case: str) -> None:
    seen: list[bytes] = []
    async with ControlPlane(token="secret") as plane:
        url = await plane.listen(tls=False)
        port = int(url.rpartition(":")[2])

        async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            seen.append(await reader.readexactly(3))
            if case == "another protocol":
                writer.write(b"HTTP/1.1 400 Bad\r\n\r\n")
                return
            writer.write(b"\x05" + seen[0][2:3])
            if case == "login":
                seen.append(await reader.readexactly(9))
                writer.write(b"\x01\x00")
            seen.append(await reader.readexactly(4 + 1 + 9 + 2))
            if case == "refused":
                writer.write(b"\x05\x02\x00\x01" + b"\0" * 6)
                return
            writer.write(b"\x05\x00\x00\x01" + b"\0" * 6)
            inner, outer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pump(reader, outer), _pump(inner, writer))

        async with listening(proxy) as through:
            who = "me:word@" if case == "login" else ""
            where = endpoint(url, proxy=through.replace("http://", f"socks5://{who}"))
            client = HttpTransport(where, credentials=token)
            why = {"refused": "rules of the proxy forbid", "another protocol": "not a SOCKS 5 proxy"}.get(case)
            if why is None:
                assert (await client.send(Call("GET", "/version"))).status == 200
                assert seen[-1] == b"\x05\x01\x00\x03\x09127.0.0.1" + port.to_bytes(2)
            else:
                with pytest.raises(TransportError, match=why):
                    await client.send(Call("GET", "/version"))
            await client.close()
    if case == "login":
        assert seen[1] == b"\x01\x02me\x04word"
