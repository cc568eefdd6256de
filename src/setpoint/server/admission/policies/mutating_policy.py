"""One MutatingAdmissionPolicy: applies merge configurations and JSON Patches to an object."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from setpoint.merge import jsonpatch
from setpoint.merge.failure import PatchFailed, PatchTestFailed
from setpoint.merge.typed import validate
from setpoint.merge.typed.any import AnyType
from setpoint.merge.typed.list import ListType
from setpoint.merge.typed.map import MapType
from setpoint.merge.typed.node import Mismatch, Type
from setpoint.objects.tree import Json, Object
from setpoint.schema.cel.messages import JSON_PATCHES, OBJECT, Message, misplaced, plain
from setpoint.schema.cel.values import CostExceeded, EvaluationError
from setpoint.server.admission.policies.activation import Subject
from setpoint.server.admission.policies.admission_policy import AdmissionPolicy
from setpoint.server.admission.policies.expressions import BUDGET, Evaluation, Expression

_NO_JSON = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
_ATOMICS = "may not mutate atomic arrays, maps or structs"


class PatchError(Exception):
    """The mutation cannot be applied. The message says why."""


class Mutation(NamedTuple):
    """One mutation: an expression that returns an apply configuration or a JSON Patch."""

    expression: Expression
    merges: bool

    def patch(self, value: Any, tree: Object, kind: Type) -> Object:
        """Returns the object with the value of the expression applied. Raises PatchError."""
        try:
            return _merged(value, tree, kind) if self.merges else _patched(value, tree)
        except CostExceeded as error:
            raise PatchError(str(error)) from None


class MutatingPolicy(AdmissionPolicy):
    """A MutatingAdmissionPolicy."""

    @cached_property
    def mutations(self) -> list[Mutation]:
        known = self.environment(variables=self.types, messages=True)
        found = []
        for given in self.spec.get("mutations") or ():
            merges = given.get("patchType") == "ApplyConfiguration"
            patch = given.get("applyConfiguration" if merges else "jsonPatch") or {}
            wanted = OBJECT if merges else JSON_PATCHES
            found.append(Mutation(Expression(patch.get("expression") or "", known, [wanted]), merges))
        return found

    @cached_property
    def needs(self) -> frozenset[str]:
        """All variables that the policy refers to."""
        return self.names([mutation.expression for mutation in self.mutations])

    @property
    def is_reinvocable(self) -> bool:
        return self.spec.get("reinvocationPolicy") == "IfNeeded"

    def mutate(self, mutation: Mutation, subject: Subject, params: Json, tree: Object, kind: Type) -> Object:
        """Returns the object after a mutation. Raises ExpressionError or PatchError."""
        if mutation.expression.program is None:
            raise PatchError(mutation.expression.problem)
        value = Evaluation(subject.values(params), self.variables, BUDGET).evaluate(mutation.expression)
        return mutation.patch(value, tree, kind)


def _merged(value: Message, tree: Object, kind: Type) -> Object:
    """Returns the object merged with an apply configuration, as in server-side apply but without field ownership."""
    _check_names(value)
    try:
        config = plain(value)
    except EvaluationError as error:
        raise PatchError(str(error)) from None
    config = {**config, "apiVersion": tree["apiVersion"], "kind": tree["kind"]}
    if problems := validate.problems(kind, config):
        why = f"failed to convert patch object to typed object: {validate.text(problems)}"
        raise PatchError(f"error applying patch: {why}")
    if atomics := list(_atomics(kind, config, "")):
        raise PatchError(f"error applying patch: invalid ApplyConfiguration: {_ATOMICS}: {', '.join(atomics)}")
    try:
        merged: Object = kind.merge(tree, config)
    except Mismatch:
        found = validate.text(validate.problems(kind, tree, allow_duplicates=True))
        raise PatchError(f"error applying patch: failed to convert original object to typed object: {found}") from None
    return merged


def _check_names(value: Message) -> None:
    if found := misplaced(value):
        raise PatchError(f"type mismatch: {chr(10).join(found)}")


def _atomics(kind: Type, value: Json, path: str) -> Iterator[str]:
    """Yields the paths of atomic values, which are rejected because setting a part would drop the rest."""
    if isinstance(kind, AnyType):
        kind = kind.as_map if type(value) is dict else kind.as_list
    if isinstance(kind, MapType) and type(value) is dict:
        if kind.atomic:
            yield path
        for name, item in value.items():
            if name in kind.fields:
                yield from _atomics(kind.fields[name][1], item, f"{path}.{name}")
    elif isinstance(kind, ListType) and type(value) is list:
        if kind.atomic:
            yield path
        for position, item in enumerate(value):
            yield from _atomics(kind.element, item, f"{path}[{position}]")


def _patched(value: list[Message], tree: Object) -> Object:
    """Returns the object with a JSON Patch applied, or unchanged if a test operation of the patch fails."""
    operations = [_operation(item) for item in value]
    if len(operations) > jsonpatch.MAX_OPERATIONS:
        raise PatchError(f"JSON Patch: more than {jsonpatch.MAX_OPERATIONS} operations")
    try:
        patched: Object = jsonpatch.apply(tree, operations)
    except PatchTestFailed:
        return tree
    except PatchFailed as error:
        raise PatchError(f"JSON Patch: {error.why}") from None
    return patched


def _operation(message: Message) -> jsonpatch.Operation:
    fields = message.fields
    value = fields.get("value")
    if isinstance(value, Message):
        _check_names(value)
    try:
        plain_value = plain(value)
    except EvaluationError as error:
        raise PatchError(f"{_NO_JSON}: {error}") from None
    return jsonpatch.Operation(fields.get("op") or "unknown", fields.get("path") or "", fields.get("from"), plain_value)
