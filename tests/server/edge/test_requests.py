"""Requests and answers on one connection: framing, order, keeping it alive, and refusing what is no HTTP."""

import asyncio
import json

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.edge.edge import Answer, Edge, Ticking, edge

from setpoint.server.edge.limits import Limits
from setpoint.server.message import Request, Response


def status_of(answer: Answer) -> tuple[int, str, str]:
    """What a Status says; it is one, or this fails."""
    body = json.loads(answer.body)
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
    assert (body["code"], answer.headers["content-type"]) == (answer.status, "application/json")
    return answer.status, body["reason"], body["message"]


async def test_a_request_is_handed_over_as_it_was_sent() -> None:
    seen: list[Request] = []

    async def keep(request: Request) -> Response:
        seen.append(request)
        return Response(201, "application/json", b"{}", (("X-One", "1"),))

    async with edge(keep) as server:
        client = await server.connect()
        answer = await client.ask("/a%20b/c?x=1&y=%2F", "POST", b"body", "X-TWICE: a\r\nx-twice: b\r\n")
        assert answer.status == 201
        assert answer.body == b"{}"
        assert answer.headers["x-one"] == "1"
        assert answer.headers["date"].endswith(" GMT")
    [request] = seen
    assert (request.method, request.path, request.query) == ("POST", "/a%20b/c", "x=1&y=%2F")
    assert request.body == b"body"
    assert request.headers["x-twice"] == "a, b"
    assert request.peer.address.startswith("127.0.0.1:")
    assert not request.peer.in_process


async def test_a_connection_is_kept_for_the_next_request() -> None:
    async with edge() as server:
        client = await server.connect()
        for number in range(50):
            assert (await client.ask(f"/{number}")).body == f"GET /{number}? 0".encode()
        assert len(server.listener.connections) == 1


async def test_pipelined_requests_are_answered_in_order_however_long_each_takes() -> None:
    async def slow_first(request: Request) -> Response:
        await asyncio.sleep(0.05 if request.path == "/0" else 0)
        return Response(200, "text/plain", request.path.encode())

    async with edge(slow_first) as server:
        client = await server.connect()
        client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(200)))
        bodies = [(await client.answer()).body for _ in range(200)]
        assert bodies == [b"/%d" % number for number in range(200)]


async def test_reading_stops_while_too_many_requests_wait() -> None:
    release = asyncio.Event()
    size = 1 << 18

    async def wait(request: Request) -> Response:
        await release.wait()
        return Response(200, "text/plain", b"%d" % len(request.body))

    async with edge(wait, Limits(pipelined_bytes=size)) as server:
        client = await server.connect()
        one = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
        for _ in range(100):
            client.send(one)
        sending = asyncio.create_task(client.writer.drain())
        done, _ = await asyncio.wait([sending], timeout=0.3)
        assert not done  # 26 MB do not fit anywhere: the server has stopped taking them
        release.set()
        assert [(await client.answer()).body for _ in range(100)] == [b"%d" % size] * 100


@pytest.mark.parametrize("pieces", [1, 3, 7])
async def test_a_request_may_come_in_pieces_and_its_body_in_chunks(pieces: int) -> None:
    whole = (
        b"POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;comment=1\r\nabc\r\n4\r\ndefg\r\n0\r\nHost: trailer\r\nX-Late: 1\r\n\r\n"
    )

    async def tell(request: Request) -> Response:
        return Response(200, "text/plain", request.body, tuple(request.headers.items()))

    async with edge(tell) as server:
        client = await server.connect()
        for start in range(0, len(whole), pieces):
            client.send(whole[start : start + pieces])
            await asyncio.sleep(0)
        answer = await client.answer()
        assert answer.body == b"abcdefg"
        assert answer.headers["host"] == "x"  # what comes after the body is no header
        assert "x-late" not in answer.headers
        assert (await client.ask()).status == 200


async def test_head_answers_with_the_headers_of_get_and_no_body() -> None:
    async with edge() as server:
        client = await server.connect()
        got, told = await client.ask("/x"), await client.ask("/x", "HEAD")
        assert told.headers["content-length"] == str(len(got.body) + 1)  # "HEAD" is longer than "GET"
        assert (await client.ask("/y")).body == b"GET /y? 0"


async def test_head_of_a_stream_does_not_start_it() -> None:
    stream = Ticking()

    async def watch(request: Request) -> Response:
        return Response(200, "application/json", stream)

    async with edge(watch) as server:
        client = await server.connect()
        assert (await client.ask(method="HEAD")).headers["transfer-encoding"] == "chunked"
        assert not stream.running
        assert (await client.ask(method="HEAD")).status == 200


async def test_a_body_in_parts_is_sent_as_one() -> None:
    parts = [b"%d," % number * 50 for number in range(5000)]

    async def listed(request: Request) -> Response:
        return Response(200, "application/json", list(parts))

    async with edge(listed) as server:
        client = await server.connect()
        answer = await client.ask()
        assert answer.body == b"".join(parts)
        assert (await client.ask(method="HEAD")).headers["content-length"] == str(len(answer.body))


@pytest.mark.parametrize("status", [204, 304])
async def test_answers_that_never_have_a_body_tell_no_length(status: int) -> None:
    async def nothing(request: Request) -> Response:
        return Response(status, "", b"")

    async with edge(nothing) as server:
        client = await server.connect()
        for _ in range(2):
            answer = await client.ask()
            assert answer.status == status
            assert "content-length" not in answer.headers
            assert "content-type" not in answer.headers


async def test_a_header_value_cannot_smuggle_in_another_header() -> None:
    async def careless(request: Request) -> Response:
        return Response(200, "text/plain", b"", (("X-Said", "a\r\nX-Evil: 1\r\n\r\nb\ud800"),))

    async with edge(careless) as server:
        client = await server.connect()
        answer = await client.ask()
        assert "x-evil" not in answer.headers
        assert answer.headers["x-said"] == "a  X-Evil: 1    b?"


async def test_a_client_that_asks_first_is_told_to_go_on() -> None:
    async with edge() as server:
        client = await server.connect()
        head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        for _ in range(2):
            client.send(head)
            assert (await client.answer()).status == 100
            client.send(b"hello")
            assert (await client.answer()).body == b"POST /? 5"
        client.send(b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n" + head)
        assert (await client.answer()).body == b"GET /first? 0"
        assert (await client.answer()).status == 100
        client.send(b"hello")
        assert (await client.answer()).body == b"POST /? 5"


async def test_a_client_that_asks_first_whether_a_huge_body_is_welcome_is_told_no() -> None:
    async with edge() as server:
        client = await server.connect()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3145729\r\n\r\n")
        assert (await client.answer()).status == 413


@pytest.mark.parametrize("framing", ["length", "chunks"])
async def test_a_body_beyond_the_limit_is_refused_and_the_sender_sees_why(framing: str) -> None:
    async with edge() as server:
        client = await server.connect()
        size = 20 << 20
        if framing == "length":
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size, b"x" * size)
        else:
            chunk = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", *[chunk] * 20)
        answer = await client.answer()
        assert status_of(answer) == (
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
        )
        assert answer.headers["connection"] == "close"


async def test_a_body_at_the_limit_is_taken() -> None:
    async with edge() as server:
        client = await server.connect()
        assert (await client.ask("/", "POST", b"x" * 3145728)).body == b"POST /? 3145728"


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(20_000)) + b"\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 200_000 + b"\r\na\r\n0\r\n\r\n",
    ],
    ids=["path", "header", "headers", "trailer", "chunk comment"],
)
async def test_an_endless_head_is_refused_before_it_ends(head: bytes) -> None:
    async with edge(limits=Limits(head_bytes=50_000)) as server:
        client = await server.connect()
        for start in range(0, len(head) - 1000, 10_000):
            if client.writer.is_closing():
                break  # already refused
            client.send(head[start : start + 10_000])
            await asyncio.sleep(0.001)
        answer = await client.answer()
        assert status_of(answer) == (
            400,
            "BadRequest",
            "the request line and headers are larger than 50000 bytes",
        )


async def test_headers_repeated_without_end_are_refused() -> None:
    async with edge() as server:
        client = await server.connect()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 1000 + b"\r\n")
        assert status_of(await client.answer())[0] == 400


MALFORMED = {
    "not HTTP at all": b"hello there\r\n\r\n",
    "a TLS greeting on a plain port": b"\x16\x03\x01\x02\x00\x01\x00",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "a length and chunks": (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "two lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
    "a length that is no number": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3x\r\n\r\nabc",
    "a length beyond all bounds": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "a header without a colon": b"GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    "bytes in the path": b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    "a chunk of no size": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "bare line feeds": b"GET / HTTP/1.1\nHost: x\n\n",
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_what_is_no_request_gets_one_refusal_and_the_end(name: str) -> None:
    async with edge(limits=Limits(linger_seconds=0.05)) as server:
        client = await server.connect()
        client.send(b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n")
        client.send(MALFORMED[name])
        assert (await client.answer()).body == b"GET /good? 0"  # what came before it is answered
        answer = await client.answer()
        assert status_of(answer)[:2] == (400, "BadRequest")
        assert answer.headers["connection"] == "close"
        assert await client.at_end()


async def test_an_offer_of_another_protocol_is_declined() -> None:
    async with edge() as server:
        client = await server.connect()
        answer = await client.ask("/x", headers="Connection: Upgrade\r\nUpgrade: h2c\r\n")
        assert (answer.status, answer.body) == (200, b"GET /x? 0")
        assert answer.headers["connection"] == "close"
        assert await client.at_end()


async def test_a_target_that_names_the_server_is_read_as_its_path() -> None:
    async with edge() as server:
        client = await server.connect()
        assert (await client.ask("http://x:1/a/b?c=d")).body == b"GET /a/b?c=d 0"
        assert (await client.ask("http://x:1")).body == b"GET /? 0"
        assert (await client.ask("*", "OPTIONS")).body == b"OPTIONS *? 0"


async def test_a_client_that_wants_no_more_is_let_go() -> None:
    async with edge() as server:
        client = await server.connect()
        answer = await client.ask(headers="Connection: close\r\n")
        assert answer.headers["connection"] == "close"
        assert await client.at_end()


async def test_a_client_of_http_1_0_is_served_too() -> None:
    async def watch(request: Request) -> Response:
        return Response(200, "text/plain", Ticking(3) if request.path == "/watch" else b"whole")

    async with edge(watch) as server:
        client = await server.connect()
        client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        answer = await client.answer()
        assert (answer.body, answer.headers["connection"]) == (b"whole", "keep-alive")
        client.send(b"GET /watch HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        answer = await client.answer()  # it knows no chunks: the body ends with the connection
        assert answer.body == b"tick\n" * 3
        assert "transfer-encoding" not in answer.headers
        assert answer.headers["connection"] == "close"


async def test_a_handler_that_fails_costs_one_answer_and_not_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def failing(request: Request) -> Response:
        if request.path == "/bad":
            raise KeyError("oops")
        return Response(200, "text/plain", b"fine")

    async with edge(failing) as server:
        client = await server.connect()
        code, reason, message = status_of(await client.ask("/bad"))
        assert (code, reason) == (500, "InternalError")
        assert "oops" not in message  # what is inside stays inside
        assert (await client.ask("/good")).body == b"fine"
    assert "GET /bad failed" in caplog.text


ANY_BYTES = st.binary(max_size=200)
FRAGMENTS = st.sampled_from(
    [
        *(b"GET / HTTP/1.1\r\n", b"POST /x HTTP/1.1\r\n", b"Host: x\r\n", b"\r\n", b"Content-Length: 5\r\n", b"hello"),
        *(b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n", b"Expect: 100-continue\r\n", b": \r\n"),
        *(b"Connection: close\r\n", b"Connection: Upgrade\r\nUpgrade: x\r\n", b"HTTP/1.0\r\n", b"\0", b" "),
    ]
)


@settings(max_examples=60)
@given(st.lists(st.lists(FRAGMENTS | ANY_BYTES, max_size=8), min_size=1, max_size=8))
def test_whatever_bytes_a_client_sends_the_server_answers_the_next_one(conversations: list[list[bytes]]) -> None:
    async def main() -> None:
        async with edge(limits=Limits(linger_seconds=0.01)) as server:
            for pieces in conversations:
                await _converse(server, pieces)
            assert (await (await server.connect()).ask("/after")).body == b"GET /after? 0"

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(main(), 30))


async def _converse(server: Edge, pieces: list[bytes]) -> None:
    client = await server.connect()
    for piece in pieces:
        if not client.writer.transport.is_closing():
            client.send(piece)
        await asyncio.sleep(0)
    try:
        if not client.writer.transport.is_closing():
            client.writer.write_eof()
        data = await client.reader.read()  # ends: the server lets go of every client that says nothing more
    except ConnectionError:
        return
    if data:
        assert data.startswith((b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 400 Bad Request\r\n", b"HTTP/1.1 100 Continue\r\n"))


@pytest.mark.parametrize("method", ["FOO", "get", "LIST", "M-SEARCHES", "X" * 64])
async def test_a_method_that_the_parser_does_not_know_is_answered_by_the_handler(method: str) -> None:
    async with edge() as server:
        client = await server.connect()
        assert (await client.ask("/a", method, b"body")).body == f"{method} /a? 4".encode()
        # The connection is kept, and the next methods are those that were sent.
        assert (await client.ask("/b")).body == b"GET /b? 0"
        assert (await client.ask("/c", method)).body == f"{method} /c? 0".encode()


async def test_a_head_with_an_unknown_method_may_come_in_parts() -> None:
    async with edge() as server:
        client = await server.connect()
        client.send(b"FOO /a HTTP/1.1\r\nHo")
        await asyncio.sleep(0.01)
        client.send(b"st: x\r\nContent-Length: 2\r\n\r\nab")
        assert (await client.answer()).body == b"FOO /a? 2"


@pytest.mark.parametrize("method", ["F(O", "FO\x01", "X" * 65, ""])
async def test_a_method_that_is_no_token_is_refused(method: str) -> None:
    async with edge() as server:
        client = await server.connect()
        assert (await client.ask("/a", method)).status == 400
