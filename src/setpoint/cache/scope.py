"""The scope of an informer: a kind, its namespaces and selectors, and the transform of its objects."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from setpoint.client.kinds import Kind, KindRef, kind_of
from setpoint.client.selectors import FieldsArgument, LabelsArgument, fields_text, labels_text
from setpoint.objects.tree import Object

# Changes an object before the object is stored. The function gets its own tree and returns that or another one;
# applying the function twice must have the same result as once.
Transform = Callable[[Object], Object]

# The namespace that stands for all namespaces, and for cluster-scoped kinds.
EVERYWHERE = ""


class Scope(msgspec.Struct, frozen=True):
    """The objects that an informer follows. Equal scopes share one feed."""

    kind: KindRef
    namespaces: tuple[str, ...] = (EVERYWHERE,)
    labels: str = ""
    fields: str = ""
    transform: Transform | None = None

    @property
    def is_filtered(self) -> bool:
        """True if selectors can exclude objects of these namespaces."""
        return bool(self.labels or self.fields)

    def covers(self, namespace: str) -> bool:
        """Returns True if the scope includes all objects of a namespace ("" for all namespaces) that pass the
        selectors."""
        return EVERYWHERE in self.namespaces or namespace in self.namespaces

    @property
    def without_form(self) -> "Scope":
        """The same scope, regardless of the form of objects."""
        return msgspec.structs.replace(self, kind=self.kind._replace(cls=None))


def scope_of(
    kind: Kind[Any],
    namespaces: str | Iterable[str] = EVERYWHERE,
    labels: LabelsArgument = None,
    fields: FieldsArgument = None,
    transform: Transform | None = None,
) -> Scope:
    """Returns the scope for some arguments; no namespaces means all namespaces."""
    given = (namespaces,) if isinstance(namespaces, str) else tuple(sorted(set(namespaces)))
    found = (EVERYWHERE,) if not given or EVERYWHERE in given else given
    return Scope(kind_of(kind), found, labels_text(labels), fields_text(fields), transform)
