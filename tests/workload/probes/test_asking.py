"""The ways to ask, each with a real server."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.ports import free_ports

from setpoint.workload.probes.grpc import probe_grpc
from setpoint.workload.probes.http import probe_http
from setpoint.workload.probes.tcp import probe_tcp

grpc = pytest.importorskip("grpc")


@asynccontextmanager
async def web(pages: dict[str, bytes], tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server with these answers; the address of its root."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split()[1].decode()
        page = pages.get(path, b"404 Not Found\r\n\r\nno page\n")
        writer.write(b"HTTP/1.1 " + page.replace(b"HEAD", head))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def _context(directory: Path) -> ssl.SSLContext:
    """A server's certificate that expired yesterday, by nobody."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=2), now - timedelta(days=1))
    (directory / "cert").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8
    none = serialization.NoEncryption()
    (directory / "key").write_bytes(key.private_bytes(serialization.Encoding.PEM, private, none))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "cert", directory / "key")
    return context


async def test_an_answer_in_the_200s_is_a_success() -> None:
    async with web({"/ready?deep=1": b"204 No Content\r\n\r\n"}) as url:
        assert (await probe_http(f"{url}/ready?deep=1", [], 5)).outcome == "Success"


async def test_all_else_is_a_failure_that_says_what_was_answered() -> None:
    async with web({"/": b"503 Busy\r\nContent-Length: 9\r\n\r\nwarm-up 2"}) as url:
        outcome, reason, _ = await probe_http(url, [], 5)
        assert (outcome, reason) == ("Failure", f"GET {url}: status 503: warm-up 2")
    outcome, reason, _ = await probe_http(f"http://127.0.0.1:{free_ports(1)[0]}/", [], 5)
    assert outcome == "Failure"
    assert "refused" in reason.lower()
    assert (await probe_http("gopher://x", [], 5)).outcome == "Failure"


async def test_redirects_are_followed_and_one_that_leads_nowhere_is_neither() -> None:
    pages = {
        "/a": b"302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
        "/b": b"200 OK\r\nContent-Length: 0\r\n\r\n",
        "/loop": b"302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n",
    }
    async with web(pages) as url:
        assert (await probe_http(f"{url}/a", [], 5)).outcome == "Success"
        assert (await probe_http(f"{url}/loop", [], 5)).outcome == "Unknown"


async def test_headers_are_sent() -> None:
    async with web({"/": b"500 No\r\nX: y\r\n\r\nHEAD"}) as url:
        assert "x-key: secret" in (await probe_http(url, [("X-Key", "secret")], 5)).reason.lower()


async def test_certificates_that_nobody_signed_are_good_enough(tmp_path: Path) -> None:
    async with web({"/": b"200 OK\r\nContent-Length: 0\r\n\r\n"}, _context(tmp_path)) as url:
        assert (await probe_http(url, [], 5)).outcome == "Success"


async def test_that_a_connection_can_be_made_is_a_success() -> None:
    async with web({}) as url:
        assert (await probe_tcp("127.0.0.1", int(url.rpartition(":")[2]))).outcome == "Success"
    port = free_ports(1)[0]
    outcome, reason, _ = await probe_tcp("127.0.0.1", port)
    assert outcome == "Failure"
    assert reason.startswith(f"connecting to 127.0.0.1:{port}: ")


@asynccontextmanager
async def healthy(check: Callable[[bytes], bytes]) -> AsyncIterator[int]:
    """A real gRPC server whose health is what `check` makes of the question."""
    server = grpc.server(ThreadPoolExecutor(1))
    method = grpc.unary_unary_rpc_method_handler(lambda request, _: check(request))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": method}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        await asyncio.to_thread(server.stop(0).wait)


async def test_a_grpc_server_that_serves_is_a_success() -> None:
    asked = []

    def check(request: bytes) -> bytes:
        asked.append(request)
        return b"\x08\x01" if request in (b"", b"\x0a\x05store") else b"\x08\x02"

    async with healthy(check) as port:
        assert (await probe_grpc("127.0.0.1", port, "")).outcome == "Success"
        assert (await probe_grpc("127.0.0.1", port, "store")).outcome == "Success"
        outcome, reason, _ = await probe_grpc("127.0.0.1", port, "x" * 300)
        assert outcome == "Failure"
        assert reason.endswith("is NOT_SERVING")
    assert asked[2] == b"\x0a\xac\x02" + b"x" * 300


async def test_a_grpc_server_without_that_service_is_a_failure() -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        outcome, reason, _ = await probe_grpc("127.0.0.1", port, "store")
        assert outcome == "Failure"
        assert "does not implement grpc.health.v1.Health" in reason
    finally:
        await asyncio.to_thread(server.stop(0).wait)


async def test_what_does_not_speak_grpc_is_a_failure() -> None:
    async with web({}) as url:
        outcome, *_ = await probe_grpc("127.0.0.1", int(url.rpartition(":")[2]), "")
        assert outcome == "Failure"
    outcome, reason, _ = await probe_grpc("127.0.0.1", free_ports(1)[0], "")
    assert outcome == "Failure"
    assert "refused" in reason
