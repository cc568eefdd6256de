"""CertificateApproval: only users with permission for the signer may approve a CertificateSigningRequest."""

from setpoint.objects.gotext import quote
from setpoint.server.admission.plugins.permission import may_act_for
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


def is_signing_requests(resource: Resource) -> bool:
    return resource.resource == "certificatesigningrequests" and resource.group == "certificates.k8s.io"


class CertificateApproval(Plugin):
    """Requires the `approve` permission for the signer that the stored request names."""

    name = "CertificateApproval"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_signing_requests(resource) and verb == UPDATE

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.subresource != "approval" or operation.old is None:
            return
        signer = operation.old["spec"].get("signerName") or ""
        if not await may_act_for(context, "approve", signer):
            raise forbidden(operation, f"user not permitted to approve requests with signerName {quote(signer)}")
