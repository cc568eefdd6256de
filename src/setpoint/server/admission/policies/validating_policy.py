"""One ValidatingAdmissionPolicy: evaluates validations and audit annotations for a request."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from setpoint.objects.gotext import compact_json
from setpoint.objects.tree import Json, Object
from setpoint.schema.cel.types import BOOL, NULL, STRING
from setpoint.server.admission.policies.activation import Subject
from setpoint.server.admission.policies.admission_policy import AdmissionPolicy
from setpoint.server.admission.policies.expressions import BUDGET, Evaluation, Expression, ExpressionError, OutOfBudget

# The maximum size in bytes of a message expression's result, and of an audit annotation.
_MAX_MESSAGE, _MAX_ANNOTATION = 5 * 1024, 10 * 1024


class Validation(NamedTuple):
    """One condition on objects, with the message for violations."""

    expression: Expression
    message_expression: Expression | None
    message: str
    reason: str


class Decision(NamedTuple):
    """A failed validation. `position` is its index in the policy."""

    message: str
    reason: str = ""
    position: int = 0


class Judgement(NamedTuple):
    """The result of a policy: failed validations, failed annotations, and audit annotations."""

    decisions: Sequence[Decision] = ()
    failed_annotations: Sequence[Decision] = ()
    annotations: Sequence[tuple[str, str]] = ()


class ValidatingPolicy(AdmissionPolicy):
    """A ValidatingAdmissionPolicy."""

    @cached_property
    def validations(self) -> list[Validation]:
        known = self.environment(variables=self.types)
        silent = self.environment(authorizer=False, variables=self.types)
        return [
            Validation(
                Expression(given.get("expression") or "", known, [BOOL]),
                Expression(text, silent, [STRING]) if (text := given.get("messageExpression")) else None,
                given.get("message") or "",
                given.get("reason") or "Invalid",
            )
            for given in self.spec.get("validations") or ()
        ]

    @cached_property
    def annotations(self) -> list[tuple[str, Expression]]:
        known = self.environment(variables=self.types)
        return [
            (given.get("key") or "", Expression(given.get("valueExpression") or "", known, [STRING, NULL]))
            for given in self.spec.get("auditAnnotations") or ()
        ]

    @cached_property
    def needs(self) -> frozenset[str]:
        """All variables that the policy refers to."""
        expressions = [found.expression for found in self.validations]
        expressions += [found.message_expression for found in self.validations if found.message_expression is not None]
        return self.names([*expressions, *(expression for _, expression in self.annotations)])

    def judge(self, subject: Subject, params: Json) -> Judgement:
        """Evaluates the policy for a request. An error counts as a failed validation, unless the failure policy is
        Ignore."""
        try:
            if not self.meets_conditions(subject, params):
                return Judgement()
            decisions = self._validate(subject, params)
            if not self.annotations:
                return Judgement(decisions)
            failed, annotations = self._annotate(subject, params)
        except ExpressionError as error:
            return Judgement(self._erred(error, 0))
        return Judgement(decisions, failed, annotations)

    def _erred(self, error: ExpressionError | str, position: int) -> list[Decision]:
        return [Decision(str(error), "", position)] if self.fails else []

    def _validate(self, subject: Subject, params: Json) -> list[Decision]:
        evaluation = Evaluation(subject.values(params), self.variables, BUDGET)
        refused: list[tuple[int, ExpressionError | None]] = []
        for position, validation in enumerate(self.validations):
            try:
                if evaluation.evaluate(validation.expression) is not True:
                    refused.append((position, None))
            except OutOfBudget:
                raise
            except ExpressionError as error:
                refused.append((position, error))
        # Messages are evaluated after all validations, so that validations get the budget first.
        return [
            decision
            for position, error in refused
            for decision in (self._explained(evaluation, position) if error is None else self._erred(error, position))
        ]

    def _explained(self, evaluation: Evaluation, position: int) -> list[Decision]:
        validation = self.validations[position]
        message = ""
        if validation.message_expression is not None:
            try:
                message = _usable(evaluation.evaluate(validation.message_expression))
            except OutOfBudget as error:
                return self._erred(f"failed messageExpression: {error}", position)
            except ExpressionError:
                pass
        message = message or validation.message.strip() or f"failed expression: {validation.expression.source.strip()}"
        return [Decision(message, validation.reason, position)]

    def _annotate(self, subject: Subject, params: Json) -> tuple[list[Decision], list[tuple[str, str]]]:
        evaluation = Evaluation(subject.values(params), self.variables, BUDGET)
        failed: list[Decision] = []
        found: list[tuple[str, str]] = []
        for key, expression in self.annotations:
            try:
                value = evaluation.evaluate(expression)
            except OutOfBudget:
                raise
            except ExpressionError as error:
                failed += self._erred(error, 0)
                continue
            if isinstance(value, str) and value.strip():
                found.append((key, _shortened(value.strip())))
        return failed, found


def _usable(message: Json) -> str:
    """Returns the result of a message expression, or an empty string if unusable."""
    text = message.strip() if isinstance(message, str) else ""
    return "" if "\n" in text or len(text.encode("utf-8", "surrogatepass")) > _MAX_MESSAGE else text


def _shortened(text: str) -> str:
    return text.encode("utf-8", "replace")[:_MAX_ANNOTATION].decode("utf-8", "ignore")


def failure(policy: str, binding: str, decision: Decision, actions: list[str]) -> str:
    """Formats a failed validation for the audit log as JSON, with kube-apiserver's order of fields."""
    fields: Object = {
        "message": decision.message,
        "policy": policy,
        "binding": binding,
        "expressionIndex": decision.position,
        "validationActions": actions,
    }
    written = [f"{compact_json(name)}:{compact_json(value)}" for name, value in fields.items()]
    return f"{{{','.join(written)}}}"
