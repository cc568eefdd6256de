"""Headers that repeat are parsed once: nobody can tell, whatever comes before and after."""

import asyncio
import json

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.edge.edge import Answer, Client, edge

from setpoint.server.edge.limits import Limits
from setpoint.server.edge.request_head import Envelope, Head
from setpoint.server.message import Request, Response

HEADERS = b"Host: x\r\nAuthorization: Bearer t\r\n\r\n"
WHOLE = b"GET /a HTTP/1.1\r\n" + HEADERS


def learned() -> Head:
    head = Head()
    head.cache(WHOLE, {"host": "x"})
    return head


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"GET /b?c=d HTTP/1.1", ("GET", "/b?c=d")),
        (b"DELETE / HTTP/1.1", ("DELETE", "/")),
        (b"GET /b HTTP/1.0", None),
        (b"GET /b HTTP/1.1 ", None),
        (b"GET  /b HTTP/1.1", None),
        (b"GET /b c HTTP/1.1", None),
        (b"GET /b", None),
        (b"get /b HTTP/1.1", None),
        (b"BREW /b HTTP/1.1", None),
        (b"GET http://x/b HTTP/1.1", None),
        (b"GET * HTTP/1.1", None),
        (b"GET /\xff HTTP/1.1", None),
        (b"GET /\t HTTP/1.1", None),
        (b"GET /\0 HTTP/1.1", None),
        (b"GET /\x7f HTTP/1.1", None),
        (b"", None),
    ],
)
def test_only_the_plainest_request_lines_pass_by_the_parser(line: bytes, found: tuple[str, str] | None) -> None:
    assert learned().repeated(line + b"\r\n" + HEADERS) == found


@pytest.mark.parametrize(
    "data",
    [
        WHOLE[:-1],
        WHOLE + b"\r\n",
        WHOLE + WHOLE,
        b"\r\n" + WHOLE,
        WHOLE.replace(b"Bearer t", b"Bearer u"),
        WHOLE.replace(b"Host", b"host"),
    ],
)
def test_whatever_else_differs_is_for_the_parser(data: bytes) -> None:
    assert learned().repeated(data) is None


def test_nothing_is_repeated_before_something_was_learned() -> None:
    assert Head().repeated(WHOLE) is None
    assert Head().repeated(b"") is None


BEFORE, AFTER = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ", b"\r\nAuthorization: Bearer t\r\n\r\n"


@pytest.mark.parametrize("body", [b"", b"five!", b"{}" * 100, AFTER, BEFORE + b"4" + AFTER + b"four"])
def test_a_plain_request_with_a_body_passes_by_the_parser(body: bytes) -> None:
    envelope = Envelope()
    for _ in range(2):
        sent = envelope.read(BEFORE + b"%d" % len(body) + AFTER + body)
        headers = {"host": "x", "content-length": str(len(body)), "authorization": "Bearer t"}
        assert sent == ("POST", "/a", headers, body)


@pytest.mark.parametrize(
    "data",
    [
        BEFORE + b"4" + AFTER + b"fou",
        BEFORE + b"4" + AFTER + b"four!",
        BEFORE + b"04" + AFTER + b"four",
        BEFORE + b"+4" + AFTER + b"four",
        BEFORE + b"4, 4" + AFTER + b"four",
        BEFORE + b"" + AFTER,
        BEFORE + b"4\r\nContent-Length: 4" + AFTER + b"four",
        BEFORE + b"4\r\nTransfer-Encoding: chunked" + AFTER + b"four",
        BEFORE + b"4\r\nConnection: close" + AFTER + b"four",
        BEFORE + b"4\r\nConnection: keep-alive, Upgrade" + AFTER + b"four",
        BEFORE + b"4\r\nProxy-Connection: close" + AFTER + b"four",
        BEFORE + b"4\r\nExpect: 100-continue" + AFTER + b"four",
        BEFORE + b"4\r\nX: " + AFTER + b"four",
        BEFORE + b"4\r\nX:y" + AFTER + b"four",
        BEFORE + b"4\r\nX: y " + AFTER + b"four",
        BEFORE + b"4\r\nX:  y" + AFTER + b"four",
        BEFORE + b"4\r\nX : y" + AFTER + b"four",
        BEFORE + b"4\r\n X: y" + AFTER + b"four",
        BEFORE + b"4\r\nX: y\nZ: z" + AFTER + b"four",
        BEFORE + b"4\r\nX: y\0" + AFTER + b"four",
        BEFORE + b"4\r\nX: \xc3\xa4" + AFTER + b"four",
        BEFORE + b"4\r\n: y" + AFTER + b"four",
        BEFORE.replace(b"Host: x\r\n", b"") + b"4" + AFTER + b"four",
        BEFORE.replace(b"HTTP/1.1", b"HTTP/1.0") + b"4" + AFTER + b"four",
        BEFORE.replace(b"/a", b"http://x/a") + b"4" + AFTER + b"four",
        b"POST /a HTTP/1.1",
        b"",
    ],
)
def test_whatever_is_not_plain_in_a_request_with_a_body_is_for_the_parser(data: bytes) -> None:
    assert Envelope().read(data) is None


def test_lines_that_change_from_request_to_request_do_not_take_the_places_of_others() -> None:
    envelope = Envelope()
    for number in range(1000):
        cause = b"\r\nSetpoint-Cause: c/%d/k" % number
        sent = envelope.read(BEFORE + b"4" + cause + AFTER + b"four")
        assert sent is not None
        assert sent.headers["setpoint-cause"] == f"c/{number}/k"
        assert envelope.read(BEFORE + b"4\r\nX: %d" % number + AFTER + b"four") is not None
    assert len(envelope._headers) == 32


TARGETS = st.sampled_from(["/", "/api/v1/pods?watch=0", "/b%20c", "http://x/abs", "*"])
HEAD_LINES = st.lists(
    st.sampled_from(
        [
            *(
                "Host: x",
                "Host: x",
                "host: y",
                "Accept: a",
                "Accept: b",
                "Expect: 100-continue",
                "X: ",
                "X:  y ",
                "X:y",
            ),
            *("Connection: keep-alive", "Connection: close", "Setpoint-Cause: a/b/c", "Setpoint-Cause: a/b/d"),
        ]
    ),
    max_size=3,
)
MESSAGES = st.tuples(
    st.sampled_from(["GET", "HEAD", "DELETE", "POST", "BREW"]),
    TARGETS,
    HEAD_LINES,
    st.sampled_from(["", "", "", "four", "four", "longer than ten", "\r\n\r\n", "none", "zeros", "chunks"]),
    st.sampled_from(["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0"]),
)


def message(method: str, target: str, lines: list[str], body: str, version: str) -> bytes:
    text = f"{method} {target} {version}\r\n" + "".join(f"{line}\r\n" for line in lines)
    if body == "chunks":
        return f"{text}Transfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n".encode()
    if body == "none":
        return f"{text}Content-Length: 0\r\n\r\n".encode()
    if body == "zeros":
        return f"{text}Content-Length: 004\r\n\r\nfour".encode()
    return f"{text}Content-Length: {len(body)}\r\n\r\n{body}".encode() if body else f"{text}\r\n".encode()


async def tell(request: Request) -> Response:
    headers = sorted(request.headers.items())
    body = [request.method, request.path, request.query, headers, request.body.decode()]
    return Response(200, "application/json", json.dumps(body).encode())


async def converse(client: Client, data: bytes, method: str) -> Answer:
    client.send(data)
    answer = await client.answer(method)
    if answer.status == 100:
        answer = await client.answer(method)
    answer.headers.pop("date", None)
    return answer


@settings(max_examples=80)
@given(st.lists(MESSAGES, min_size=2, max_size=10))
def test_a_request_means_the_same_after_others_as_it_does_alone(
    messages: list[tuple[str, str, list[str], str, str]],
) -> None:
    async def main() -> None:
        async with edge(tell, Limits(linger_seconds=0.0)) as server:
            kept = await server.connect()
            for parts in messages:
                data = message(*parts)
                alone = await converse(await server.connect(), data, parts[0])
                assert await converse(kept, data, parts[0]) == alone
                if alone.headers.get("connection") == "close":
                    kept = await server.connect()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(main(), 30))


async def test_requests_that_came_together_are_each_answered_when_they_come_together_again() -> None:
    async with edge(tell) as server:
        client = await server.connect()
        for _ in range(3):
            client.send(WHOLE + WHOLE.replace(b"/a", b"/b"))
            paths = [json.loads((await client.answer()).body)[1] for _ in range(2)]
            assert paths == ["/a", "/b"]


async def test_the_rest_of_a_request_is_not_taken_for_a_whole_one() -> None:
    async with edge(tell) as server:
        client = await server.connect()
        client.send(b"GET /first HTTP/1.1\r\nX: ")
        await asyncio.sleep(0.05)
        client.send(WHOLE)  # which is the value of X, and the headers after it
        assert ["x", "GET /a HTTP/1.1"] in json.loads((await client.answer()).body)[3]
        client.send(WHOLE)
        assert json.loads((await client.answer()).body)[1:4:2] == [
            "/a",
            [["authorization", "Bearer t"], ["host", "x"]],
        ]


async def test_a_body_that_looks_like_a_request_is_a_body() -> None:
    async with edge(tell) as server:
        client = await server.connect()
        client.send(WHOLE)
        await client.answer()
        client.send(b"POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(WHOLE))
        await asyncio.sleep(0.05)
        client.send(WHOLE)
        assert json.loads((await client.answer()).body)[4] == WHOLE.decode()
