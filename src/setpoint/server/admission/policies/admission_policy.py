"""The common parts of both kinds of policies: constraints, parameters, conditions and variables, compiled once."""

from collections.abc import Sequence
from functools import cached_property

from setpoint.objects import meta
from setpoint.objects.tree import Json, Object
from setpoint.schema.cel.environment import Environment
from setpoint.schema.cel.types import BOOL, Type
from setpoint.server.admission.match_criteria import Criteria
from setpoint.server.admission.policies.activation import Subject
from setpoint.server.admission.policies.expressions import CONDITIONS_BUDGET, Evaluation, Expression, ExpressionError
from setpoint.server.registry.kinds.admissionregistration.expressions import composed_type, environment


class AdmissionPolicy:
    """A policy, read once; its expressions are compiled on first use."""

    def __init__(self, tree: Object) -> None:
        self.name = meta.name(tree)
        self.spec: Object = tree.get("spec") or {}
        self.fails = self.spec.get("failurePolicy") != "Ignore"
        self.criteria = Criteria.of_match_resources(self.spec.get("matchConstraints") or {})
        self.param_kind: Object | None = self.spec.get("paramKind")

    @cached_property
    def variables(self) -> dict[str, Expression]:
        """The declared variables, each of which may use the preceding ones."""
        found: dict[str, Expression] = {}
        types: dict[str, Type] = {}
        for variable in self.spec.get("variables") or ():
            made = Expression(variable.get("expression") or "", self.environment(variables=types))
            found[variable.get("name") or ""] = made
            types[variable.get("name") or ""] = composed_type(made.program)
        return found

    def environment(
        self, *, authorizer: bool = True, messages: bool = False, variables: dict[str, Type]
    ) -> Environment:
        return environment(
            params=self.param_kind is not None, authorizer=authorizer, variables=variables, messages=messages
        )

    @cached_property
    def types(self) -> dict[str, Type]:
        """The types of the declared variables."""
        return {name: composed_type(expression.program) for name, expression in self.variables.items()}

    @cached_property
    def conditions(self) -> list[Expression]:
        known = self.environment(variables=self.types)
        given = self.spec.get("matchConditions") or ()
        return [Expression(condition.get("expression") or "", known, [BOOL]) for condition in given]

    def names(self, expressions: Sequence[Expression]) -> frozenset[str]:
        """Returns all variables that the policy refers to in these expressions, its conditions and its declared
        variables."""
        return frozenset().union(*(found.names for found in (*expressions, *self.conditions, *self.variables.values())))

    def meets_conditions(self, subject: Subject, params: Json) -> bool:
        """Returns True if the match conditions hold. Raises ExpressionError if their evaluation fails and the failure
        policy is Fail."""
        if not self.conditions:
            return True
        evaluation = Evaluation(subject.values(params, namespace=False), self.variables, CONDITIONS_BUDGET)
        try:
            return evaluation.all_true(self.conditions)
        except ExpressionError:
            if self.fails:
                raise
            return False
