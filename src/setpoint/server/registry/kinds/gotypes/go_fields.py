"""Go's types of the fields of the built-in kinds, beyond their definitions: the shipped table.

`tools/go_fields.py` generates the file, which is loaded on first use.
"""

import importlib.resources
import zlib
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import msgspec

_KEPT = {"!": (True, False), "?": (False, True)}


class GoField(NamedTuple):
    """A field of a Go struct."""

    # The type in Go's error messages, without the star of a pointer.
    type: str
    is_pointer: bool = False
    # Written even if empty.
    is_always_written: bool = False
    # Omitted if empty, even though the field is a struct.
    omits_zero: bool = False


@cache
def _table() -> dict[str, dict[str, str]]:
    data = importlib.resources.files(__package__).joinpath("go_fields.json.z").read_bytes()
    return msgspec.json.decode(zlib.decompress(data), type=dict[str, dict[str, str]])


def go_fields(definition: str) -> Mapping[str, GoField]:
    """Returns the fields of a definition by their JSON names; empty if the definition is not a struct."""
    return {name: _parse(text) for name, text in _table().get(definition, {}).items()}


def _parse(text: str) -> GoField:
    always, omits_zero = _KEPT.get(text[-1], (False, False))
    bare = text[:-1] if always or omits_zero else text
    return GoField(bare.removeprefix("*"), bare.startswith("*"), always, omits_zero)
