"""An OpenID Connect issuer for tests: a real HTTPS server in this process, whose keys and answers the test decides."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from setpoint.objects.clock import SystemClock
from setpoint.objects.tree import Object
from setpoint.server.access.authentication import jwt
from setpoint.server.access.authentication.settings import AuthenticationSettings, OIDCSettings
from setpoint.server.edge.identity import Identity
from setpoint.server.edge.listener import Listener
from setpoint.server.message import Request, Response
from setpoint.server.server_keys import ServerKeys

IDENTITY = Identity([], SystemClock(), ServerKeys())


def signer(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> jwt.Signer:
    none = serialization.NoEncryption()
    return jwt.Signer(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, none))


class IssuerServer:
    """Publishes keys, and counts who asks for them."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: list[Object] = []
        self.discovery: Object = {}
        self.calls: list[str] = []
        self.is_broken = False

    def use(self, *signers: jwt.Signer) -> None:
        self.keys = [jwt.to_jwk(each.key) for each in signers]

    async def __call__(self, request: Request) -> Response:
        self.calls.append(request.path)
        if self.is_broken:
            return Response(503, "text/plain", b"broken")
        if request.path == "/.well-known/openid-configuration":
            found = {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.discovery}
            return Response(200, "application/json", json.dumps(found).encode())
        return Response(200, "application/json", json.dumps({"keys": self.keys}).encode())

    def settings(self, directory: Path, **changes: Any) -> AuthenticationSettings:
        """Those of a server that knows this issuer."""
        authority = directory / "issuer-ca.pem"
        authority.write_bytes(IDENTITY.authority.pair.certificate)
        found: dict[str, Any] = {
            "issuer": self.url,
            "audiences": ("setpoint", "other"),
            "authority": authority,
            "signing_algorithms": ("RS256", "ES256"),
            **changes,
        }
        return AuthenticationSettings(oidc=(OIDCSettings(**found),))


@asynccontextmanager
async def issuing() -> AsyncIterator[IssuerServer]:
    server = IssuerServer()
    listener = Listener(server, SystemClock())
    host, port = await listener.listen("127.0.0.1", 0, IDENTITY.context)
    server.url = f"https://{host}:{port}"
    try:
        yield server
    finally:
        await listener.close(0.1)
