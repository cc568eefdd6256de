"""The messages of the built-in kinds: which fields they have, and what Go writes as JSON when these are empty.

The data is made by `tools/protobuf_tables.py`, which says what its flags mean; it is read when it is first asked for.
"""

import importlib.resources
import zlib
from functools import cache
from typing import NamedTuple

import msgspec

SCALARS = frozenset(("string", "bytes", "bool", "int32", "int64", "double"))
ENVELOPE = "k8s.io.apimachinery.pkg.runtime.Unknown"
TYPE_META = "k8s.io.apimachinery.pkg.runtime.TypeMeta"
META = "k8s.io.apimachinery.pkg.apis.meta.v1"


class Field(NamedTuple):
    """A field of a message. `type` is a scalar of protobuf or the name of a message."""

    number: int
    name: str
    type: str
    flags: str
    go: str = ""

    @property
    def go_name(self) -> str:
        """What error messages call the field."""
        return self.go or self.name[:1].upper() + self.name[1:]

    @property
    def is_list(self) -> bool:
        return "r" in self.flags

    @property
    def is_map(self) -> bool:
        return "m" in self.flags

    @property
    def is_pointer(self) -> bool:
        return "*" in self.flags

    @property
    def omit_empty(self) -> bool:
        return "o" in self.flags

    @property
    def omit_zero(self) -> bool:
        return "z" in self.flags

    @property
    def is_embedded(self) -> bool:
        return "i" in self.flags

    @property
    def stands_for_message(self) -> bool:
        """Whether it is the only field of a message that is just a list, in Go and in JSON."""
        return "w" in self.flags


class Table(msgspec.Struct):
    """All messages by their full names, and the names of those that are kinds by `apiVersion` and `kind`."""

    messages: dict[str, list[Field]]
    kinds: dict[str, dict[str, str]]

    def message_of(self, api_version: str, kind: str) -> str | None:
        """The message of a kind. The options of requests belong to every group, the unknown ones included."""
        name = self.kinds.get(api_version, {}).get(kind)
        if name is None and kind.endswith("Options"):
            name = self.kinds["meta.k8s.io/v1"].get(kind)
        return name

    def reach(self, message: str) -> set[str]:
        """All messages that can be in a message."""
        found: set[str] = set()
        waiting = [message]
        while waiting:
            inner = {field.type for field in self.messages[waiting.pop()]} - SCALARS - found
            found |= inner
            waiting += inner
        return found


@cache
def nests(message: str) -> bool:
    """Whether a message, or one in it, can contain itself."""
    return any(inner in table().reach(inner) for inner in table().reach(message) | {message})


@cache
def table() -> Table:
    data = importlib.resources.files(__package__).joinpath("messages.json.z").read_bytes()
    return msgspec.json.decode(zlib.decompress(data), type=Table)
