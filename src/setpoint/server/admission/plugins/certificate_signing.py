"""CertificateSigning: only users with permission for the signer may issue a certificate."""

from setpoint.objects.gotext import quote
from setpoint.server.admission.plugins.certificate_approval import is_signing_requests
from setpoint.server.admission.plugins.permission import may_act_for
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class CertificateSigning(Plugin):
    """Requires the `sign` permission if the certificate or the conditions of a request change."""

    name = "CertificateSigning"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_signing_requests(resource) and verb == UPDATE

    async def validate(self, context: Context, operation: Operation) -> None:
        new, old = operation.object, operation.old
        if operation.subresource != "status" or new is None or old is None:
            return
        after, before = new.get("status") or {}, old.get("status") or {}
        if all((after.get(name) or None) == (before.get(name) or None) for name in ("certificate", "conditions")):
            return
        signer = old["spec"].get("signerName") or ""
        if not await may_act_for(context, "sign", signer):
            raise forbidden(operation, f"user not permitted to sign requests with signerName {quote(signer)}")
