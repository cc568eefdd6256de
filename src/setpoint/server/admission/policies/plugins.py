"""The plugins ValidatingAdmissionPolicy and MutatingAdmissionPolicy.

Their implementation is imported with the first policy that may match a write.
"""

from typing import TYPE_CHECKING

from setpoint.objects.tree import Object
from setpoint.server.admission.policies.policy_index import PolicySource, is_beyond_policies
from setpoint.server.ports import DELETE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

if TYPE_CHECKING:
    from setpoint.server.admission.policies.mutating_policy import MutatingPolicy
    from setpoint.server.admission.policies.validating_policy import ValidatingPolicy


def _validating(tree: Object) -> "ValidatingPolicy":
    from setpoint.server.admission.policies.validating_policy import ValidatingPolicy

    return ValidatingPolicy(tree)


def _mutating(tree: Object) -> "MutatingPolicy":
    from setpoint.server.admission.policies.mutating_policy import MutatingPolicy

    return MutatingPolicy(tree)


class ValidatingAdmissionPolicy(Plugin):
    """Evaluates the policies that validate objects."""

    name = "ValidatingAdmissionPolicy"

    def __init__(self) -> None:
        self._source: PolicySource[ValidatingPolicy] | None = None

    def concerns(self, resource: Resource, verb: str) -> bool:
        return not is_beyond_policies(resource)

    async def validate(self, context: Context, operation: Operation) -> None:
        if self._source is None:
            plurals = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
            self._source = PolicySource(context.services, *plurals, _validating)
            self.config_view = self._source.policies
        hooks = await self._source.hooks(operation)
        if hooks:
            from setpoint.server.admission.policies.validating_plugin import validate

            await validate(context, operation, hooks)


class MutatingAdmissionPolicy(Plugin):
    """Evaluates the policies that change objects. Deletions cannot be mutated."""

    name = "MutatingAdmissionPolicy"

    def __init__(self) -> None:
        self._source: PolicySource[MutatingPolicy] | None = None

    def concerns(self, resource: Resource, verb: str) -> bool:
        return verb != DELETE and not is_beyond_policies(resource)

    async def mutate(self, context: Context, operation: Operation) -> None:
        if self._source is None:
            plurals = "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"
            self._source = PolicySource(context.services, *plurals, _mutating)
            self.config_view = self._source.policies
        hooks = await self._source.hooks(operation)
        if hooks:
            from setpoint.server.admission.policies.mutation import mutate

            await mutate(context, operation, hooks)
