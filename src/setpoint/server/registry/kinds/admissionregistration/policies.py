"""Admission policies, which are written in CEL, and their bindings."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects import labels
from setpoint.objects.field import FieldError, duplicate, forbidden, index, invalid, not_supported, required
from setpoint.objects.names import dns1123_subdomain, path_segment
from setpoint.objects.tree import Json, Object
from setpoint.schema.cel.environment import Environment
from setpoint.schema.cel.messages import JSON_PATCHES, OBJECT
from setpoint.schema.cel.types import BOOL, NULL, STRING, Type
from setpoint.schema.jsonpath import JSONPath, JSONPathError
from setpoint.server.registry.kinds.admissionregistration.expressions import (
    compile_expression,
    compiled,
    composed_type,
    environment,
)
from setpoint.server.registry.kinds.admissionregistration.match_rules import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    default_match,
    default_rules,
    is_identifier,
    validate_match,
    validate_mutable,
    validate_param_kind,
)
from setpoint.server.registry.kinds.admissionregistration.match_rules import (
    validate_conditions as validate_match_conditions,
)
from setpoint.server.registry.kinds.base_strategy import STATUS_ALONE, ValidatingStrategy
from setpoint.server.registry.kinds.gotypes.difference import struct_value
from setpoint.server.registry.kinds.printers.cells import UNSET, field, lookup
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, count
from setpoint.server.registry.kinds.validation.conditions import validate_conditions
from setpoint.server.registry.kinds.validation.values import enum, qualified, repeats, wrong
from setpoint.server.registry.strategy import Column

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
# The result type of the expression of each patch type.
_PATCHES = {"ApplyConfiguration": OBJECT, "JSONPatch": JSON_PATCHES}
_MAX_ANNOTATIONS, _MAX_ANNOTATION = 20, 5 * 1024
_NEEDS_ITEM = "validations or auditAnnotations must contain at least one item"
_LINE_BREAK = re.compile(r"[\n\r]")
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_EXCLUSIVE = "name and selector are mutually exclusive"
_NO_STATUS: Sequence[str] = ()


def _param_kind(tree: Object, _now: datetime) -> str:
    kind = lookup(tree, "spec", "paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"


def _default_match(match: Json) -> None:
    if match is not None:
        default_match(match)
        for name in ("resourceRules", "excludeResourceRules"):
            default_rules(match.get(name) or ())


class _Policy(ValidatingStrategy):
    """The common parts of both kinds of policies: a failure policy, parameters, constraints, conditions, variables."""

    mutates = False
    without_domains = ("", "status")
    name_on_update = "before"
    keeps_generation = True
    allows_unconditional_update = False
    status_writes_metadata = False
    reset_fields = STATUS_ALONE

    def default(self, tree: Object) -> None:
        spec = tree.setdefault("spec", {})
        spec.setdefault("failurePolicy", "Fail")
        _default_match(spec.get("matchConstraints"))

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec, before = tree.get("spec") or {}, (old or {}).get("spec") or {}
        found = enum(spec.get("failurePolicy") or "", "spec.failurePolicy", FAILURE_POLICIES, needed=False)
        params = "paramKind" in spec
        if params:
            found += validate_param_kind(spec["paramKind"], "spec.paramKind")
        match = spec.get("matchConstraints")
        if match is None:
            found.append(required("spec.matchConstraints"))
        else:
            found += validate_match(match, "spec.matchConstraints")
            if not match.get("resourceRules"):
                found.append(required("spec.matchConstraints.resourceRules"))
            if self.mutates:
                found += validate_mutable(match, "spec.matchConstraints")
        same = all(spec.get(name) == before.get(name) for name in ("paramKind", "matchConditions"))
        if old is None or not same:
            conditions = spec.get("matchConditions") or []
            found += validate_match_conditions(conditions, "spec.matchConditions", params=params)
        return found


def _validate_variables(variables: list[Object], *, params: bool) -> tuple[dict[str, Type] | None, list[FieldError]]:
    """Returns the types of the variables, each of which may use the previous ones, and their errors."""
    types: dict[str, Type] = {}
    found: list[FieldError] = []
    for position, variable in enumerate(variables):
        path, name = index("spec.variables", position), variable.get("name") or ""
        expression = variable.get("expression") or ""
        if not name.strip():
            found.append(required(f"{path}.name", "name is not specified"))
        elif not is_identifier(name):
            found.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
        if not expression.strip():
            found.append(required(f"{path}.expression", "expression is not specified"))
            continue
        program, problem = compiled(expression, environment(params=params, variables=types))
        if problem:
            found.append(invalid(f"{path}.expression", expression, problem))
        types[name] = composed_type(program)
    return types if variables else None, found


class ValidatingAdmissionPolicyStrategy(_Policy):
    creates_on_status_apply = True
    columns = (
        NAME,
        Column("Validations", count("spec", "validations"), "integer"),
        Column("ParamKind", _param_kind),
        AGE,
    )

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found = super().check(tree, old)
        params = "paramKind" in spec
        variables, wrong_variables = _validate_variables(spec.get("variables") or [], params=params)
        found += wrong_variables
        validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
        if not validations and not annotations:
            found += [required(f"spec.{name}", _NEEDS_ITEM) for name in ("validations", "auditAnnotations")]
            return found
        known = environment(params=params, variables=variables)
        silent = environment(params=params, authorizer=False, variables=variables)
        for position, validation in enumerate(validations):
            found += _validate_validation(validation, index("spec.validations", position), known, silent)
        return found + _validate_annotations(annotations, tree["metadata"].get("name") or "", known)

    def check_status(self, tree: Object, old: Object) -> list[FieldError]:
        status = tree.get("status") or {}
        found: list[FieldError] = []
        path = "status.typeChecking.expressionWarnings"
        for position, warning in enumerate(lookup(status, "typeChecking", "expressionWarnings") or ()):
            if not (warning.get("warning") or "").strip():
                found.append(required(f"{index(path, position)}.warning"))
            found += _validate_field(warning.get("fieldRef") or "", f"{index(path, position)}.fieldRef")
        return found + validate_conditions(status.get("conditions") or [], "status.conditions")


def _validate_field(text: str, path: str) -> list[FieldError]:
    """Validates the path of the field that a warning is about."""
    text = text.strip()
    if not text:
        return [required(path)]
    try:
        JSONPath(text)
    except JSONPathError as error:
        return [invalid(path, text, f"invalid JSONPath: {error}")]
    return []


def _validate_validation(validation: Object, path: str, known: Environment, silent: Environment) -> list[FieldError]:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    text, place = validation.get("messageExpression") or "", f"{path}.messageExpression"
    if expression.strip():
        found = compile_expression(expression, f"{path}.expression", known, [BOOL])
    else:
        found = [required(f"{path}.expression", "expression is not specified")]
    if text and not text.strip():
        found.append(invalid(place, text, "must be non-empty if specified"))
    elif text:
        found += compile_expression(text, place, silent, [STRING])
    if message and not message.strip():
        found.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _LINE_BREAK.search(message.strip()):
        found.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    reason = validation.get("reason")
    return found if reason is None else found + enum(reason, f"{path}.reason", _REASONS, needed=False)


def _validate_annotations(annotations: list[Object], name: str, known: Environment) -> list[FieldError]:
    path = "spec.auditAnnotations"
    found = []
    if len(annotations) > _MAX_ANNOTATIONS:
        shown = struct_value("[]admissionregistration.AuditAnnotation", annotations)
        found.append(invalid(path, shown, f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"))
    keys: set[str] = set()
    for position, annotation in enumerate(annotations[: 2 * _MAX_ANNOTATIONS]):
        place, label = index(path, position), annotation.get("key") or ""
        if name:
            found += qualified(f"{name}/{label}", f"{place}.key")
        else:
            found.append(invalid(f"{place}.key", label, "requires metadata.name be non-empty"))
        value = annotation.get("valueExpression") or ""
        expression, where = value.strip(), f"{place}.valueExpression"
        if not expression:
            found.append(required(where, "valueExpression is not specified"))
        elif len(expression.encode()) > _MAX_ANNOTATION:
            found.append(required(where, f"must not exceed {_MAX_ANNOTATION} bytes in length"))
        else:
            found += compile_expression(expression, where, known, [STRING, NULL], shown=value)
        if label in keys:
            found.append(duplicate(f"{place}.key", label))
        keys.add(label)
    return found


class MutatingAdmissionPolicyStrategy(_Policy):
    mutates = True
    status_fields = _NO_STATUS
    columns = (
        NAME,
        Column("Mutations", count("spec", "mutations"), "integer"),
        Column("ParamKind", _param_kind),
        AGE,
    )

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        found = super().check(tree, old)
        params = "paramKind" in spec
        variables, wrong_variables = _validate_variables(spec.get("variables") or [], params=params)
        found += wrong_variables
        known = environment(params=params, variables=variables or {}, messages=True)
        mutations = spec.get("mutations") or []
        if not mutations:
            found.append(required("spec.mutations", "mutations must contain at least one item"))
        for position, mutation in enumerate(mutations):
            found += _validate_mutation(mutation, index("spec.mutations", position), known)
        return found + enum(spec.get("reinvocationPolicy") or "", "spec.reinvocationPolicy", REINVOCATION_POLICIES)


def _validate_mutation(mutation: Object, path: str, known: Environment) -> list[FieldError]:
    """Validates a mutation."""
    kind = mutation.get("patchType") or ""
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _PATCHES:
        return [not_supported(f"{path}.patchType", kind, tuple(_PATCHES))]
    mine, other = ("jsonPatch", "applyConfiguration") if kind == "JSONPatch" else ("applyConfiguration", "jsonPatch")
    found = []
    patch = mutation.get(mine)
    if patch is None:
        found.append(required(f"{path}.{mine}", f"must be specified when patchType is {kind}"))
    else:
        expression, place = (patch.get("expression") or "").strip(), f"{path}.{mine}.expression"
        found += compile_expression(expression, place, known, [_PATCHES[kind]]) if expression else [required(place)]
    if mutation.get(other) is not None:
        why = f"must not be specified when patchType is {kind}"
        found.append(invalid(f"{path}.{other}", f"{{{other}}}", why))
    return found


def _param_ref(tree: Object, _now: datetime) -> str:
    reference = lookup(tree, "spec", "paramRef")
    if reference is None:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return UNSET if reference.get("selector") is None else str(reference["selector"])


class ValidatingAdmissionPolicyBindingStrategy(ValidatingStrategy):
    declared_rules: ClassVar[Sequence[str]] = ("spec.policyName Required", "spec.validationActions Required")
    without_domains = ("",)
    name_on_update = "before"
    keeps_generation = True
    allows_unconditional_update = False
    status_fields = _NO_STATUS
    columns = (NAME, Column("PolicyName", field("spec", "policyName")), Column("ParamRef", _param_ref), AGE)

    def default(self, tree: Object) -> None:
        _default_match(tree.setdefault("spec", {}).get("matchResources"))

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        return _validate_binding(spec) + _validate_actions(spec.get("validationActions") or [])


class MutatingAdmissionPolicyBindingStrategy(ValidatingAdmissionPolicyBindingStrategy):
    declared_rules: ClassVar[Sequence[str]] = ()

    def check(self, tree: Object, old: Object | None) -> list[FieldError]:
        spec = tree.get("spec") or {}
        return _validate_binding(spec) + validate_mutable(spec.get("matchResources") or {}, "spec.matchResources")


def _validate_binding(spec: Object) -> list[FieldError]:
    name, path = spec.get("policyName") or "", "spec.policyName"
    found = wrong(path, name, dns1123_subdomain(name)) if name else [required(path)]
    reference, match = spec.get("paramRef"), spec.get("matchResources")
    if reference is not None:
        found += _validate_param_ref(reference, "spec.paramRef")
    return found if match is None else found + validate_match(match, "spec.matchResources")


def _validate_actions(actions: list[str]) -> list[FieldError]:
    path = "spec.validationActions"
    found = [] if actions else [required(path)]
    for position, (action, again) in enumerate(zip(actions, repeats(actions), strict=True)):
        found += enum(action, index(path, position), _ACTIONS, needed=False)
        if again:
            found.append(duplicate(index(path, position), action))
    return [*found, invalid(path, actions, _BOTH)] if {"Deny", "Warn"} <= set(actions) else found


def _validate_param_ref(reference: Object, path: str) -> list[FieldError]:
    name, selector = reference.get("name") or "", reference.get("selector")
    both = name and selector is not None
    found = wrong(f"{path}.name", name, path_segment(name)) if name else []
    if both:
        found.append(forbidden(f"{path}.name", _EXCLUSIVE))
    if selector is not None:
        found += labels.validate_object(selector, f"{path}.selector")
    if both:
        found.append(forbidden(f"{path}.selector", _EXCLUSIVE))
    if not name and selector is None:
        found.append(required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction") or ""
    return found + enum(action, f"{path}.parameterNotFoundAction", ("Deny", "Allow"))
