"""Requests a client certificate from a running server: a CertificateSigningRequest, approved by the current user."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from setpoint.cli.support.connection import Server, connect, find
from setpoint.cli.support.errors import FAILED, TIMED_OUT, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object

_KIND = "certificates.k8s.io/v1/CertificateSigningRequest"
_SIGNER = "kubernetes.io/kube-apiserver-client"
# Kubernetes issues no certificates for less.
_LEAST_SECONDS = 600
_WAIT_SECONDS = 30.0


class SignedUser(NamedTuple):
    """A client certificate with its key, and the server that accepts the certificate."""

    server: str
    authority: bytes | None
    certificate: bytes
    key: bytes


async def signed_user(server: Server, name: str, groups: Sequence[str], lifetime: timedelta) -> SignedUser:
    """Returns a certificate of the selected server. The key does not leave this process. Raises Failure."""
    from setpoint.server.edge.certificates import CertificateError, certificate_request

    if lifetime.total_seconds() < _LEAST_SECONDS:
        raise Failure(f"--for: a server signs certificates for at least {_LEAST_SECONDS // 60}m", USAGE)
    try:
        request, key = certificate_request(name, groups)
    except CertificateError as error:
        raise Failure(str(error), USAGE) from None
    url, authority = _cluster(server)
    async with connect(server) as client:
        certificate = await _certificate(client, request, int(lifetime.total_seconds()))
    return SignedUser(url, authority, certificate, key)


def _cluster(server: Server) -> tuple[str, bytes | None]:
    """Returns the URL of the selected server, and its certificate authority."""
    from setpoint.client.connection_config import ConfigError
    from setpoint.client.kubeconfig import load

    try:
        cluster = load(find(server).paths).cluster(server.context)
        authority = cluster.pem("certificate-authority")
        return cluster.text("server"), authority.read().encode() if authority else None
    except (ConfigError, OSError) as error:
        raise Failure(str(error)) from None


async def _certificate(client: "Client", request: bytes, seconds: int) -> bytes:
    spec = {
        "request": b64encode(request).decode(),
        "signerName": _SIGNER,
        "usages": ["client auth", "digital signature"],
        "expirationSeconds": seconds,
    }
    version, _, kind = _KIND.rpartition("/")
    made: Object = await client.create(
        {"apiVersion": version, "kind": kind, "metadata": {"generateName": "setpoint-user-"}, "spec": spec}
    )
    name = made["metadata"]["name"]
    try:
        approved = {
            "type": "Approved",
            "status": "True",
            "reason": "SetpointUser",
            "message": "Requested and approved with `setpoint user`.",
        }
        await client.update({**made, "status": {"conditions": [approved]}}, subresource="approval")
        found = await client.wait_for(_KIND, name, "", _is_decided, timeout=_WAIT_SECONDS)
    except TimeoutError:
        raise Failure(
            f"the server did not sign the certificate within {_WAIT_SECONDS:g} s: does its controller "
            "certificatesigningrequest-signing-controller run? With the data directory of the server, use --data DIR",
            TIMED_OUT,
        ) from None
    finally:
        await client.delete(_KIND, name)
    status = (found or {}).get("status") or {}
    if not status.get("certificate"):
        raise Failure(f"the server refused to sign the certificate: {_reasons(status)}", FAILED)
    return b64decode(status["certificate"])


def _is_decided(request: "Object | None") -> bool:
    status = (request or {}).get("status") or {}
    types = {each["type"] for each in status.get("conditions") or ()}
    return bool(status.get("certificate")) or bool(types & {"Denied", "Failed"})


def _reasons(status: "Object") -> str:
    found = [each for each in status.get("conditions") or () if each["type"] in ("Denied", "Failed")]
    return "; ".join(each.get("message") or each.get("reason") or each["type"] for each in found)
