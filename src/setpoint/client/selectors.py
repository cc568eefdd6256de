"""Selector arguments: a string, a mapping of required values, or a parsed selector."""

from collections.abc import Mapping
from typing import TypeAlias

from setpoint.objects.labels import Selector

LabelsArgument: TypeAlias = "str | Mapping[str, str] | Selector | None"
FieldsArgument: TypeAlias = "str | Mapping[str, str] | None"


def labels_text(labels: LabelsArgument) -> str:
    """Returns a label selector as the query parameter's text."""
    if labels is None or isinstance(labels, str):
        return labels or ""
    if isinstance(labels, Mapping):
        return ",".join(f"{name}={value}" for name, value in labels.items())
    return str(labels)


def fields_text(fields: FieldsArgument) -> str:
    """Returns a field selector as the query parameter's text."""
    if fields is None or isinstance(fields, str):
        return fields or ""
    return ",".join(f"{name}={_escape(value)}" for name, value in fields.items())


def _escape(value: str) -> str:
    for character in "\\,=":
        value = value.replace(character, f"\\{character}")
    return value
