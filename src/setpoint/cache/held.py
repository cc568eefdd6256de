"""An object as the cache holds it: what every reader asks for at hand, the rest as it came until somebody wants it.

Of most objects only a few are ever read whole. So the bytes are kept as the server sent them, with the metadata read at
once; who reads the object makes it, once for all, and the bytes are let go.
"""

from collections.abc import Callable
from sys import getsizeof
from typing import Any, Generic, TypeVar, cast

import msgspec

T = TypeVar("T")


class OwnerRef(msgspec.Struct, rename="camel", gc=False):
    """Who an object belongs to."""

    uid: str = ""
    kind: str = ""
    name: str = ""
    api_version: str = ""
    controller: bool | None = None


class Meta(msgspec.Struct, rename="camel"):
    """The metadata that finding and comparing objects takes."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerRef] | None = None

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Head(msgspec.Struct):
    metadata: Meta


_read_head = msgspec.json.Decoder(_Head).decode

# Makes an object of its bytes: immutable, and of whatever type its readers want.
Make = Callable[[bytes], T]


class Held(Generic[T]):
    """One object of a cache."""

    __slots__ = ("_made", "_make", "meta", "raw_size")

    def __init__(self, raw: bytes, make: Make[T]) -> None:
        self.meta = _read_head(raw).metadata
        # Either the bytes, or what was made of them (then `_make` is None).
        self._made: Any = raw
        self._make: Make[T] | None = make
        self.raw_size = len(raw)

    @property
    def object(self) -> T:
        """The object itself, shared by all who read it."""
        if self._make is not None:
            make, raw = self._make, self._made
            self._made = make(raw)
            self._make = None
        return cast(T, self._made)

    @property
    def is_made(self) -> bool:
        """Whether somebody has read the object."""
        return self._make is None

    @property
    def size(self) -> int:
        """Bytes held, roughly: what was made takes about three times what it was made of."""
        return self.raw_size * (3 if self.is_made else 1) + getsizeof(self)
