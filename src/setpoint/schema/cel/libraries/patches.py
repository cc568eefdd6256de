"""Functions for JSON Patches, available only in mutating policies."""

from setpoint.schema.cel.functions import Library

PATCHES = Library()


@PATCHES.overload("string_jsonpatch_escapeKey_string: jsonpatch.escapeKey(string) -> string")
def escape_key(key: str) -> str:
    """Escapes a key for a path."""
    return key.replace("~", "~0").replace("/", "~1")
