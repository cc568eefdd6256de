"""What is followed: all of a kind, or what is in some namespaces and matches; and what is done to it on the way."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from setpoint.client.kinds import Kind, KindRef, kind_of
from setpoint.client.selectors import FieldsArgument, LabelsArgument, fields_text, labels_text
from setpoint.objects.tree import Object

# Changes an object before it is kept. It gets a tree of its own and returns it, or another one; doing it twice must be
# the same as doing it once.
Transform = Callable[[Object], Object]

# The namespace that stands for all of them, and for kinds that live in none.
EVERYWHERE = ""


class Scope(msgspec.Struct, frozen=True):
    """What is followed. Two that are equal are followed once."""

    kind: KindRef
    namespaces: tuple[str, ...] = (EVERYWHERE,)
    labels: str = ""
    fields: str = ""
    transform: Transform | None = None

    @property
    def is_filtered(self) -> bool:
        """Whether there may be objects, in these namespaces, that are not in it."""
        return bool(self.labels or self.fields)

    def covers(self, namespace: str) -> bool:
        """Whether everything of a namespace (of all, for "") that passes the filter is in it."""
        return EVERYWHERE in self.namespaces or namespace in self.namespaces

    @property
    def formless(self) -> "Scope":
        """The same, whatever the objects become."""
        return msgspec.structs.replace(self, kind=self.kind._replace(cls=None))


def scope_of(
    kind: Kind[Any],
    namespaces: str | Iterable[str] = EVERYWHERE,
    labels: LabelsArgument = None,
    fields: FieldsArgument = None,
    transform: Transform | None = None,
) -> Scope:
    """The scope that arguments mean; no namespace at all means every one."""
    given = (namespaces,) if isinstance(namespaces, str) else tuple(sorted(set(namespaces)))
    found = (EVERYWHERE,) if not given or EVERYWHERE in given else given
    return Scope(kind_of(kind), found, labels_text(labels), fields_text(fields), transform)
