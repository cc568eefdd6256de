"""CEL: the language of validation rules and policies, compiled to Python.

`validate_rules` says why the rules of a schema may not be accepted; `compile_rules` makes them ready for objects.
Policies build a `Program` over an `Environment` of their own variables.
"""

from setpoint.schema.cel.acceptance import validate_rules
from setpoint.schema.cel.rules import RuleError, Rules, compile_rules

__all__ = ["RuleError", "Rules", "compile_rules", "validate_rules"]
