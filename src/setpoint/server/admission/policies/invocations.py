"""The invocations of a policy for a write: one for each matching binding and parameter."""

from collections.abc import AsyncIterator, Callable
from typing import Generic, NamedTuple, TypeVar

from setpoint.objects.errors import APIError
from setpoint.objects.tree import Json
from setpoint.server.admission.policies.admission_policy import AdmissionPolicy
from setpoint.server.admission.policies.params import ConfigurationError, param_resource, params_of
from setpoint.server.admission.policies.policy_index import Binding, Hook
from setpoint.server.ports import Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context

P = TypeVar("P", bound=AdmissionPolicy)
# Called with an error in the configuration of a policy or of one of its bindings.
Misconfigured = Callable[[P, Binding | None, str], None]


class Invocation(NamedTuple, Generic[P]):
    """One invocation: a policy with a binding and a parameter, for the object in the version of a resource."""

    policy: P
    binding: Binding
    target: Resource
    params: Json


async def invocations(
    context: Context, operation: Operation, hook: Hook[P], misconfigured: Misconfigured[P]
) -> AsyncIterator[Invocation[P]]:
    """Yields the invocations of a policy in the order of its bindings. Reports configuration errors in the same order,
    unless the policy ignores failures."""
    policy = hook.policy
    try:
        target = await policy.criteria.match(context, operation)
        if target is None:
            return
        resource = param_resource(context, policy.param_kind)
    except (ConfigurationError, APIError) as error:
        if policy.fails:
            misconfigured(policy, None, f"failed to configure policy: {error}")
        return
    for binding in hook.bindings:
        try:
            if await binding.criteria.match(context, operation) is None:
                continue
            found = await params_of(context, operation, resource, binding.param_ref)
        except (ConfigurationError, APIError) as error:
            if policy.fails:
                misconfigured(policy, binding, f"failed to configure binding: {error}")
            continue
        for params in found:
            yield Invocation(policy, binding, target, params)
