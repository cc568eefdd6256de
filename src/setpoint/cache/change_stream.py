"""A stream of changes for slow readers: `async for`, without delaying other handlers.

Several changes of an object that the reader has not read yet are merged into one, from the last state that the reader
saw to the current state. So the number of pending changes never exceeds the number of objects.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from setpoint.cache.change import Change, merge

T = TypeVar("T")


class Removable(Protocol):
    """The registration of a handler."""

    def remove(self) -> None: ...


class ChangeSource(Protocol):
    """The interface of an informer for listeners."""

    def add_handler(self, handler: Callable[[Change[Any]], None], *, replay: bool = True) -> Removable: ...


class Changes(Generic[T]):
    """The changes of an informer, by default starting with the existing objects. Leaving the context ends the
    stream."""

    def __init__(self, informer: ChangeSource, *, replay: bool = True) -> None:
        # Ordered by the oldest unread change.
        self._waiting: dict[str, Change[T]] = {}
        self._more = asyncio.Event()
        self._registration = informer.add_handler(self._on_change, replay=replay)

    def __len__(self) -> int:
        return len(self._waiting)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._registration.remove()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change[T]:
        while not self._waiting:
            self._more.clear()
            await self._more.wait()
        return self._waiting.pop(next(iter(self._waiting)))

    def _on_change(self, change: Change[T]) -> None:
        key = change.held.meta.key
        before = self._waiting.get(key)
        merged = merge(before, change) if before is not None else change
        if merged is None:
            del self._waiting[key]
        else:
            self._waiting[key] = merged
            self._more.set()
