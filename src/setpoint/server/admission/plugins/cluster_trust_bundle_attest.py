"""ClusterTrustBundleAttest: only users with permission for the signer may change its trust bundles."""

from setpoint.objects.gotext import quote
from setpoint.server.admission.plugins.permission import may_act_for
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class ClusterTrustBundleAttest(Plugin):
    """Requires the `attest` permission for the signer of a bundle if the bundle changes."""

    name = "ClusterTrustBundleAttest"

    def concerns(self, resource: Resource, verb: str) -> bool:
        is_bundles = resource.resource == "clustertrustbundles" and resource.group == "certificates.k8s.io"
        return is_bundles and verb in (CREATE, UPDATE)

    async def validate(self, context: Context, operation: Operation) -> None:
        new, old = operation.object, operation.old
        signer = ((new or {}).get("spec") or {}).get("signerName")
        if new is None or not signer or (old is not None and new["spec"] == old["spec"]):
            return
        if not await may_act_for(context, "attest", signer):
            raise forbidden(operation, f"user not permitted to attest for signerName {quote(signer)}")
