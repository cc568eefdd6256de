"""A short run of `make fuzz`, and tests that its judge can fail."""

import asyncio
from pathlib import Path

import pytest
from tests.fuzz import client
from tests.fuzz.answers import Answer, Malformed, take, wrong
from tests.fuzz.case import Case
from tests.fuzz.client import Client
from tests.fuzz.making import Maker
from tests.fuzz.paths import Served
from tests.fuzz.run import Report, run
from tests.fuzz.world import TOKENS, World, world

# Sends thousands of requests to a server process.
pytestmark = pytest.mark.slow

COUNT = 3000
CASE = Case(0, "path", "admin", "GET", "/api/v1/pods", b"")
STATUS = b'{"kind":"Status","status":"Failure","code":%d,"message":"m"}'


def test_malformed_requests_over_the_wire_get_proper_answers_and_break_nothing(tmp_path: Path) -> None:
    with world(tmp_path) as server:
        report = run(server, 15, 0, COUNT, tmp_path / "findings", lambda line: None)
    assert report.problems == []
    assert report.count == COUNT
    # The run is worthless if everything ends at the first check.
    for status in ("200", "201", "400", "401", "403", "404", "405", "409", "415", "422", "stream"):
        assert report.statuses.get(status), f"no case got {status}"


def test_a_seed_and_a_number_always_make_the_same_case() -> None:
    served = [Served("/api/v1", "pods", True), Served("/apis/apps/v1", "deployments/scale", True)]
    forward = Maker(3, served, ["/healthz"])
    cases = [forward.case(index, TOKENS) for index in range(300)]
    backward = Maker(3, served, ["/healthz"])
    assert [backward.case(index, TOKENS) for index in reversed(range(300))] == cases[::-1]
    assert len({case.data for case in cases}) > 250


REFUSED = """\
2026-01-01 12:00:00,000 ERROR setpoint.controller.watch: the handler failed for a change of default/a in v1/Secret
Traceback (most recent call last):
  File "requests.py", line 120, in send
setpoint.objects.errors.Forbidden: secrets is forbidden: User "u" cannot list resource "secrets"
"""

COLLECTING = (
    "2026-01-01 12:00:00,000 WARNING setpoint.system.pod_garbage_collector: the garbage collection of pods failed:"
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (REFUSED, 0),
        (f'{COLLECTING} forbidden: User "u" cannot get path "/api"', 0),
        (f"{COLLECTING} internal error", 1),
        (REFUSED.replace("errors.Forbidden", "errors.Mistake"), 1),
        (REFUSED.replace("controller.watch", "controller.manager"), 1),
        (REFUSED + "watch.py:302: RuntimeWarning: coroutine 'f' was never awaited\n  found += await asked\n", 1),
        (REFUSED + "Exception ignored in: <coroutine object f>\nTraceback (most recent call last):\n", 1),
        ("2026-01-01 12:00:00,000 INFO setpoint: up\na.py:1: ResourceWarning: unclosed file\n", 1),
        ("2026-01-01 12:00:00,000 INFO setpoint: up\n", 0),
    ],
)
def test_a_complaint_in_the_log_is_found(tmp_path: Path, text: str, count: int) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    assert len(World("127.0.0.1", 0, 0, log).complaints()) == count


def answer(status: int, body: bytes, content_type: str = "application/json") -> Answer:
    return Answer(status, content_type, body, False, False)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (answer(500, STATUS % 500), "unintended 500"),
        (answer(400, STATUS % 422), "a Status with a wrong code or without a message"),
        (answer(400, b'{"kind":"Pod"}'), "an error that is no Status"),
        (answer(200, b"{"), "invalid JSON: Input data was truncated"),
        (answer(400, b"no", "text/plain"), "a 400 in plain text"),
        (answer(400, b"<html>", "text/html"), "an error of type 'text/html'"),
        (answer(400, b"a: b", "application/yaml"), "an error in YAML that is no Status"),
    ],
)
def test_a_wrong_answer_is_found(given: Answer, reason: str) -> None:
    assert wrong(CASE, given) == reason


@pytest.mark.parametrize("given", [answer(503, STATUS % 503), answer(404, b"404 page not found\n", "text/plain")])
def test_an_intended_error_is_accepted(given: Answer) -> None:
    assert wrong(CASE, given) == ""


@pytest.mark.parametrize(
    "data",
    [
        b"oops",
        b"HTTP/1.1 99 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA\0: b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 400 Bad Request\r\nA: b\r\n\r\n",
    ],
)
def test_bytes_that_are_no_answer_are_found(data: bytes) -> None:
    with pytest.raises(Malformed):
        take(bytearray(data), "GET")


def test_answers_are_taken_one_by_one() -> None:
    one = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nok"
    buffer = bytearray(b"HTTP/1.1 100 Continue\r\n\r\n" + one + one[:-1])
    assert take(buffer, "GET") == Answer(200, "a/b", b"ok", False, False)
    assert take(buffer, "GET") is None
    assert bytes(buffer) == one[:-1]


async def _served(answer: bytes, cases: list[Case], findings: Path) -> Client:
    """Sends cases to a server that answers everything with the same bytes."""
    sent = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.read(1 << 16):
                writer.write(answer)
            if not answer:
                await sent.wait()
        except ConnectionError:
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        sending = Client(host, port, findings)
        await sending.send(iter(cases))
        sent.set()  # the server ends when its connections have ended
    return sending


@pytest.mark.parametrize("alone", [False, True])
def test_a_server_that_does_not_answer_is_found(alone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PATIENCE_SECONDS", 0.1)
    case = CASE._replace(data=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", alone=alone)
    found = asyncio.run(_served(b"", [case], tmp_path))
    assert [failure.reason for failure in found.failures] == ["no answer in time"]
    assert (tmp_path / "0.request").read_bytes() == case.data


@pytest.mark.parametrize("alone", [False, True])
def test_an_answer_is_judged_and_counted(alone: bool, tmp_path: Path) -> None:
    body = STATUS % 500
    answer = b"HTTP/1.1 500 x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    case = CASE._replace(data=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", alone=alone)
    found = asyncio.run(_served(answer, [case], tmp_path))
    assert [failure.reason for failure in found.failures] == ["unintended 500"]
    assert found.statuses == {"500": 1}


def test_memory_that_grows_after_the_first_rounds_is_a_problem() -> None:
    report = Report(1, ready=True, resident=[50 << 20, 90 << 20, 100 << 20, 100 << 20, 300 << 20])
    assert report.problems == ["the server grew by 200 MiB after it was warm; the bound is 96 MiB"]
