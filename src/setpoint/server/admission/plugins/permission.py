"""Additional permission checks of admission plugins."""

from setpoint.server.ports import Decision
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import RequestInfo

_CERTIFICATES = "certificates.k8s.io"


async def decide(
    context: Context,
    verb: str,
    group: str,
    resource: str,
    *,
    name: str,
    subresource: str = "",
    namespace: str = "",
    version: str = "*",
) -> Decision:
    """Returns the authorizer's decision about another action of the requesting user."""
    authorizer = context.services.authorizer
    await authorizer.prepare(context.user)
    info = RequestInfo(verb, "", True, group, version, namespace, resource, name, subresource)
    return authorizer.decide(context.user, info)


async def may_act_for(context: Context, verb: str, signer: str) -> bool:
    """Returns True if the user may approve, sign or attest for a signer, or for all signers of its domain."""
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        if (await decide(context, verb, _CERTIFICATES, "signers", name=name)).allowed:
            return True
    return False
