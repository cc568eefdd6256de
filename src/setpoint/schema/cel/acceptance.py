"""Decides whether a schema's rules are accepted: by their form, their types, their position and their estimated cost.

If a rule at or below a node has an invalid form, no expression of that node is compiled, so that the author sees the
most basic errors first.
"""

from collections.abc import Set
from typing import Any, NamedTuple

import msgspec

import setpoint.schema.cel.field_paths as field_paths
from setpoint.objects.field import FieldError, child, forbidden, internal, invalid, key, not_supported, required
from setpoint.objects.field import index as item
from setpoint.schema.cel.compiled_rule import CompiledRule, RuleEnvironments, compile_rule
from setpoint.schema.cel.declarations import MAX_REQUEST, declare
from setpoint.schema.cel.rules import compile_rules, nodes_with_rules
from setpoint.schema.cel.sizes import multiply
from setpoint.schema.openapi import Schema, ValidationRule

RULE_COST_LIMIT = 10_000_000
SCHEMA_COST_LIMIT = 100_000_000
_SHOWN_RULES = 4
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_REMEDY = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


class _NodePosition(NamedTuple):
    """The position of a schema node: its path, its maximum occurrences, and the reason if `oldSelf` is not allowed."""

    path: str
    # None if the schemas above set no bound.
    occurrences: int | None
    uncorrelatable: str

    def below(self, schema: Schema, path: str, *, uncorrelatable: bool = False) -> "_NodePosition":
        most = None if self.occurrences is None else _max_elements(schema)
        return self._replace(
            path=path,
            occurrences=None if self.occurrences is None or most is None else multiply(self.occurrences, most),
            uncorrelatable=self.uncorrelatable or (self.path if uncorrelatable else ""),
        )


def validate_rules(schema: Schema, path: str) -> list[FieldError]:
    """Returns all errors of the rules of a schema at `path`."""
    ruled = nodes_with_rules(schema)
    if not ruled:
        return []
    broken = _default_errors(schema, path, ruled, root=True)
    acceptance = _Acceptance(ruled, compiling=not broken)
    form, expressions = acceptance.visit(schema, _NodePosition(path, 1, ""), root=True)
    return [*broken, *form, *expressions, *acceptance.total_cost_errors(path)]


def _default_errors(schema: Schema, path: str, ruled: Set[int], *, root: bool) -> list[FieldError]:
    """Returns the errors of defaults that violate their own rules."""
    errors: list[FieldError] = []
    if schema.default is not msgspec.UNSET and schema.default is not None:
        rules = compile_rules(schema, root=root)
        if rules is not None:
            default = schema.default
            found = rules.validate(default, default, path=child(path, "default"), ratchet=False)
            errors.extend(error.error for error in found)
    for below, at in _spine(schema, path, ruled):
        errors.extend(_default_errors(below, at, ruled, root=below.embedded_resource))
    return errors


def _spine(schema: Schema, path: str, ruled: Set[int]) -> list[tuple[Schema, str]]:
    """Returns the inner schemas that have rules, with their paths."""
    found = [
        (below, key(child(path, "properties"), name)) for name, below in schema.properties.items() if id(below) in ruled
    ]
    for below, keyword in ((schema.additional_properties, "additionalProperties"), (schema.items, "items")):
        if isinstance(below, Schema) and id(below) in ruled:
            found.append((below, child(path, keyword)))
    return found


class _Acceptance:
    def __init__(self, ruled: Set[int], *, compiling: bool) -> None:
        self.ruled = ruled
        self.compiling = compiling
        self.total = 0
        self.expensive: list[tuple[int, str]] = []

    def visit(
        self, schema: Schema, place: _NodePosition, *, root: bool = False
    ) -> tuple[list[FieldError], list[FieldError]]:
        """Returns the form errors of the rules at and below a node, and the errors in their expressions."""
        form: list[FieldError] = []
        expressions: list[FieldError] = []
        for below, beneath in _children(schema, place, self.ruled):
            more_form, more_expressions = self.visit(below, beneath)
            form.extend(more_form)
            expressions.extend(more_expressions)
        for position, rule in enumerate(schema.validations):
            form.extend(_form_errors(rule, schema, _rule_path(place, position)))
        if schema.validations and not form and self.compiling:
            expressions.extend(self.compile(schema, place, root=root))
        return form, expressions

    def compile(self, schema: Schema, place: _NodePosition, *, root: bool) -> list[FieldError]:
        declaration = declare(schema, root=root or schema.embedded_resource)
        if declaration is None:
            text = (
                "internal error: failed to construct type information for x-kubernetes-validations rules: "
                "unable to convert structural schema to CEL declarations"
            )
            return [internal(child(place.path, "x-kubernetes-validations"), text)]
        environments = RuleEnvironments(declaration)
        most = MAX_REQUEST // (declaration.min_size + 1) if place.occurrences is None else place.occurrences
        errors: list[FieldError] = []
        for position, rule in enumerate(schema.validations):
            compiled = compile_rule(rule, schema, environments)
            errors.extend(self.rule_errors(compiled, _rule_path(place, position), most, place.uncorrelatable))
        return errors

    def rule_errors(self, compiled: CompiledRule, path: str, most: int, uncorrelatable: str) -> list[FieldError]:
        errors: list[FieldError] = []
        rule = compiled.rule
        at = child(path, "rule")
        if compiled.program is not None:
            cost = multiply(compiled.program.max_cost, most)
            errors.extend(self.cost_errors(at, cost, "estimated rule cost"))
        if compiled.error:
            errors.append(invalid(at, _shown(rule), compiled.error))
        at_message = child(path, "messageExpression")
        if compiled.message_error:
            errors.append(invalid(at_message, _shown(rule), compiled.message_error))
        elif compiled.message is not None:
            errors.extend(self.cost_errors(at_message, compiled.message.max_cost, "estimated messageExpression cost"))
        if compiled.uses_old_self:
            if uncorrelatable:
                text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
                errors.append(invalid(at, rule.rule, text))
        elif rule.optional_old_self is not None:
            text = "may not be set if oldSelf is not used in rule"
            errors.append(invalid(child(path, "optionalOldSelf"), rule.optional_old_self, text))
        return errors

    def cost_errors(self, path: str, cost: int, message: str) -> list[FieldError]:
        self.total += cost
        if cost >= SCHEMA_COST_LIMIT // 100:
            self.expensive.append((cost, path))
        return [forbidden(path, over_budget(message, cost, RULE_COST_LIMIT))] if cost > RULE_COST_LIMIT else []

    def total_cost_errors(self, path: str) -> list[FieldError]:
        if self.total <= SCHEMA_COST_LIMIT:
            return []
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        worst = sorted(self.expensive, key=lambda found: -found[0])[:_SHOWN_RULES]
        words = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [
            *(forbidden(at, text) for _, at in worst),
            forbidden(path, over_budget(words, self.total, SCHEMA_COST_LIMIT)),
        ]


def over_budget(message: str, cost: int, limit: int) -> str:
    """Returns the message for a cost over its limit."""
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{message} exceeds budget by factor of {shown} {_REMEDY}"


def _rule_path(place: _NodePosition, position: int) -> str:
    return item(child(place.path, "x-kubernetes-validations"), position)


def _children(schema: Schema, place: _NodePosition, ruled: Set[int]) -> list[tuple[Schema, _NodePosition]]:
    found: list[tuple[Schema, _NodePosition]] = []
    correlatable = schema.map_type in (None, "granular", "atomic")
    for below, at in _spine(schema, place.path, ruled):
        loose = schema.list_type != "map" if below is schema.items else not correlatable
        found.append((below, place.below(schema, at, uncorrelatable=loose)))
    return found


def _max_elements(schema: Schema) -> int | None:
    """Returns the maximum number of occurrences of a child in one value of the schema; None if unbounded."""
    if schema.type == "array":
        return None if schema.max_items is None else max(schema.max_items, 0)
    if schema.type == "object" and schema.additional_properties not in (None, False):
        return None if schema.max_properties is None else max(schema.max_properties, 0)
    return 1


def _has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text


def _form_errors(rule: ValidationRule, schema: Schema, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    expression, message = rule.rule.strip(), rule.message.strip()
    at_message = child(path, "message")
    if not expression:
        errors.append(required(child(path, "rule"), "rule is not specified"))
    elif rule.message and not message:
        errors.append(invalid(at_message, rule.message, "must be non-empty if specified"))
    elif _has_newline(message):
        errors.append(invalid(at_message, rule.message, "must not contain line breaks"))
    elif _has_newline(expression) and not message:
        errors.append(required(at_message, "message must be specified if rule contains line breaks"))
    if rule.message_expression and not rule.message_expression.strip():
        text = "messageExpression must be non-empty if specified"
        errors.append(required(child(path, "messageExpression"), text))
    if rule.reason is not None and rule.reason not in _REASONS:
        errors.append(not_supported(child(path, "reason"), rule.reason, _REASONS))
    return errors + _field_path_errors(rule, schema, child(path, "fieldPath"))


def _field_path_errors(rule: ValidationRule, schema: Schema, path: str) -> list[FieldError]:
    if not rule.field_path:
        return []
    errors: list[FieldError] = []
    if not rule.field_path.strip():
        errors.append(invalid(path, rule.field_path, "must be non-empty if specified"))
    if _has_newline(rule.field_path):
        errors.append(invalid(path, rule.field_path, "must not contain line breaks"))
    if field_paths.resolve(rule.field_path, schema) is None:
        errors.append(invalid(path, rule.field_path, "must be a valid path"))
    return errors


def _shown(rule: ValidationRule) -> Any:
    """Returns the rule in the JSON form of the real server's Go type, with the same order of fields."""
    fields = {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self,
    }
    return msgspec.Raw(msgspec.json.encode(fields))
