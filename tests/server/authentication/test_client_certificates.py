"""Client certificates at a listening server: whose are believed, and whose are not."""

import asyncio
import ssl
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.server.authentication.asking import CONFIG_MAPS
from tests.server.edge.edge import Client

from setpoint.objects.clock import SystemClock
from setpoint.plane import ControlPlane
from setpoint.server.edge.certificates import Authority, Pair
from setpoint.server.edge.identity import kept_authority

NOW = SystemClock().now()


def self_signed(_: Authority) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
            x509.NameAttribute(NameOID.COMMON_NAME, "system:admin"),
        ]
    )
    hour = timedelta(hours=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), NOW - hour, NOW + hour)
    none = serialization.NoEncryption()
    return Pair(
        builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, none),
    )


def of_namesake(_: Authority) -> Pair:
    """Of an authority that is called as ours is, and is another."""
    return Authority.create(NOW).issue_client("system:admin", ["system:masters"], NOW)


def expired(authority: Authority) -> Pair:
    return authority.issue_client("jane", ["system:masters"], NOW - timedelta(days=10), timedelta(days=1))


def not_yet_valid(authority: Authority) -> Pair:
    return authority.issue_client("jane", ["system:masters"], NOW + timedelta(days=1))


def of_a_server(authority: Authority) -> Pair:
    return authority.issue_server(["localhost"], NOW)


def from_a_client(authority: Authority) -> Pair:
    """Signed by a client, as if its certificate were that of an authority."""
    client = authority.issue_client("jane", [], NOW)
    return Authority(client).issue_client("system:admin", ["system:masters"], NOW)


async def answered(plane: ControlPlane, authority: Authority, pair: Pair, directory: Path) -> int:
    """The status of an answer to who brings a certificate. Raises OSError if the server will not talk."""
    path = directory / "client.pem"
    path.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(cadata=authority.pair.certificate.decode())
    context.load_cert_chain(path)
    host, _, port = plane.url.removeprefix("https://").rpartition(":")
    client = Client(*await asyncio.open_connection(host, int(port), ssl=context))
    try:
        return (await client.ask(CONFIG_MAPS)).status
    finally:
        client.writer.close()


async def asked(make: Callable[[Authority], Pair], directory: Path) -> int:
    async with asyncio.timeout(20), ControlPlane(data=directory) as plane:
        await plane.listen()
        authority = kept_authority(directory, NOW)
        return await answered(plane, authority, make(authority), directory)


@pytest.mark.parametrize(
    "make",
    [self_signed, of_namesake, expired, not_yet_valid, of_a_server, from_a_client],
    ids=lambda make: make.__name__,
)
async def test_a_certificate_that_proves_nothing_ends_the_connection(
    make: Callable[[Authority], Pair], tmp_path: Path
) -> None:
    with pytest.raises((OSError, asyncio.IncompleteReadError)):
        await asked(make, tmp_path)


@pytest.mark.parametrize(("groups", "status"), [((), 403), (("system:masters",), 200)])
async def test_a_certificate_of_our_authority_is_its_user(groups: tuple[str, ...], status: int, tmp_path: Path) -> None:
    assert await asked(lambda authority: authority.issue_client("jane", groups, NOW), tmp_path) == status
