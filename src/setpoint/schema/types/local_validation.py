"""Validates typed objects without a server, by the schema and the CEL rules of their class.

The errors are those of the server for the same object. The server checks more: metadata, admission, and on an update
the rules that compare with the old object.
"""

from functools import lru_cache
from typing import Any

from setpoint.objects.errors import Invalid
from setpoint.objects.field import FieldError, FieldErrorType
from setpoint.objects.tree import Object
from setpoint.schema.compile import CompiledSchema
from setpoint.schema.compile.schema_cache import shared_schema
from setpoint.schema.types.crd import crd_of
from setpoint.schema.types.frozen import plain_class
from setpoint.schema.types.resource import Resource
from setpoint.schema.validation import validate_object


def validate(obj: Resource) -> None:
    """Validates an object of a custom class. Raises Invalid with all errors, and TypeError for a built-in kind."""
    tree = obj.to_json()
    errors = errors_of(type(obj), tree)
    if errors:
        raise Invalid.of(obj.gvk().group_kind, tree["metadata"].get("name", ""), errors)


def errors_of(cls: type[Resource], tree: Object, *, is_partial: bool = False) -> list[FieldError]:
    """Returns the errors of a tree, which receives the defaults of the class.

    A partial tree, such as that of an apply to an existing object, may lack required fields, and its rules are not
    evaluated: other managers may own the fields that they need.
    """
    compiled = _compiled(cls)
    compiled.normalize(tree)
    if is_partial:
        return [error for error in compiled.validate(tree) if error.type is not FieldErrorType.REQUIRED]
    return validate_object(compiled, tree).errors


@lru_cache(maxsize=1024)
def _compiled(cls: Any) -> CompiledSchema:
    plain = plain_class(cls)
    group = plain.gvk().group
    if "." not in group or group.endswith(".k8s.io"):
        raise TypeError(f"{plain.__name__} is a built-in kind: only a server validates its objects")
    (version,) = crd_of(plain)["spec"]["versions"]
    return shared_schema(version["schema"]["openAPIV3Schema"])
