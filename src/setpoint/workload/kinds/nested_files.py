"""Nested directories of `createFiles`: entries may be nested to any depth, which a schema of the API cannot express.

The server validates and defaults the first level. The code that writes the files calls this module for the levels
below, which follow the same schema and rules.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from setpoint.objects.field import FieldError
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.schema.compile import CompiledSchema, compile_schema
from setpoint.schema.openapi import Schema
from setpoint.schema.validation import evaluate_rules
from setpoint.schema.violations import NO_PATH
from setpoint.workload.kinds.definitions import definitions


def completed(create_files: Sequence[Object]) -> tuple[list[Object], list[str]]:
    """Returns `spec.createFiles` with the defaults of all entries, and the errors of nested entries with their
    paths."""
    files: list[Object] = thaw(list(create_files))
    problems: list[str] = []
    for number, each in enumerate(files):
        for index, entry in enumerate(each.get("entries") or ()):
            problems += _below(entry, f"spec.createFiles[{number}].entries[{index}]")
    return files, problems


def _below(entry: Object, path: str) -> Iterator[str]:
    for index, inner in enumerate(entry.get("entries") or ()):
        here = f"{path}.entries[{index}]"
        if not isinstance(inner, dict):
            yield f"{here}: Invalid value: must be an entry with a name"
            continue
        schema = _entry_schema()
        schema.default(inner)
        errors = schema.validate(inner) or evaluate_rules(schema, inner, None, []).errors
        yield from [_at(here, error) for error in errors] or _below(inner, here)


def _at(path: str, error: FieldError) -> str:
    """Returns the error of an entry with its path in the object; an error of the entry as a whole has no field."""
    text = str(error)
    return path + text.removeprefix(NO_PATH) if error.field == NO_PATH else f"{path}.{text}"


@cache
def _entry_schema() -> CompiledSchema:
    """Returns the schema of an entry from the definition of Container."""
    container = next(each for each in definitions() if each["spec"]["names"]["kind"] == "Container")
    schema = container["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for step in ("properties", "spec", "properties", "createFiles", "items", "properties", "entries", "items"):
        schema = schema[step]
    return compile_schema(Schema.parse(schema), root=False)
