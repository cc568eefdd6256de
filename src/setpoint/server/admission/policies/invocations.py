"""What a policy is to be asked about a write: once for each binding that matches, and each of its parameters."""

from collections.abc import AsyncIterator, Callable
from typing import Generic, NamedTuple, TypeVar

from setpoint.objects.errors import APIError
from setpoint.objects.tree import Json
from setpoint.server.admission.policies.params import ConfigurationError, param_resource, params_of
from setpoint.server.admission.policies.policy import Policy
from setpoint.server.admission.policies.policy_index import Binding, Hook
from setpoint.server.ports import Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context

P = TypeVar("P", bound=Policy)
# Is told what is wrong with a policy, or, where it is one, with a binding of it.
Misconfigured = Callable[[P, Binding | None, str], None]


class Invocation(NamedTuple, Generic[P]):
    """One question: to a policy, for a binding, with a parameter, about the object in the version of a resource."""

    policy: P
    binding: Binding
    target: Resource
    params: Json


async def invocations(
    context: Context, operation: Operation, hook: Hook[P], misconfigured: Misconfigured[P]
) -> AsyncIterator[Invocation[P]]:
    """What a policy is to be asked, in the order of its bindings. What is wrong with it is told in the same order, and
    left out, where the policy does not ignore failures."""
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
