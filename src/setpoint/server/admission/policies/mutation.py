"""MutatingAdmissionPolicy: applies all matching policies to a write, in the order of their names.

The policies are matched against the original object. A policy that fails to evaluate, or whose patch does not apply,
refuses the write unless its failure policy is Ignore.
"""

from collections.abc import Sequence
from functools import partial

from setpoint.objects import meta
from setpoint.objects.errors import Forbidden, StatusCause
from setpoint.objects.gotext import quote
from setpoint.objects.tree import copy
from setpoint.server.admission import object_replacement
from setpoint.server.admission.policies.activation import Subject
from setpoint.server.admission.policies.expressions import ExpressionError, evaluated
from setpoint.server.admission.policies.invocations import Invocation, invocations
from setpoint.server.admission.policies.mutating_policy import MutatingPolicy, PatchError
from setpoint.server.admission.policies.policy_index import Binding, Hook
from setpoint.server.admission.webhook.reinvocation import Rounds
from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import shown_name
from setpoint.server.request.context import Context

_NAME = "MutatingAdmissionPolicy"


async def mutate(context: Context, operation: Operation, hooks: Sequence[Hook[MutatingPolicy]]) -> None:
    """Applies the policies to the object of an operation. Raises Forbidden if a policy fails."""
    mutating = _Mutating(context, operation)
    found = [
        invocation
        for hook in hooks
        async for invocation in invocations(context, operation, hook, mutating.misconfigured)
    ]
    rounds = Rounds.of(operation, _NAME)
    for invocation in found:
        await mutating.invoke(invocation, rounds)
    rounds.end(operation)
    mutating.conclude()


class _Mutating:
    """The evaluation of all policies for one request, with the failures so far."""

    def __init__(self, context: Context, operation: Operation) -> None:
        self._context = context
        self._operation = operation
        # Messages of failures, each with the reason for the response if the failure is the first.
        self._problems: list[tuple[str, str]] = []

    async def invoke(self, invocation: Invocation[MutatingPolicy], rounds: Rounds) -> None:
        """Applies one invocation of a policy to the object."""
        operation, policy, params = self._operation, invocation.policy, invocation.params
        subject = Subject(self._context, operation, invocation.target)
        await subject.prepare(policy.needs)
        try:
            if not await evaluated(self._context, partial(policy.meets_conditions, subject, params)):
                return
        except ExpressionError as error:
            self._failed(invocation, error)
            return
        key = _key(invocation)
        if rounds.skips(operation, key):
            return
        has_changed = await self._apply(invocation, subject)
        rounds.answered(operation, key, changed=has_changed, again=policy.is_reinvocable)

    async def _apply(self, invocation: Invocation[MutatingPolicy], subject: Subject) -> bool:
        """Applies the mutations of a policy in sequence. Returns True if the object changed."""
        policy, target, has_changed = invocation.policy, invocation.target, False
        kind = object_replacement.shape_at(target, target.kind_at(self._operation.subresource)).type
        for mutation in policy.mutations:
            tree = subject.tree
            if tree is None:
                break
            try:
                work = partial(policy.mutate, mutation, subject, invocation.params, tree, kind)
                made = await evaluated(self._context, work)
            except (ExpressionError, PatchError) as error:
                self._failed(invocation, error)
                continue
            if made is not tree:
                # An apply configuration was already validated against the type; a patch may contain arbitrary fields.
                has_changed |= await object_replacement.replace(
                    self._context, self._operation, copy(made), target, strict=not mutation.merges
                )
                await subject.convert()
        return has_changed

    def _failed(self, invocation: Invocation[MutatingPolicy], error: Exception) -> None:
        if invocation.policy.fails:
            self.misconfigured(invocation.policy, invocation.binding, str(error), "Invalid")

    def misconfigured(self, policy: MutatingPolicy, binding: Binding | None, why: str, reason: str = "") -> None:
        """Records an error in the configuration of a policy or of one of its bindings."""
        who = f"policy {quote(policy.name)}"
        if binding is not None:
            who = f"policy '{policy.name}' with binding '{binding.name}'"
        self._problems.append((f"{who} denied request: {why}", reason))

    def conclude(self) -> None:
        """Raises Forbidden if a failure must not be ignored."""
        if self._problems:
            message, reason = self._problems[0]
            causes = [StatusCause(message=problem) for problem, _ in self._problems]
            error = Forbidden.of(self._operation.resource.group_resource, shown_name(self._operation), "", causes)
            error.message = message
            error.reason = reason or error.reason
            raise error


def _key(invocation: Invocation[MutatingPolicy]) -> tuple[str, str, str, str]:
    """Returns the key that identifies an invocation in the second round."""
    params = invocation.params or {"metadata": {}}
    return invocation.policy.name, invocation.binding.name, meta.namespace(params), meta.name(params)
