"""Serves `/.well-known/openid-configuration` and `/openid/v1/jwks`, with which others verify service account tokens."""

import msgspec

from setpoint.server.access.authentication.token_issuer import JWKS_PATH
from setpoint.server.message import Response
from setpoint.server.publish.read_only import check_method
from setpoint.server.request.context import Context

CONFIGURATION_PATH = "/.well-known/openid-configuration"
PATHS = (CONFIGURATION_PATH, JWKS_PATH)

_CACHED = (("Cache-Control", "public, max-age=3600"),)
_encode = msgspec.json.Encoder().encode


class OpenIDPages:
    """Publishes the issuer of the server's tokens, and its public keys."""

    async def respond(self, context: Context) -> Response | None:
        path, issuer = context.request.path.rstrip("/"), context.services.issuer
        if path not in PATHS:
            return None
        check_method(context, head=False)
        if path == JWKS_PATH:
            return Response(200, "application/jwk-set+json", _encode(issuer.keyset()), _CACHED)
        configuration = issuer.configuration(context.request.headers.get("host", "kubernetes.default.svc"))
        return Response(200, "application/json", _encode(configuration), _CACHED)
