"""Generates the reference of all fields in the documentation of the app file, from the structs."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import inspect

from setpoint.app import container_fields, model, parts
from setpoint.app.parts import Part
from setpoint.schema.types.docs import class_description, field_descriptions

HEADING = "## All fields\n"
_KINDS: tuple[tuple[str, type[Part]], ...] = (
    ("The file", model.AppFile),
    ("Services and tasks", model.Workload),
    ("Services and tasks in containers", container_fields.ContainerFields),
    ("Services", model.Service),
    ("Tasks", model.Task),
    ("`ports.NAME`", parts.Port),
    ("`ready`, `alive`, `started`", parts.Probe),
    ("`restart`", parts.Restart),
    ("`watch`", parts.Watch),
    ("`watch.sync[]`", parts.Sync),
    ("`watch.sync[].then`", parts.SyncExec),
    ("`stop`", parts.Stop),
    ("`build`", parts.Build),
    ("`build.secrets[]`", parts.BuildSecret),
    ("`volumes[]` of a container", parts.Mount),
    ("`networks.NAME` of a container", container_fields.Attachment),
    ("`after.NAME`", container_fields.After),
    ("`files[]`", container_fields.File),
    ("`ulimits.NAME`", parts.Limit),
    ("`logging`", container_fields.Logging),
    ("`gpus[]`", container_fields.DeviceRequest),
    ("`image_health`", container_fields.ImageHealth),
    ("`blkio_config`", container_fields.BlkioConfig),
    ("`blkio_config.device_*[]`", container_fields.DeviceRate),
    ("`blkio_config.weight_device[]`", container_fields.DeviceWeight),
    ("`resources`", parts.Resources),
    ("`terminal`", parts.Terminal),
    ("`logs`", parts.Logs),
    ("`controllers[]`", model.Controller),
    ("`secrets.NAME`", model.Secret),
    ("`volumes.NAME`", model.Volume),
    ("`networks.NAME`", model.Network),
    ("`networks.NAME.ipam`", model.Ipam),
    ("`networks.NAME.ipam.config[]`", model.Pool),
)
_WORDS: Mapping[type[Any], str] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.StrType: "text",
    inspect.DictType: "map",
    inspect.VarTupleType: "list",
    inspect.StructType: "fields",
    inspect.AnyType: "any value",
}


def fields_markdown() -> str:
    """Returns the reference of all fields, struct by struct."""
    return "\n".join([HEADING, *(part for title, kind in _KINDS for part in _section(title, kind))])


def _section(title: str, kind: type[Part]) -> Iterator[str]:
    # The common fields of services and tasks are listed once.
    base: tuple[Any, ...] = ()
    if kind in (model.Service, model.Task):
        base = msgspec.structs.fields(model.Workload)
    elif kind is model.Workload:
        base = msgspec.structs.fields(container_fields.ContainerFields)
    yield f"### {title}\n"
    yield f"{class_description(kind)}\n"
    yield "| field | | |\n|---|---|---|\n" + "".join(_rows(kind, {field.name for field in base}))


def _rows(kind: type[Part], shown_before: set[str]) -> Iterator[str]:
    descriptions: dict[str, str] = field_descriptions(kind)
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        if field.name not in shown_before:
            forms = " or ".join(dict.fromkeys(_forms(field.type)))
            text = " ".join(descriptions[field.name].split()).replace("|", "\\|")
            yield f"| `{field.encode_name}` | {forms} | {text} |\n"


def _forms(kind: Any) -> Iterator[str]:
    if isinstance(kind, inspect.Metadata):
        yield from _forms(kind.type)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _forms(each)
    elif isinstance(kind, inspect.LiteralType):
        yield ", ".join(f"`{value}`" for value in kind.values)
    elif not isinstance(kind, inspect.NoneType):
        yield _WORDS[type(kind)]
