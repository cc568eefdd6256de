"""Type checking of policy expressions against the types of the matched objects.

Expressions are compiled without types, since a policy may match objects of any kind. If the rules name resources
without wildcards, each expression is checked against the types of their kinds. The results are warnings in the policy's
status and do not affect the evaluation of the policy.
"""

from collections.abc import Iterator

from setpoint.objects.field import index
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.environment import Environment
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.object_declarations import declare_custom, declare_definition
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.source_text import CompileError
from setpoint.schema.cel.types import DYN, Type
from setpoint.schema.openapi import Schema
from setpoint.server.registry.kinds.admissionregistration.expressions import composed_type, environment
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import Resource

_MAX_KINDS = 10


def expression_warnings(spec: Object, registry: Registry) -> list[Object]:
    """Returns the warnings about the expressions of a ValidatingAdmissionPolicy, in the format of its status."""
    kinds = [(kind, _environment(spec, registry, kind)) for kind in kinds_to_check(spec, registry)]
    found: list[Object] = []
    for position, validation in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            expression = validation.get(name)
            if not expression:
                continue
            problems = [f"{kind}: {why}\n" for kind, known in kinds if (why := _problem(expression, known))]
            if problems:
                where = f"{index('spec.validations', position)}.{name}"
                found.append({"fieldRef": where, "warning": "\n".join(problems)})
    return found


def kinds_to_check(spec: Object, registry: Registry) -> list[GroupVersionKind]:
    """Returns the kinds that the rules of a policy name, sorted, with at most ten of each rule."""
    found: set[GroupVersionKind] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        named = list(_named_kinds(rule, registry))
        found.update(named[:_MAX_KINDS])
        if len(named) >= _MAX_KINDS:
            break
    return sorted(found)


def _named_kinds(rule: Object, registry: Registry) -> Iterator[GroupVersionKind]:
    groups, versions = sorted(rule.get("apiGroups") or ()), sorted(rule.get("apiVersions") or ())
    if "*" in groups or "*" in versions:
        return
    plain = sorted(name for name in rule.get("resources") or () if "*" not in name and "/" not in name)
    for group in groups:
        for version in versions:
            for resource in plain:
                served = registry.resource(group, version, resource)
                if served is not None:
                    yield served.gvk


def _environment(spec: Object, registry: Registry, kind: GroupVersionKind) -> Environment:
    """Returns the CEL environment for objects of a kind, including the variables of the policy."""
    objects, param_kind = _declaration(registry.kinds[kind]), spec.get("paramKind")
    param = None
    if param_kind is not None:
        version = GroupVersion.parse(param_kind.get("apiVersion") or "")
        served = registry.kinds.get(version.with_kind(param_kind.get("kind") or ""))
        param = None if served is None else _declaration(served)
    variables: dict[str, Type] = {}

    def environment_of() -> Environment:
        return environment(params=param_kind is not None, variables=variables, objects=objects, param=param)

    for variable in spec.get("variables") or ():
        try:
            found = composed_type(Program(variable.get("expression") or "", environment_of()))
        except (CompileError, ProgramError):
            found = DYN
        variables[variable.get("name") or ""] = found
    return environment_of()


def _declaration(resource: Resource) -> Declaration | None:
    if resource.crd is None:
        return declare_definition(resource.definition)
    version = resource.crd.version(resource.version)
    schema = version.openapi_schema if version is not None else None
    return declare_custom(None if schema is None else Schema.parse(schema), resource.kind)


def _problem(expression: str, environment: Environment) -> str:
    try:
        Program(expression, environment)
    except CompileError as error:
        return str(error)
    except ProgramError:
        # The types are valid; other errors occur at evaluation.
        return ""
    return ""
