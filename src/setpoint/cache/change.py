"""What happened to an object, as handlers are told it."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from setpoint.cache.entry import Held

T = TypeVar("T")


class Change(NamedTuple, Generic[T]):
    """What happened to an object: it came (`old` is None), changed, or went (`new` is None).

    One that was deleted and made anew may have changed, for all a handler hears: its uid tells.
    """

    old: Held[T] | None
    new: Held[T] | None
    # It was there when the informer, or the handler, began.
    initial: bool = False
    # It went while nobody looked: how it was last is not known for sure.
    unseen: bool = False
    # Nothing changed: everything is told once more.
    resync: bool = False

    @property
    def held(self) -> Held[T]:
        """The object, as it is or was last."""
        found = self.new or self.old
        if found is None:
            raise ValueError("a change of nothing")
        return found

    @property
    def is_another(self) -> bool:
        """Whether the object was deleted and made anew under the same name."""
        return self.old is not None and self.new is not None and self.old.meta.uid != self.new.meta.uid


Handler = Callable[[Change[Any]], None]


def merge(before: Change[T], after: Change[T]) -> Change[T] | None:
    """Two changes of an object in a row as one; None where it came and went, for who has heard of neither."""
    if before.old is None and after.new is None:
        return None
    return Change(
        before.old,
        after.new,
        initial=before.initial and before.old is None,
        unseen=after.unseen,
        resync=before.resync and after.resync,
    )
