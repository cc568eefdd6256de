"""CertificateSubjectRestriction: refuses requests for client certificates of the group `system:masters`."""

import base64

from setpoint.server.admission.plugins.certificate_approval import is_signing_requests
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_CLIENT = "kubernetes.io/kube-apiserver-client"
_MASTERS = "system:masters"


class CertificateSubjectRestriction(Plugin):
    """Refuses requests to the kube-apiserver-client signer whose subject belongs to `system:masters`."""

    name = "CertificateSubjectRestriction"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_signing_requests(resource) and verb == CREATE

    async def validate(self, context: Context, operation: Operation) -> None:
        spec = (operation.object or {}).get("spec") or {}
        if operation.subresource or spec.get("signerName") != _CLIENT:
            return
        from cryptography import x509  # imported only if certificates are requested

        try:
            subject = x509.load_pem_x509_csr(base64.b64decode(spec.get("request") or "")).subject
        except ValueError as error:
            raise forbidden(operation, f"failed to parse CSR: {error}") from None
        groups = subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)
        if any(group.value == _MASTERS for group in groups):
            raise forbidden(operation, f"use of {_CLIENT} signer with {_MASTERS} group is not allowed")
