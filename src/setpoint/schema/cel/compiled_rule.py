"""One rule of `x-kubernetes-validations`, compiled against its schema node."""

from typing import NamedTuple

import setpoint.schema.cel.field_paths as field_paths
from setpoint.objects.lazy import lazy
from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.environment import Environment, Variable
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.source_text import CompileError
from setpoint.schema.cel.types import BOOL, STRING, optional_of
from setpoint.schema.openapi import Schema, ValidationRule


class RuleEnvironments:
    """The environments of the rules of one schema node: `self`, and `oldSelf`, which may be optional."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration

    @lazy
    def plain(self) -> Environment:
        found = Variable(self.declaration.type, self.declaration)
        return Environment({"self": found, "oldSelf": found})

    @lazy
    def optional(self) -> Environment:
        found = Variable(self.declaration.type, self.declaration)
        return Environment({"self": found, "oldSelf": Variable(optional_of(found.type), self.declaration)})

    def of(self, rule: ValidationRule) -> Environment:
        return self.optional if rule.optional_old_self else self.plain


class CompiledRule(NamedTuple):
    """A rule with its programs, or with their errors. An empty rule has neither."""

    rule: ValidationRule
    program: Program | None = None
    error: str = ""
    message: Program | None = None
    message_error: str = ""
    field_path: str = ""

    @property
    def uses_old_self(self) -> bool:
        return self.program is not None and self.program.refers_to("oldSelf")

    @property
    def shown(self) -> str:
        """The name of the rule in messages."""
        return (self.rule.message or self.rule.rule).strip()


def compile_rule(rule: ValidationRule, schema: Schema, environments: RuleEnvironments) -> CompiledRule:
    """Compiles a rule; errors become part of the result."""
    if not rule.rule.strip():
        return CompiledRule(rule)
    environment = environments.of(rule)
    root = environments.declaration
    try:
        program = Program(rule.rule, environment, root)
    except CompileError as error:
        return CompiledRule(rule, error=f"compilation failed: {error}")
    except ProgramError as error:
        return CompiledRule(rule, error=f"program instantiation failed: {error}")
    if program.type != BOOL:
        return CompiledRule(rule, error="cel expression must evaluate to a bool")
    found = CompiledRule(rule, program)
    if rule.field_path:
        found = found._replace(field_path=field_paths.resolve(rule.field_path, schema) or "")
    if not rule.message_expression:
        return found
    try:
        message = Program(rule.message_expression, environment, root)
    except CompileError as error:
        return found._replace(message_error=f"messageExpression compilation failed: {error}")
    except ProgramError as error:
        return found._replace(message_error=f"messageExpression instantiation failed: {error}")
    if message.type != STRING:
        return found._replace(message_error="messageExpression must evaluate to a string")
    return found._replace(message=message)
