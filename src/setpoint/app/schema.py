"""The JSON schema of app files, for editors: generated from the structs and their docstrings."""

from typing import Any

import msgspec

from setpoint.app.model import AppFile
from setpoint.app.parts import Part
from setpoint.objects.tree import Object
from setpoint.schema.types.docs import class_description, field_descriptions


def app_schema() -> Object:
    """Returns the schema."""
    schema: Object = msgspec.json.schema(AppFile)
    classes = {cls.__name__: cls for cls in _all(Part)}
    definitions: dict[str, Object] = schema.pop("$defs")
    for name, definition in definitions.items():
        _describe(definition, classes[name])
    own = definitions.pop(AppFile.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **own,
        "title": "The app file of Setpoint, setpoint.yaml",
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """Returns the text of the published file."""
    return msgspec.json.format(msgspec.json.encode(app_schema()), indent=2).decode() + "\n"


def _all(cls: type[Any]) -> list[type[Any]]:
    return [each for sub in cls.__subclasses__() for each in (sub, *_all(sub))]


def _describe(definition: Object, cls: type[Any]) -> None:
    definition["description"] = class_description(cls)
    descriptions: dict[str, str] = field_descriptions(cls)  # type: ignore[arg-type]
    for field in msgspec.structs.fields(cls):
        tree = definition["properties"][field.encode_name]
        tree["description"] = " ".join(descriptions[field.name].split())
        # Empty defaults are omitted.
        if tree.get("default") in (None, "", (), [], {}, False):
            tree.pop("default", None)
    if not definition.get("required"):
        definition.pop("required", None)
