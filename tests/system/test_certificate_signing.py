"""Certificates of clients: signed after the approval, within the requested time, and only with a client's usages."""

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from setpoint.client.client import Client
from setpoint.objects.clock import ManualClock
from setpoint.plane import ControlPlane
from setpoint.server.edge.certificates import LIFETIME, Authority, CertificateError, certificate_request
from setpoint.system.certificate_signing import NAME, REQUEST, certificate_signer

START = datetime(2026, 1, 1, tzinfo=UTC)
USAGES = ["client auth", "digital signature"]


class World:
    """A server with the signer, and an authority."""

    def __init__(self, plane: ControlPlane, client: Client, authority: Authority) -> None:
        self.plane, self.client, self.authority = plane, client, authority

    async def request(self, name: str, usages: list[str], **more: Any) -> None:
        request, _ = certificate_request("jane", ["dev"])
        spec = {"request": b64encode(request).decode(), "signerName": "kubernetes.io/kube-apiserver-client"}
        spec |= {"usages": usages, **more}  # type: ignore[dict-item]
        version, _, kind = REQUEST.rpartition("/")
        await self.client.create({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})

    async def approve(self, name: str, kind: str = "Approved") -> None:
        found = await self.client.get(REQUEST, name)
        condition = {"type": kind, "status": "True", "reason": "Test", "message": ""}
        await self.client.update({**found, "status": {"conditions": [condition]}}, subresource="approval")

    async def status(self, name: str) -> Any:
        await self.plane.settle()
        return (await self.client.get(REQUEST, name)).get("status") or {}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = ManualClock(START)
    authority = Authority.create(START)
    async with ControlPlane(clock=clock, system=["namespace-controller"]) as plane, plane.client() as client:
        await plane.settle()

        assert plane._runner is not None
        assert plane._runner.system is not None
        await plane._runner.system.control(certificate_signer(client, authority, clock))
        yield World(plane, client, authority)


def certificate(status: Any) -> x509.Certificate:
    return x509.load_pem_x509_certificate(b64decode(status["certificate"]))


async def test_a_request_is_signed_after_its_approval(world: World) -> None:
    await world.request("mine", [*USAGES, "key encipherment"], expirationSeconds=3600)
    assert "certificate" not in await world.status("mine")
    await world.approve("mine")
    found = certificate(await world.status("mine"))
    found.verify_directly_issued_by(x509.load_pem_x509_certificate(world.authority.pair.certificate))
    assert found.subject.rfc4514_string() == "CN=jane,O=dev"
    assert found.not_valid_after_utc == START + timedelta(hours=1)
    usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_encipherment, usage.key_cert_sign) == (True, True, False)
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    purposes = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]


async def test_the_time_is_limited_to_a_year(world: World) -> None:
    for name, more in (("long", {"expirationSeconds": 10**8}), ("default", {})):
        await world.request(name, USAGES, **more)
        await world.approve(name)
        assert certificate(await world.status(name)).not_valid_after_utc == START + LIFETIME


@pytest.mark.parametrize("requested", ["before", "after"])
async def test_the_signer_starts_with_the_first_request(requested: str) -> None:
    async with ControlPlane() as plane, plane.client() as client:
        world = World(plane, client, Authority.create(START))
        if requested == "before":
            await world.request("jane", USAGES)
        await plane.listen()
        await plane.settle()
        names = [each.name for each in plane.controllers]
        assert (NAME in names) == (requested == "before")
        if requested == "after":
            await world.request("jane", USAGES)
        await world.approve("jane")
        assert "certificate" in await world.status("jane")
        assert [each.name for each in plane.controllers].count(NAME) == 1


async def test_a_denied_request_is_not_signed(world: World) -> None:
    await world.request("mine", USAGES)
    await world.approve("mine", "Denied")
    assert "certificate" not in await world.status("mine")


@pytest.mark.parametrize("usages", [["client auth", "server auth"], ["digital signature"]])
async def test_other_usages_than_a_clients_fail(world: World, usages: list[str]) -> None:
    await world.request("mine", usages)
    await world.approve("mine")
    status = await world.status("mine")
    assert "certificate" not in status
    [failed] = [each for each in status["conditions"] if each["type"] == "Failed"]
    assert failed["reason"] == "SignerValidationFailure"
    assert "client auth" in failed["message"]


def test_a_key_of_rsa_is_signed_and_a_forged_request_is_not() -> None:
    authority = Authority.create(START)
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "jane")])
    request = x509.CertificateSigningRequestBuilder(name).sign(key, hashes.SHA256())
    pem = request.public_bytes(serialization.Encoding.PEM)
    found = x509.load_pem_x509_certificate(authority.sign_client(pem, START, LIFETIME))
    assert found.public_key() == key.public_key()
    der = bytearray(request.public_bytes(serialization.Encoding.DER))
    der[-1] ^= 1
    forged = b"-----BEGIN CERTIFICATE REQUEST-----\n" + b64encode(bytes(der)) + b"\n-----END CERTIFICATE REQUEST-----\n"
    with pytest.raises(CertificateError, match="the signature does not match"):
        authority.sign_client(forged, START, LIFETIME)
    with pytest.raises(CertificateError, match="invalid certificate request"):
        authority.sign_client(b"nothing", START, LIFETIME)
    with pytest.raises(CertificateError, match="at most 16384"):
        authority.sign_client(pem + b" " * (16 << 10), START, LIFETIME)
