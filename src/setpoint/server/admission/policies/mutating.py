"""MutatingAdmissionPolicy: lets every policy in force change a write, one after the other, by name.

Which policies are concerned is settled by the object as it came. A policy that cannot be evaluated, or whose patch does
not apply, is an error that refuses the write, unless the policy says to ignore it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.errors import APIError, Forbidden, StatusCause
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Json, copy
from setpoint.server.admission import changed
from setpoint.server.admission.operation import Operation, shown_name
from setpoint.server.admission.policies.expressions import ExpressionError
from setpoint.server.admission.policies.params import ConfigurationError, param_resource, params_of
from setpoint.server.admission.policies.patches import MutatingPolicy, PatchError
from setpoint.server.admission.policies.source import Binding, Hook
from setpoint.server.admission.policies.subject import Subject
from setpoint.server.admission.rounds import Rounds
from setpoint.server.context import Context
from setpoint.server.resource import Resource

_NAME = "MutatingAdmissionPolicy"


async def mutate(context: Context, operation: Operation, hooks: Sequence[Hook[MutatingPolicy]]) -> None:
    """Lets the policies change the object of an operation. Raises Forbidden where one fails."""
    mutating = _Mutating(context, operation)
    invocations = [invocation for hook in hooks for invocation in await mutating.invocations(hook)]
    rounds = Rounds.of(operation, _NAME)
    for invocation in invocations:
        await mutating.invoke(invocation, rounds)
    rounds.end(operation)
    mutating.conclude()


class _Invocation(NamedTuple):
    """A policy that is to be asked for a binding, with one of its parameters, in the version of a resource."""

    policy: MutatingPolicy
    binding: Binding
    target: Resource
    params: Json

    @property
    def key(self) -> tuple[str, str, str, str]:
        params = self.params or {"metadata": {}}
        return self.policy.name, self.binding.name, meta.namespace(params), meta.name(params)


class _Mutating:
    """All policies over one request, and what went wrong so far."""

    def __init__(self, context: Context, operation: Operation) -> None:
        self._context = context
        self._operation = operation
        # Each with the reason that the answer has where it is the first.
        self._problems: list[tuple[str, str]] = []

    async def invocations(self, hook: Hook[MutatingPolicy]) -> list[_Invocation]:
        """What a policy is to be asked."""
        context, operation, policy = self._context, self._operation, hook.policy
        found: list[_Invocation] = []
        try:
            target = await policy.criteria.match(context, operation)
            if target is None:
                return []
            resource = param_resource(context, policy.param_kind)
        except (ConfigurationError, APIError) as error:
            self._failed(policy, None, f"failed to configure policy: {error}")
            return []
        for binding in hook.bindings:
            try:
                if await binding.criteria.match(context, operation) is None:
                    continue
                params = await params_of(context, operation, resource, binding.param_ref)
            except (ConfigurationError, APIError) as error:
                self._failed(policy, binding, f"failed to configure binding: {error}")
                continue
            found += [_Invocation(policy, binding, target, param) for param in params]
        return found

    async def invoke(self, invocation: _Invocation, rounds: Rounds) -> None:
        """Lets a policy change the object."""
        operation, policy, params = self._operation, invocation.policy, invocation.params
        subject = Subject(self._context, operation, invocation.target)
        await subject.prepare(policy.needs)
        try:
            if not policy.meets_conditions(subject, params):
                return
        except ExpressionError as error:
            self._failed(policy, invocation.binding, str(error), "Invalid")
            return
        if rounds.skips(operation, invocation.key):
            return
        has_changed = self._apply(invocation, subject)
        rounds.answered(operation, invocation.key, changed=has_changed, again=policy.is_reinvocable)

    def _apply(self, invocation: _Invocation, subject: Subject) -> bool:
        """Makes the mutations of a policy, each of what the one before made; whether they changed anything."""
        policy, target, has_changed = invocation.policy, invocation.target, False
        kind = changed.shape_at(target, target.kind_at(self._operation.subresource)).type
        for mutation in policy.mutations:
            tree = subject.tree
            if tree is None:
                break
            try:
                made = policy.mutate(mutation, subject, invocation.params, tree, kind)
            except (ExpressionError, PatchError) as error:
                self._failed(policy, invocation.binding, str(error), "Invalid")
                continue
            if made is not tree:
                # A configuration was held against the type already; a patch may put in whatever it likes.
                has_changed |= changed.replace(
                    self._context, self._operation, copy(made), target, strict=not mutation.merges
                )
        return has_changed

    def _failed(self, policy: MutatingPolicy, binding: Binding | None, why: str, reason: str = "") -> None:
        if policy.fails:
            who = f"policy {quote(policy.name)}"
            if binding is not None:
                who = f"policy '{policy.name}' with binding '{binding.name}'"
            self._problems.append((f"{who} denied request: {why}", reason))

    def conclude(self) -> None:
        """Raises Forbidden where something went wrong that may not be ignored."""
        if self._problems:
            message, reason = self._problems[0]
            causes = [StatusCause(message=problem) for problem, _ in self._problems]
            error = Forbidden.of(self._operation.resource.group_resource, shown_name(self._operation), "", causes)
            error.message = message
            error.reason = reason or error.reason
            raise error
