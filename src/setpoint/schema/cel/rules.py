"""The rules of a whole schema, ready to be applied to objects.

`compile_rules` returns the tree of the schema nodes with rules at or below them; `ValidationRules.validate` traverses
this tree along an object, and along the old object on an update. Expressions are compiled when they first run.

Rules run without counting their cost as long as their maximum cost stays within the budget of the object. Only if that
is uncertain, the whole validation runs again and counts. A kind with many objects gets one function for all its rules
(`quick_walk`); for few objects, compiling that function would take longer than it saves.
"""

from collections.abc import Set
from typing import Any, NamedTuple

from setpoint.objects.field import OMITTED, FieldError, duplicate, forbidden, invalid, required
from setpoint.objects.field import child as child_path
from setpoint.objects.field import index as index_path
from setpoint.objects.field import key as key_path
from setpoint.objects.gotext import quote
from setpoint.objects.lazy import lazy
from setpoint.objects.tree import Json
from setpoint.schema.cel.compiled_rule import CompiledRule, RuleEnvironments, compile_rule
from setpoint.schema.cel.correlation import Correlation, old_items
from setpoint.schema.cel.declarations import Declaration, declare, escape
from setpoint.schema.cel.program import CALL_LIMIT, Program, measure, rule_variables
from setpoint.schema.cel.quick_walk import EXPENSIVE, QuickWalk
from setpoint.schema.cel.sizes import UNBOUNDED, Largest
from setpoint.schema.cel.values import ABSENT, CostExceeded, EvaluationError
from setpoint.schema.openapi import Schema
from setpoint.schema.ratchet import correlate
from setpoint.schema.work_limits import Lengthy

OBJECT_LIMIT = 10_000_000
# The cost that may run on the event loop: some ten milliseconds, if every step is as expensive as the slowest ones.
QUICK_LIMIT = 20_000
# This many objects are validated rule by rule, which compiles only their rules; later ones use code for the whole
# schema.
FEW = 48
# The path of the whole object in errors.
ROOT = "<nil>"
MAX_MESSAGE_BYTES = 5 * 1024
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class RuleError(NamedTuple):
    """A rule that an object violates. A `ratcheted` violation existed before the update, and is only a warning."""

    error: FieldError
    ratcheted: bool = False


class _Exhausted(Exception):  # noqa: N818 - the end of the walk
    """No further rule may run."""


class _Uncertain(Exception):  # noqa: N818 - the walk starts again, counting
    """The budget may be exceeded, if every rule has its maximum cost."""


class _OverBudget(Exception):  # noqa: N818 - the end of the walk, once it is told
    """An evaluation exceeds the budget of the object."""


class _Run:
    """One validation: its errors and its cost so far."""

    def __init__(self, tree: Json, old: Json, size: int | None, *, counting: bool, quick: bool) -> None:
        self.quick = quick
        self.errors: list[RuleError] = []
        self.spent = 0
        self.counting = counting
        self.trees = (tree, None if old is ABSENT else old)
        self.encoded = None if size is None else Largest(size, size, size).rounded()

    def spend(self, cost: int) -> None:
        if self.spent + cost > OBJECT_LIMIT:
            raise _OverBudget if self.counting else _Uncertain
        self.spent += cost

    def expect(self, most: int) -> None:
        """Checks the maximum cost before an evaluation. Raises `Lengthy`."""
        if self.quick and self.spent + most > QUICK_LIMIT:
            raise Lengthy

    @lazy
    def measured(self) -> Largest:
        return measure(*self.trees)

    def bound(self, program: Program) -> int:
        """Returns the maximum cost of the program here: by the schema, else by the size of the JSON, else by the
        measured sizes."""
        found = program.bound()
        if found > CALL_LIMIT and self.encoded is not None:
            found = program.bound(self.encoded)
        return program.bound(self.measured) if found > CALL_LIMIT else found


class ValidationRules:
    """The rules at and below one node of a schema."""

    def __init__(self, schema: Schema, declaration: Declaration | None, ruled: Set[int]) -> None:
        self.schema = schema
        self.declaration = declaration
        self._ruled = ruled
        self.properties: dict[str, ValidationRules] = {}
        self.elements: ValidationRules | None = None
        self._evaluations = 0
        self._add_properties()
        self._add_elements()

    def _add_properties(self) -> None:
        for name, schema in self.schema.properties.items():
            if id(schema) not in self._ruled:
                continue
            escaped = escape(name)
            declaration = None
            if escaped is None:
                declaration = declare(schema, root=schema.embedded_resource)
            elif self.declaration is not None:
                declaration = self.declaration.fields.get(escaped)
            if declaration is not None:
                self.properties[name] = ValidationRules(schema, declaration, self._ruled)

    def _add_elements(self) -> None:
        for below in (self.schema.items, self.schema.additional_properties):
            if isinstance(below, Schema) and id(below) in self._ruled:
                elements = None if self.declaration is None else self.declaration.elements
                self.elements = ValidationRules(below, elements, self._ruled)

    @lazy
    def compiled(self) -> list[CompiledRule]:
        if not self.schema.validations or self.declaration is None:
            return []
        environments = RuleEnvironments(self.declaration)
        return [compile_rule(rule, self.schema, environments) for rule in self.schema.validations]

    def validate(
        self,
        tree: Json,
        old: Json = ABSENT,
        *,
        path: str = "",
        size: int | None = None,
        ratchet: bool = True,
        quick: bool = False,
    ) -> list[RuleError]:
        """Returns the violations of an object, on an update with its old form. `size` is that of both as JSON, if
        known. With `quick`, raises `Lengthy` before evaluations that may take long."""
        if self._is_certainly_valid(tree, old, size, quick=quick):
            return []
        correlation = Correlation() if old is ABSENT or not ratchet else Correlation(correlate(self.schema, tree, old))
        old_value = None if old is ABSENT else old
        for counting in (False, True):
            run = _Run(tree, old, size, counting=counting, quick=quick)
            try:
                self._walk(run, path, tree, old_value, correlation)
            except _Exhausted:
                pass
            except _Uncertain:
                continue
            return run.errors
        raise AssertionError("a counting run is never uncertain")

    @lazy
    def _quick(self) -> QuickWalk:
        return QuickWalk(self)

    def _is_certainly_valid(self, tree: Json, old: Json, size: int | None, *, quick: bool) -> bool:
        """Returns True if all rules certainly hold, at a cost within the limit."""
        if self._evaluations < FEW:
            self._evaluations += 1
            return False
        walk, before = self._quick, None if old is ABSENT else old
        if walk.run is None or tree is None:
            return False
        costs = walk.bounds(UNBOUNDED)
        if costs is None and size is not None:
            costs = walk.bounds_of_size(size)
        if costs is None:
            costs = walk.bounds(measure(tree, before))
        if costs is None:
            return False
        try:
            found = walk.run(tree, before, costs, QUICK_LIMIT if quick else OBJECT_LIMIT)
            if quick and found == EXPENSIVE:
                # Too expensive by the schema's sizes, but possibly not by the actual sizes.
                tight = walk.bounds(measure(tree, before))
                found = EXPENSIVE if tight is None else walk.run(tree, before, tight, QUICK_LIMIT)
        except Exception:
            # The full traversal interprets any exception.
            return False
        if quick and found == EXPENSIVE:
            raise Lengthy
        return found >= 0

    def _walk(self, run: _Run, path: str, tree: Json, old: Json, correlation: Correlation) -> None:
        if tree is None:
            return
        if self.schema.validations:
            self._apply(run, path, tree, old, correlation)
        if isinstance(tree, dict):
            known = old if isinstance(old, dict) else {}
            for name, rules in self.properties.items():
                if name in tree:
                    rules._walk(run, child_path(path, name), tree[name], known.get(name), correlation.child(name))
            if self.elements is not None and not isinstance(self.schema.items, Schema):
                for name, value in tree.items():
                    self.elements._walk(run, key_path(path, name), value, known.get(name), correlation.child(name))
        elif isinstance(tree, list) and self.elements is not None:
            old_item = old_items(self.schema, old)
            for position, value in enumerate(tree):
                at = index_path(path, position)
                self.elements._walk(run, at, value, old_item(value), correlation.item(position))

    def _apply(self, run: _Run, path: str, tree: Json, old: Json, correlation: Correlation) -> None:
        if run.spent >= OBJECT_LIMIT:
            self._report(run, path, _OUT_OF_BUDGET)
            raise _Exhausted
        for compiled in self.compiled:
            if compiled.error:
                self._report(run, path, f"rule compile error: {compiled.error}")
            elif compiled.program is not None:
                self._apply_one(run, path, compiled, compiled.program, tree, old, correlation)

    def _apply_one(
        self,
        run: _Run,
        path: str,
        compiled: CompiledRule,
        program: Program,
        tree: Json,
        old: Json,
        correlation: Correlation,
    ) -> None:
        optional = bool(compiled.rule.optional_old_self)
        if old is None and not optional and compiled.uses_old_self:
            return
        try:
            holds = self._evaluate(run, program, tree, old, optional=optional)
        except _OverBudget:
            self._report(run, path, _OUT_OF_BUDGET)
            raise _Exhausted from None
        except CostExceeded as error:
            text = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: "
            self._report(run, path, text + compiled.shown)
            raise _Exhausted from None
        except EvaluationError as error:
            self._report(run, path, _evaluation_problem(str(error), compiled.shown))
            return
        if holds is not True:
            self._broken(run, path, compiled, tree, old, correlation)

    def _evaluate(self, run: _Run, program: Program, tree: Json, old: Json, *, optional: bool) -> Any:
        if run.quick:
            run.expect(min(program.bound(run.measured), program.bound()))
        if not run.counting and program.fast is not None:
            bound = run.bound(program)
            if bound <= CALL_LIMIT:
                try:
                    result = program.fast(tree, old)
                except Exception:
                    result = None
                if result is not None:
                    run.spend(bound if not run.quick else min(bound, program.bound(run.measured)))
                    return result
        return self._evaluate_exactly(run, program, tree, old, optional=optional)

    def _evaluate_exactly(self, run: _Run, program: Program, tree: Json, old: Json, *, optional: bool) -> Any:
        assert self.declaration is not None
        state = program.start(rule_variables(self.declaration, tree, old, optional=optional))
        try:
            return program.exact(state)
        except RecursionError:
            raise EvaluationError("the expression is nested too deeply to be evaluated") from None
        finally:
            # Also after an error: an error does not reduce the cost.
            run.spend(state.cost)

    def _broken(
        self, run: _Run, path: str, compiled: CompiledRule, tree: Json, old: Json, correlation: Correlation
    ) -> None:
        at = child_path(path, compiled.field_path) if compiled.field_path else path or ROOT
        ratcheted = not compiled.uses_old_self and correlation.unchanged()
        detail = None
        if compiled.message is not None:
            try:
                detail = self._message(run, compiled, compiled.message, tree, old)
            except _OverBudget:
                text = "messageExpression evaluation failed due to running out of cost budget, no further validation "
                self._end(run, at, ratcheted, f"{text}rules will be run")
            except CostExceeded:
                text = "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
                self._end(run, at, ratcheted, text + quote(compiled.rule.message_expression))
        if detail is None:
            detail = compiled.shown if compiled.rule.message else f"failed rule: {compiled.shown}"
        value = OMITTED if self._type in ("object", "array") else tree
        run.errors.append(RuleError(_error(compiled.rule.reason, at, value, detail), ratcheted))

    def _end(self, run: _Run, path: str, ratcheted: bool, text: str) -> None:
        run.errors.append(RuleError(invalid(path, self._type, text), ratcheted))
        raise _Exhausted

    @lazy
    def _uses_old_self(self) -> bool:
        return any(compiled.uses_old_self for compiled in self.compiled)

    def _message(self, run: _Run, compiled: CompiledRule, program: Program, tree: Json, old: Json) -> str | None:
        """Returns the text of a messageExpression, or None if the rule's message must be used.

        As on the real server, a message has access to the old value only if a rule of the same node does, and never as
        an optional.
        """
        try:
            if compiled.rule.optional_old_self and program.refers_to("oldSelf"):
                if run.quick:
                    run.expect(program.bound(run.measured))
                text = self._evaluate_exactly(run, program, tree, old, optional=False)
            else:
                text = self._evaluate(run, program, tree, old if self._uses_old_self else None, optional=False)
        except EvaluationError:
            return None
        if not isinstance(text, str):
            return None
        text = text.strip()
        if not text or "\n" in text or len(text.encode("utf-8", "surrogatepass")) > MAX_MESSAGE_BYTES:
            return None
        return text

    @property
    def _type(self) -> str:
        return self.schema.type

    def _report(self, run: _Run, path: str, text: str) -> None:
        run.errors.append(RuleError(invalid(path or ROOT, self._type, text)))


def compile_rules(schema: Schema, *, root: bool = True) -> ValidationRules | None:
    """Returns the rules of a schema, or None if there are none; `root` is True for the schema of a whole resource."""
    ruled = nodes_with_rules(schema)
    return ValidationRules(schema, declare(schema, root=root), ruled) if ruled else None


def _evaluation_problem(text: str, shown: str) -> str:
    if text.startswith("no such overload"):
        words = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{text}': {words}: {shown}"
    return f"{text} evaluating rule: {shown}"


def _error(reason: str | None, path: str, value: Any, detail: str) -> FieldError:
    if reason == "FieldValueForbidden":
        return forbidden(path, detail)
    if reason == "FieldValueRequired":
        return required(path, detail)
    if reason == "FieldValueDuplicate":
        return duplicate(path, value)
    return invalid(path, value, detail)


def nodes_with_rules(schema: Schema) -> Set[int]:
    """Returns the identities of the nodes with rules at or below them.

    Rules under allOf and similar keywords are not accepted. Found in one traversal: a search per node would visit the
    nodes of a deep schema once per level.
    """
    found: set[int] = set()
    order = [schema]
    above: dict[int, Schema] = {}
    while order:
        node = order.pop()
        if node.validations:
            climbing: Schema | None = node
            while climbing is not None and id(climbing) not in found:
                found.add(id(climbing))
                climbing = above.get(id(climbing))
        for below in (*node.properties.values(), node.items, node.additional_properties):
            if isinstance(below, Schema) and (
                below.validations or below.properties or below.items or below.additional_properties
            ):
                above[id(below)] = node
                order.append(below)
    return found
