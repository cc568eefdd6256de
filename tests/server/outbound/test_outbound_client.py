"""The client for webhooks: whatever the other side does, a call ends in time, with an answer or the reason for none."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from tests.server.outbound.peer import Asked, Peer, authority, identity, response, saying, silence

from setpoint.objects.clock import ManualClock, SystemClock
from setpoint.objects.metrics import Histogram
from setpoint.server.outbound import call_metrics
from setpoint.server.outbound.call_metrics import CallMetrics
from setpoint.server.outbound.client import AuthoritiesError, Client, OutboundTarget
from setpoint.server.outbound.failure import CallFailed

OK = saying(response(b"fine"))


async def _why(client: Client, endpoint: OutboundTarget, seconds: float = 20) -> str:
    with pytest.raises(CallFailed) as failed:
        await client.post(endpoint, b"{}", timeout=seconds)
    return str(failed.value)


@asynccontextmanager
async def new_client(body_bytes: int = 16 << 20) -> AsyncIterator[Client]:
    client = Client(SystemClock(), body_bytes=body_bytes)
    yield client
    client.close()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with new_client() as client:
        yield client


async def test_a_call_posts_json_and_gives_the_answer(client: Client) -> None:
    async with Peer(saying(response(b"fine", 418, "X-Other: 1"))) as peer:
        answer = await client.post(peer.endpoint("/a/b"), b'{"a":1}', timeout=20, query="timeout=20s")
        assert answer == (418, {"content-length": "4", "x-other": "1"}, b"fine")
        asked = peer.asked[0]
        assert (asked.target, asked.body) == ("/a/b?timeout=20s", b'{"a":1}')
        assert asked.headers["content-type"] == "application/json"
        assert asked.headers["host"] == f"127.0.0.1:{peer.port}"


async def test_calls_one_after_the_other_share_a_connection_and_calls_at_once_do_not(client: Client) -> None:
    async with Peer(OK) as peer:
        for _ in range(5):
            await client.post(peer.endpoint(), b"{}", timeout=20)
        assert peer.connections == 1
        await asyncio.gather(*(client.post(peer.endpoint(), b"{}", timeout=20) for _ in range(3)))
        assert peer.connections == 3
        assert len(peer.asked) == 8


async def test_a_connection_that_the_other_side_closed_meanwhile_is_replaced_without_a_word(client: Client) -> None:
    async with Peer(saying(response(b"fine"), closing=True)) as peer:
        for _ in range(3):
            assert (await client.post(peer.endpoint(), b"{}", timeout=20)).body == b"fine"
        assert peer.connections == 3


async def test_connections_with_different_trust_are_kept_apart(client: Client) -> None:
    async with Peer(OK) as peer:
        await client.post(peer.endpoint(), b"{}", timeout=20)
        stranger = peer.endpoint()._replace(authorities=authority(old=True).pair.certificate)
        assert "certificate signed by unknown authority" in await _why(client, stranger)


async def test_a_body_may_come_in_chunks_or_end_with_the_connection(client: Client) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    async with Peer(saying(b"HTTP/1.1 100 Continue\r\n\r\n" + chunked)) as peer:
        for _ in range(2):
            assert (await client.post(peer.endpoint(), b"{}", timeout=20)).body == b"abcde"
        assert peer.connections == 1
    async with Peer(saying(b"HTTP/1.0 200 OK\r\n\r\nabcde", closing=True)) as peer:
        assert (await client.post(peer.endpoint(), b"{}", timeout=20)).body == b"abcde"


BROKEN = {
    "nothing": (b"", "EOF"),
    "no HTTP": (b"garbage\r\n\r\n", "malformed HTTP response"),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-", "unexpected EOF"),
    "half a body": (response(b"{", length=9), "response body. Please retry. Original error: unexpected EOF"),
    "a bad chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "invalid byte in chunk length"),
    "an endless head": (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000, "headers exceeded 65536 bytes"),
    "a huge body": (response(b"x" * 2000), "the response is larger than 1000 bytes"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_broken_answer_is_told_from_a_good_one(case: str) -> None:
    data, why = BROKEN[case]
    async with new_client(body_bytes=1000) as client, Peer(saying(data, closing=True)) as peer:
        assert why in await _why(client, peer.endpoint())
        # The next call is not hurt by it.
        peer.answer = OK
        assert (await client.post(peer.endpoint(), b"{}", timeout=20)).body == b"fine"


async def test_what_comes_unasked_ends_the_connection_and_is_never_taken_for_an_answer(client: Client) -> None:
    async def twice(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(response(b"fine"))
        await writer.drain()
        writer.write(response(b"forged"))

    async with Peer(twice) as peer:
        for _ in range(3):
            assert (await client.post(peer.endpoint(), b"{}", timeout=20)).body == b"fine"


@pytest.mark.parametrize("begins", ["nothing", "a head", "half a body"])
async def test_time_is_over_when_the_clock_says_so_however_far_the_answer_came(begins: str) -> None:
    data = {"nothing": b"", "a head": b"HTTP/1.1 200", "half a body": response(b"{", length=9)}[begins]

    def _of_peer() -> list[asyncio.Task[object]]:
        return [task for task in asyncio.all_tasks() if "_serve" in repr(task) or "_converse" in repr(task)]

    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    client = Client(clock)
    async with Peer(saying(data)) as peer:
        call = asyncio.ensure_future(_why(client, peer.endpoint(), 10))
        await peer.was_asked.wait()
        clock.advance(9.9)
        await asyncio.sleep(0.05)
        assert not call.done()
        clock.advance(0.1)
        why = await call
        assert why.endswith("context deadline exceeded")
        assert why.startswith("Post " if begins != "half a body" else "unexpected error when reading")
        # Nothing of it is left: neither a task nor a connection that would be used again.
        assert asyncio.all_tasks() - {asyncio.current_task(), *peer._serving} <= set(_of_peer())
        peer.answer = OK
        assert (await client.post(peer.endpoint(), b"{}", timeout=10)).body == b"fine"
        assert peer.connections == 2
    client.close()


async def test_a_call_that_nobody_waits_for_any_more_ends_its_connection(client: Client) -> None:
    gone = asyncio.Event()

    async def until_gone(asked: Asked, writer: asyncio.StreamWriter) -> None:
        while not writer.transport.is_closing():
            await asyncio.sleep(0.01)
        gone.set()

    async with Peer(until_gone) as peer:
        call = asyncio.ensure_future(client.post(peer.endpoint(), b"{}", timeout=20))
        await peer.was_asked.wait()
        call.cancel()
        await asyncio.wait((call,))
        assert call.cancelled()
        await asyncio.wait_for(gone.wait(), 10)


async def test_a_client_that_is_closed_ends_what_is_under_way_and_begins_nothing_new(client: Client) -> None:
    async with Peer(silence) as peer:
        call = asyncio.ensure_future(_why(client, peer.endpoint()))
        await peer.was_asked.wait()
        client.close()
        assert "EOF" in await call
        assert "the server is stopping" in await _why(client, peer.endpoint())


REFUSED = {
    "expired": (identity(expired=True), True, "certificate has expired or is not yet valid"),
    "of somebody else": (identity(), True, "certificate signed by unknown authority"),
    "of another address": (identity(("10.1.1.1",)), False, "certificate is not valid for '127.0.0.1'"),
    "of a name only": (identity(("webhook.example",)), False, "certificate is not valid for '127.0.0.1'"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_certificate_must_be_valid_trusted_and_for_the_host(client: Client, case: str) -> None:
    pair, of_old, why = REFUSED[case]
    async with Peer(OK, pair) as peer:
        endpoint = peer.endpoint()._replace(authorities=authority(old=of_old).pair.certificate)
        assert await _why(client, endpoint) == (
            f'Post "{peer.url}/x": tls: failed to verify certificate: x509: {why}'
            + (": certificate has expired" if case == "expired" else "")
        )
        assert peer.asked == []


async def test_a_certificate_may_be_trusted_by_itself_and_the_system_does_not_know_ours(client: Client) -> None:
    pair = identity()
    async with Peer(OK, pair) as peer:
        own = peer.endpoint()._replace(authorities=pair.certificate)
        assert (await client.post(own, b"{}", timeout=20)).body == b"fine"
        assert "unknown authority" in await _why(client, peer.endpoint()._replace(authorities=b""))
        with pytest.raises(AuthoritiesError, match="unable to parse bytes as PEM block"):
            await client.post(peer.endpoint()._replace(authorities=b"no PEM"), b"{}", timeout=20)


async def test_a_name_is_verified_though_the_address_is_known_from_elsewhere(client: Client) -> None:
    async with Peer(OK, identity(("hook.shop.svc",))) as peer:
        address = ("127.0.0.1", peer.port)
        endpoint = peer.endpoint()._replace(url="https://hook.shop.svc:443/x", address=address)
        assert (await client.post(endpoint, b"{}", timeout=20)).body == b"fine"
        assert peer.asked[0].headers["host"] == "hook.shop.svc:443"
        other = endpoint._replace(url="https://other.shop.svc:443/x")
        assert "certificate is not valid for 'other.shop.svc'" in await _why(client, other)


async def test_where_nobody_listens_the_reason_is_gos(client: Client) -> None:
    async with Peer(OK) as peer:
        port = peer.port
    dead = await _why(client, OutboundTarget(f"https://127.0.0.1:{port}/x"))
    assert dead == f'Post "https://127.0.0.1:{port}/x": dial tcp 127.0.0.1:{port}: connect: connection refused'
    nowhere = await _why(client, OutboundTarget("https://nothing.invalid/x"))
    assert nowhere.startswith('Post "https://nothing.invalid/x": dial tcp: lookup nothing.invalid: ')


async def test_a_server_without_tls_is_no_webhook(client: Client) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\nspeak plainly")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    why = await _why(client, OutboundTarget(f"https://127.0.0.1:{port}/x"))
    assert why.endswith("http: server gave HTTP response to HTTPS client")
    server.close()
    gc.collect()


@pytest.mark.parametrize("host", ["x..y", "a" * 300, "hoäst", "nothing.invalid"])
async def test_a_host_that_cannot_be_is_one_that_is_not_found(client: Client, host: str) -> None:
    assert f"lookup {host}: " in await _why(client, OutboundTarget(f"https://{host}/x"))
    known = OutboundTarget(f"https://{host}/x", authority().pair.certificate, ("127.0.0.1", 1))
    assert "Post " in await _why(client, known)


async def test_a_path_cannot_end_the_request_line(client: Client) -> None:
    async with Peer(OK) as peer:
        await client.post(peer.endpoint("/a b/ü%20/?x HTTP/1.1"), b"{}", timeout=20)
        assert peer.asked[0].target == "/a%20b/%C3%BC%20/"


async def test_a_client_that_is_offline_connects_to_nobody() -> None:
    async with Peer(OK) as peer:
        client = Client(SystemClock(), offline="an archive is shown")
        assert "this server makes no calls: an archive is shown" in await _why(client, peer.endpoint())
        client.close()
        assert peer.asked == []


async def test_calls_are_counted_by_host_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_metrics, "_MOST_HOSTS", 1)
    metrics = CallMetrics()
    client = Client(SystemClock(), metrics=metrics)
    async with Peer(saying(response(b"fine", 418))) as peer:
        for _ in range(2):
            await client.post(peer.endpoint(), b"{}", timeout=20)
        endpoint = peer.endpoint()
        host = f"127.0.0.1:{peer.port}"
    client.close()
    assert await _why(Client(SystemClock(), offline="no network", metrics=metrics), endpoint)
    metrics.record("GET", "another.example.com", 200, 0.5)
    requests, durations = metrics.families()
    assert requests.name == "rest_client_requests_total"
    assert requests.samples == [
        ({"code": "418", "method": "POST", "host": host}, 2),
        ({"code": "<error>", "method": "POST", "host": host}, 1),
        ({"code": "200", "method": "GET", "host": "others"}, 1),
    ]
    counts = [(labels, found.count) for labels, found in durations.samples if isinstance(found, Histogram)]
    assert counts == [({"verb": "POST", "host": host}, 3), ({"verb": "GET", "host": "others"}, 1)]
