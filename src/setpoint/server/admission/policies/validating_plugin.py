"""ValidatingAdmissionPolicy: evaluates all matching policies for a write, and denies, warns or audits as their bindings
specify.

All policies are evaluated in the order of their names; the first denial determines the response.
"""

from collections.abc import Sequence
from functools import partial

from setpoint.objects.errors import APIError, Forbidden, StatusCause
from setpoint.server.admission.policies.activation import Subject
from setpoint.server.admission.policies.expressions import evaluated
from setpoint.server.admission.policies.invocations import invocations
from setpoint.server.admission.policies.policy_index import Binding, Hook
from setpoint.server.admission.policies.validating_policy import Judgement, ValidatingPolicy, failure
from setpoint.server.ports import Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import shown_name
from setpoint.server.request.context import Context

_FAILURES = "validation.policy.admission.k8s.io/validation_failure"
_MAX_FAILURES = 50
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


async def validate(context: Context, operation: Operation, hooks: Sequence[Hook[ValidatingPolicy]]) -> None:
    """Evaluates the policies that may match an operation. Raises the error of the first denial."""
    evaluation = _PolicyEvaluation(context, operation)
    for hook in hooks:
        await evaluation.evaluate(hook)
    evaluation.conclude()


class _PolicyEvaluation:
    """The evaluation of all policies for one request, with the results so far."""

    def __init__(self, context: Context, operation: Operation) -> None:
        self._context = context
        self._operation = operation
        self._subjects: dict[Resource, Subject] = {}
        # The error of the first denial, and the entries for the audit log.
        self._refused: APIError | None = None
        self._failures: list[str] = []

    async def evaluate(self, hook: Hook[ValidatingPolicy]) -> None:
        policy = hook.policy
        annotations: dict[str, dict[str, None]] = {}
        async for invocation in invocations(self._context, self._operation, hook, self._refuse):
            subject = await self._subject(invocation.target, policy)
            judgement = await evaluated(self._context, partial(policy.judge, subject, invocation.params))
            self._act(policy, invocation.binding, judgement)
            for key, value in judgement.annotations:
                annotations.setdefault(key, {})[value] = None
        for key, values in annotations.items():
            self._context.annotations[f"{policy.name}/{key}"] = ", ".join(values)

    async def _subject(self, target: Resource, policy: ValidatingPolicy) -> Subject:
        found = self._subjects.get(target)
        if found is None:
            found = self._subjects[target] = Subject(self._context, self._operation, target)
        await found.prepare(policy.needs)
        return found

    def _act(self, policy: ValidatingPolicy, binding: Binding, judgement: Judgement) -> None:
        for decision in judgement.decisions:
            for action in binding.actions:
                if action == "Deny":
                    self._refuse(policy, binding, decision.message, decision.reason)
                elif action == "Warn":
                    text = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
                    self._context.warn(f"Validation failed for {text}: {decision.message}")
                elif action == "Audit":
                    self._failures.append(failure(policy.name, binding.name, decision, binding.actions))
        for failed in judgement.failed_annotations:
            self._refuse(policy, binding, failed.message)

    def _refuse(self, policy: ValidatingPolicy, binding: Binding | None, message: str, reason: str = "") -> None:
        if self._refused is not None:
            return
        who = f"ValidatingAdmissionPolicy '{policy.name}'"
        if binding is not None:
            who = f"{who} with binding '{binding.name}'"
        why = f"{who} denied request: {message}"
        operation = self._operation
        causes = [StatusCause(message=why)]
        error = Forbidden.of(operation.resource.group_resource, shown_name(operation), why, causes)
        error.reason = reason or "Invalid"
        error.code = _CODES.get(error.reason, 422)
        self._refused = error

    def conclude(self) -> None:
        """Writes the audit annotation. Raises the error of the first denial."""
        if self._failures:
            self._context.annotations[_FAILURES] = f"[{','.join(self._failures[:_MAX_FAILURES])}]"
        if self._refused is not None:
            raise self._refused
