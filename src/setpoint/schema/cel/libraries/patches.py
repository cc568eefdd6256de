"""What helps to write a JSON Patch: only the policies that change objects have it."""

from setpoint.schema.cel.functions import Library

PATCHES = Library()


@PATCHES.overload("string_jsonpatch_escapeKey_string: jsonpatch.escapeKey(string) -> string")
def escape_key(key: str) -> str:
    """A key as it stands in a path."""
    return key.replace("~", "~0").replace("/", "~1")
