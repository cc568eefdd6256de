"""The options of daemons and timers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import tree_of
from setpoint.controller.watch import Watch
from setpoint.objects.names import qualified_name

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, kw_only=True)
class DaemonOptions:
    """The options of a daemon."""

    # Returns True for the objects that have a daemon; None: all objects.
    when: Callable[[Any], bool] | None = None
    # Keeps a deleted object until its daemon has ended; empty: the daemon may outlive its object by `grace`.
    finalizer: str = ""
    # The seconds between the request to stop (`ctx.stopped`) and the cancellation of the daemon.
    grace: float = 10.0
    # The number of threads for daemons that are defined with `def`: one for each running daemon.
    daemon_threads: int = 64

    def check(self, kind: object) -> None:
        """Raises ValueError for options that are invalid for a kind."""
        if self.grace < 0:
            raise ValueError("grace must not be negative")
        if self.daemon_threads < 1:
            raise ValueError("daemon_threads must be at least 1")
        if not self.finalizer:
            return
        if "/" not in self.finalizer or qualified_name(self.finalizer):
            raise ValueError(f"invalid finalizer {self.finalizer!r}: expected DOMAIN/NAME, e.g. example.com/patrol")
        if isinstance(kind, Watch) and (kind.labels or kind.fields):
            raise ValueError(
                "a finalizer needs a watch of all objects, which is removed from objects that do not match any "
                "more: select the objects with when= instead of labels or fields"
            )


@dataclass(frozen=True, kw_only=True)
class TimerOptions:
    """The options of a timer."""

    # The seconds between the end of a call and the next call; with `sharp`, between the starts of two calls.
    interval: float
    # The seconds before the first call, counted from the creation of the object or the start of the controller.
    initial_delay: float = 0.0
    # The seconds for which the object must be unchanged before a call. Changes of the status do not count.
    idle: float = 0.0
    # True to count the interval from the start of a call; missed calls are skipped.
    sharp: bool = False
    # Returns True for the objects that have a timer; None: all objects.
    when: Callable[[Any], bool] | None = None

    def check(self) -> None:
        """Raises ValueError for invalid options."""
        if self.interval <= 0:
            raise ValueError("interval must be greater than 0")
        if self.initial_delay < 0 or self.idle < 0:
            raise ValueError("initial_delay and idle must not be negative")


def applies_to(entry: CachedObject[Any] | None, when: Callable[[Any], bool] | None) -> bool:
    """Returns True for an object that exists, is not being deleted, and passes the filter."""
    if entry is None or entry.meta.deletion_timestamp is not None:
        return False
    return when is None or bool(when(entry.object))


def revision_of(entry: CachedObject[Any]) -> object:
    """Returns a value that changes with the specification, labels and annotations of an object, not with its status."""
    content: object = entry.meta.generation
    if not content:  # kinds such as ConfigMap have no generation
        tree = tree_of(entry.object)
        content = _encode({name: value for name, value in tree.items() if name not in ("metadata", "status")})
    return hash((content, _encode(entry.meta.labels), _encode(entry.annotations)))
