"""TLS: who is believed, what is told about a client's certificate, and clients that misbehave below HTTP."""

import asyncio
import hashlib
import ssl
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from tests.server.edge.edge import Edge, Silent, edge, soon

from setpoint.objects.clock import SystemClock
from setpoint.server.edge.certificates import Authority, Pair
from setpoint.server.edge.identity import Identity
from setpoint.server.edge.limits import Limits
from setpoint.server.edge.tls import Certificates, Provided
from setpoint.server.message import Frame, Peer, Request, Response, Sink
from setpoint.server.server_keys import ServerKeys

IDENTITY = Identity([], SystemClock(), ServerKeys())


def trusting(authority: Authority = IDENTITY.authority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.pair.certificate.decode())


def with_certificate(pair: Pair, directory: Path) -> ssl.SSLContext:
    context = trusting()
    context.load_cert_chain(_joined(pair, directory))
    return context


async def tell_peer(request: Request) -> Response:
    peer = request.peer
    return Response(200, "text/plain", repr((peer.common_name, *peer.organizations)).encode())


async def test_the_server_proves_itself_by_every_name_it_has() -> None:
    async with edge(tls=IDENTITY.context) as server:
        for name in ("localhost", "127.0.0.1", "::1", "kubernetes.default.svc"):
            reader, writer = await asyncio.open_connection(*server.address, ssl=trusting(), server_hostname=name)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            writer.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(*server.address, ssl=trusting(), server_hostname="example.com")
        with pytest.raises(ssl.SSLCertVerificationError):
            await server.connect(trusting(Authority.create(SystemClock().now())))


async def test_a_client_certificate_is_told_to_the_handler(tmp_path: Path) -> None:
    pair = IDENTITY.authority.issue_client("jane", ["dev", "ops"], SystemClock().now())
    seen: list[Peer] = []

    async def keep(request: Request) -> Response:
        seen.append(request.peer)
        return Response(200, "text/plain", b"")

    async with edge(keep, tls=IDENTITY.context) as server:
        assert (await (await server.connect(with_certificate(pair, tmp_path))).ask()).status == 200
        assert (await (await server.connect(trusting())).ask()).status == 200
    named, nameless = seen
    assert (named.common_name, named.organizations) == ("jane", ("dev", "ops"))
    der = ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
    assert named.fingerprint == hashlib.sha256(der).hexdigest()
    assert (nameless.common_name, nameless.organizations, nameless.fingerprint) == ("", (), "")


@pytest.mark.parametrize("issuer", ["another authority", "for servers"])
async def test_a_client_certificate_that_is_not_for_clients_of_ours_is_refused(tmp_path: Path, issuer: str) -> None:
    now = SystemClock().now()
    if issuer == "another authority":
        pair = Authority.create(now).issue_client("system:admin", ["system:masters"], now)
    else:
        pair = IDENTITY.authority.issue_server(["localhost"], now)
    async with edge(tell_peer, tls=IDENTITY.context) as server:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await (await server.connect(with_certificate(pair, tmp_path))).ask()
        assert (await (await server.connect(trusting())).ask()).body == b"('',)"


def provided(directory: Path, pair: Pair, authority: Authority | None = None) -> Certificates:
    """Files as somebody else would keep them."""
    users = None
    if authority is not None:
        users = directory / "ca.crt"
        users.write_bytes(authority.pair.certificate)
    files = Certificates(directory / "tls.crt", directory / "tls.key", users)
    files.certificate.write_bytes(pair.certificate)
    files.key.write_bytes(pair.key)
    return files


async def test_certificates_that_others_keep_are_served_and_followed(tmp_path: Path) -> None:
    now = SystemClock().now()
    old, new = Authority.create(now), Authority.create(now)
    files = provided(tmp_path, old.issue_server(["127.0.0.1"], now), IDENTITY.authority)
    certificates = Provided(files)
    async with edge(tell_peer, tls=certificates.context) as server:
        user = trusting(old)
        user.load_cert_chain(_joined(IDENTITY.authority.issue_client("jane", ["dev"], now), tmp_path))
        assert (await (await server.connect(user)).ask()).body == b"('jane', 'dev')"
        assert not certificates.renew()
        provided(tmp_path, new.issue_server(["127.0.0.1"], now))
        assert certificates.renew()
        assert (await (await server.connect(trusting(new))).ask()).body == b"('',)"


async def test_without_authorities_no_certificate_makes_a_user(tmp_path: Path) -> None:
    now = SystemClock().now()
    files = provided(tmp_path, IDENTITY.authority.issue_server(["127.0.0.1"], now))
    async with edge(tell_peer, tls=Provided(files).context) as server:
        context = with_certificate(IDENTITY.authority.issue_client("jane", [], now), tmp_path)
        assert (await (await server.connect(context)).ask()).body == b"('',)"


@pytest.mark.parametrize("wrong", ["certificate", "key", "client_authorities"])
def test_files_that_are_no_certificates_are_named(tmp_path: Path, wrong: str) -> None:
    files = provided(tmp_path, IDENTITY.authority.issue_server([], SystemClock().now()), IDENTITY.authority)
    path: Path = getattr(files, wrong)
    path.write_text("nonsense")
    with pytest.raises(ValueError, match=path.name):
        Provided(files)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        Provided(files)


def test_a_certificate_is_kept_until_its_successor_is_whole(tmp_path: Path) -> None:
    now = SystemClock().now()
    certificates = Provided(files := provided(tmp_path, IDENTITY.authority.issue_server([], now)))
    files.certificate.write_text("half written")
    with pytest.raises(ValueError, match=r"tls\.crt"):
        certificates.renew()
    provided(tmp_path, IDENTITY.authority.issue_server([], now))
    assert certificates.renew()


def _joined(pair: Pair, directory: Path) -> Path:
    path = directory / "user.pem"
    path.write_bytes(pair.certificate + pair.key)
    return path


async def test_a_client_that_says_farewell_is_nothing_to_report() -> None:
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: reported.append(what))
    async with edge(tls=IDENTITY.context) as server:
        client = await server.connect(trusting())
        await client.ask()
        client.close()
        await soon(lambda: not server.listener.connections)
    assert reported == []


async def test_a_server_that_shuts_down_waits_for_no_farewell_of_an_idle_client() -> None:
    async with edge(limits=Limits(farewell_seconds=60.0), tls=IDENTITY.context) as server:
        client = await server.connect(trusting())
        await client.ask()
        client.stop_reading()
        async with asyncio.timeout(20):
            await server.listener.close(grace=60.0)
        assert not server.listener.connections
        client.writer.transport.abort()


async def test_a_client_that_never_finishes_its_handshake_is_cut_off() -> None:
    async with edge(limits=Limits(handshake_seconds=0.2), tls=IDENTITY.context) as server:
        client = await server.connect()
        client.send(b"\x16\x03\x01\x02\x00")
        assert await client.at_end()


async def test_http_without_tls_on_a_tls_port_ends_and_hurts_nobody() -> None:
    async with edge(tls=IDENTITY.context) as server:
        client = await server.connect()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.reader.read()
        assert (await (await server.connect(trusting())).ask("/after")).body == b"GET /after? 0"


async def test_a_huge_answer_and_a_refusal_get_through_tls() -> None:
    async def huge(request: Request) -> Response:
        return Response(200, "text/plain", [b"x" * 100_000] * 100)

    async with edge(huge, tls=IDENTITY.context) as server:
        client = await server.connect(trusting())
        assert len((await client.ask()).body) == 10_000_000
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n", b"x" * 9_000_000)
        assert (await client.answer()).status == 413


async def test_a_slow_reader_of_a_stream_is_cut_off_over_tls_too() -> None:
    ended = asyncio.Event()

    class Pouring:
        async def run(self, sink: Sink) -> None:
            frame = Frame(b"x" * 100_000)
            while sink.write(frame):
                await asyncio.sleep(0)
            ended.set()

    async def pour(request: Request) -> Response:
        return Response(200, "text/plain", Pouring())

    async with edge(pour, Limits(stream_bytes=1 << 20), tls=IDENTITY.context) as server:
        client = await server.connect(trusting())
        client.stop_reading()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await ended.wait()
        await soon(lambda: not server.listener.connections)


async def test_shutting_down_ends_streams_cleanly_over_tls() -> None:
    async def watch(request: Request) -> Response:
        return Response(200, "text/plain", Silent())

    async with edge(watch, tls=IDENTITY.context) as server:
        client = await server.connect(trusting())
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.reader.readuntil(b"\r\n\r\n")
        assert await client.chunk() == b"hello\n"
        await server.listener.close(grace=5.0)
        assert await client.chunk() == b""


async def _curl(server: Edge, ca: Path, *arguments: str) -> tuple[int, str]:
    command = ["curl", "-sS", "--max-time", "10", "--cacert", str(ca), *arguments]
    url = f"https://localhost:{server.address[1]}/x"
    done = await asyncio.to_thread(subprocess.run, [*command, url], capture_output=True, text=True)
    return done.returncode, done.stdout


async def test_curl_is_served(tmp_path: Path) -> None:
    if subprocess.run(["which", "curl"], capture_output=True).returncode:
        pytest.skip("curl is not installed")
    ca, body = tmp_path / "ca.crt", tmp_path / "body"
    ca.write_bytes(IDENTITY.authority.pair.certificate)
    body.write_bytes(b"x" * 2_000_000)
    huge = tmp_path / "huge"
    huge.write_bytes(b"x" * 5_000_000)
    async with edge(tls=IDENTITY.context) as server:
        assert await _curl(server, ca) == (0, "GET /x? 0")
        assert await _curl(server, ca, "--http1.0") == (0, "GET /x? 0")
        # A large body: curl asks first whether it is welcome.
        assert await _curl(server, ca, "-H", "Expect: 100-continue", "--data-binary", f"@{body}") == (
            0,
            "POST /x? 2000000",
        )
        assert await _curl(server, ca, "-H", "Transfer-Encoding: chunked", "--data-binary", f"@{body}") == (
            0,
            "POST /x? 2000000",
        )
        code, text = await _curl(server, ca, "--data-binary", f"@{huge}")
        assert (code, '"code":413' in text.replace(" ", "")) == (0, True)
        assert (await _curl(server, ca, "-I"))[1].startswith("HTTP/1.1 200 OK")


def test_clients_learn_the_names_of_acceptable_authorities() -> None:
    """A client with several certificates chooses by the names in the server's request, which TLS 1.2 does not
    encrypt."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context(cadata=IDENTITY.authority.pair.certificate.decode())
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    client = context.wrap_bio(to_client, to_server, server_hostname="localhost")
    server = IDENTITY.context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server):
        with pytest.raises(ssl.SSLWantReadError):
            side.do_handshake()
    subject = x509.load_pem_x509_certificate(IDENTITY.authority.pair.certificate).subject.public_bytes()
    flight = to_client.read()
    # The name is in the certificate of the server, as its issuer, and in the request.
    assert flight.count(len(subject).to_bytes(2, "big") + subject) == 1
