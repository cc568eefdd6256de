"""CEL rules as the acceptance of a schema needs to know them (`structural.RuleValidator`)."""

from setpoint.objects.field import FieldError
from setpoint.objects.tree import Json
from setpoint.schema import cel
from setpoint.schema.cel.declarations import declare
from setpoint.schema.openapi import Schema


class CelRules:
    """Lends the compiler of rules to the acceptance rules for schemas."""

    def validate_rules(self, schema: Schema, path: str, *, old: Schema | None, compiles: bool) -> list[FieldError]:
        """Why the rules may not be accepted. Those of a schema that did not change were accepted once, and stay."""
        if not compiles or (old is not None and old.to_json() == schema.to_json()):
            return []
        return cel.validate_rules(schema, path)

    def validate_default(self, schema: Schema, value: Json, path: str, root: bool) -> list[FieldError]:
        """The rules that a default breaks."""
        if cel.compile_rules(schema) is None:
            return []
        rules = cel.Rules(schema, declare(schema, root=root or schema.embedded_resource))
        return [found.error for found in rules.validate(value, path=path)]
