"""CEL: the language of validation rules and policies, compiled to Python.

`validate_rules` returns the reasons for rejecting the rules of a schema; `compile_rules` prepares them for objects.
Policies build a `Program` over an `Environment` of their own variables.
"""

from setpoint.schema.cel.acceptance import validate_rules
from setpoint.schema.cel.rules import RuleError, ValidationRules, compile_rules

__all__ = ["RuleError", "ValidationRules", "compile_rules", "validate_rules"]
