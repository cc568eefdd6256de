"""DenyServiceExternalIPs: refuses external IPs of Services."""

from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class DenyServiceExternalIPs(Plugin):
    """Refuses new external IPs; existing ones may be kept or removed."""

    name = "DenyServiceExternalIPs"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return resource.resource == "services" and not resource.group and verb in (CREATE, UPDATE)

    async def validate(self, context: Context, operation: Operation) -> None:
        if operation.subresource or operation.object is None:
            return
        wanted = operation.object["spec"].get("externalIPs") or []
        known = ((operation.old or {}).get("spec") or {}).get("externalIPs") or []
        if not set(wanted) <= set(known):
            raise forbidden(operation, "Use of external IPs is denied by admission control")
