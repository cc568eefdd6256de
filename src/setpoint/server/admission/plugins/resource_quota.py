"""ResourceQuota: a namespace has no more of anything than its quotas allow.

Last of all: what another rule refuses is charged to nobody. What is decided here is decided once more in the moment the
object is written, together with the books (`server.quota.ledger`).
"""

from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.quota.evaluators import evaluator_of
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class ResourceQuota(Plugin):
    """Holds writes to the quotas of their namespace. Switched off, what is used is still counted."""

    name = "ResourceQuota"

    def concerns(self, resource: Resource, verb: str) -> bool:
        evaluator = evaluator_of(resource)
        return evaluator is not None and (verb == CREATE or (verb == UPDATE and not evaluator.is_plain))

    async def validate(self, context: Context, operation: Operation) -> None:
        ledger = context.services.ledger
        if ledger is not None:
            await ledger.check(operation)
            self.goes_by = ledger.view
