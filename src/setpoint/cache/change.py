"""Changes of objects, as passed to handlers."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from setpoint.cache.entry import CachedObject

T = TypeVar("T")


class Change(NamedTuple, Generic[T]):
    """A change of an object: created (`old` is None), updated, or deleted (`new` is None).

    A deletion followed by a new object of the same name may appear as one update with different uids.
    """

    old: CachedObject[T] | None
    new: CachedObject[T] | None
    # The object existed when the informer, or the handler, started.
    initial: bool = False
    # The deletion was missed, so `old` may not be the last state.
    unseen: bool = False
    # Not a change: a periodic resync.
    resync: bool = False

    @property
    def held(self) -> CachedObject[T]:
        """The current object, or the last state of a deleted object."""
        found = self.new or self.old
        if found is None:
            raise ValueError("a change needs an old or a new object")
        return found

    @property
    def is_another(self) -> bool:
        """True if the object was deleted and created again with the same name."""
        return self.old is not None and self.new is not None and self.old.meta.uid != self.new.meta.uid


Handler = Callable[[Change[Any]], None]


def merge(before: Change[T], after: Change[T]) -> Change[T] | None:
    """Merges two successive changes of an object. Returns None for a creation followed by a deletion."""
    if before.old is None and after.new is None:
        return None
    return Change(
        before.old,
        after.new,
        initial=before.initial and before.old is None,
        unseen=after.unseen,
        resync=before.resync and after.resync,
    )
