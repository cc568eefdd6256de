"""ResourceQuota: refuses writes that exceed the quotas of their namespace.

This plugin runs last, so that writes refused by other plugins are not charged. The check is repeated when the object is
committed together with the quota's usage (`server.quota.ledger`).
"""

from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.quota.evaluators import evaluator_of
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class ResourceQuota(Plugin):
    """Enforces the quotas of the namespace. Usage is counted even if the plugin is disabled."""

    name = "ResourceQuota"

    def concerns(self, resource: Resource, verb: str) -> bool:
        evaluator = evaluator_of(resource)
        return evaluator is not None and (verb == CREATE or (verb == UPDATE and not evaluator.is_plain))

    async def validate(self, context: Context, operation: Operation) -> None:
        ledger = context.services.ledger
        if ledger is not None:
            await ledger.check(operation)
            self.config_view = ledger.quotas.view
