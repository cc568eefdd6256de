"""Generates the documentation page of the configuration from its structs."""

from collections.abc import Iterator

import msgspec

from setpoint.config.fields import ConfigField, Section, allowed, sections
from setpoint.objects.typedyaml import path_text

_HEAD = """\
# Configuration

`setpoint serve --config FILE` reads a YAML file with the fields below. Every field is also a flag, and flags win over
the file; other fields have their defaults. Unknown fields are rejected, and every mistake is reported with its line.
`setpoint serve --print-config` prints the effective configuration, with secrets masked. Paths are relative to
the working directory.

In a program, `ControlPlane(config=Config(...))` takes the same settings (`setpoint.config.Config`). Python objects are
arguments of their own: `admission`, `conversions` and `auditor` ([access](access.md)), `workloads`
([workloads](workloads.md)), and `serving=Serving(...)` (`setpoint.plane.Serving`), which adds subresources of custom
resources (`subresources`) and other paths (`pages`), or serves the store without writes (`read_only`, the reason).

A list flag may be repeated, or takes items separated by commas; a boolean flag has a `--no-` form. On SIGHUP the server
reads the audit policy and the certificate files again.

This page is generated from the structs in `setpoint.config.settings` by `python -m tools.configuration_page`.
"""
_COLUMNS = "| field | flag | allowed | default | |\n|---|---|---|---|---|\n"


def markdown() -> str:
    """Returns the whole page as Markdown."""
    return _HEAD + "".join(f"\n{part}" for section in sections() for part in _section(section))


def _section(section: Section) -> Iterator[str]:
    title = f"`{path_text(section.path)}`" if section.path else "The plane itself"
    yield f"## {title}\n"
    if section.path:
        yield f"{section.description}\n"
    if section.fields:
        yield _COLUMNS + "".join(map(_row, section.fields))


def _row(field: ConfigField) -> str:
    metavar = "" if field.is_bool else f" {field.metavar or 'VALUE'}"
    cells = (
        f"`{field.path[-1]}`",
        f"`{field.flag}{metavar}`",
        allowed(field.type),
        _default(field),
        field.description,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(field: ConfigField) -> str:
    return "" if field.default in ("", (), {}, None) else f"`{msgspec.json.encode(field.default).decode()}`"
