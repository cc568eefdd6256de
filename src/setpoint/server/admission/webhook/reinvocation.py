"""Who is asked once more: what the second round of mutating admission must know of the first.

Whoever wants to be is asked again when somebody behind it changed the object, or when the server's own plugins made
something else of it before the second round. There is no third.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

from setpoint.objects.tree import Object, copy
from setpoint.server.ports import Operation


@dataclass
class Rounds:
    """The rounds of one plugin over one operation. Those it asks are known by any key."""

    asked: set[Hashable] = field(default_factory=set)
    again: set[Hashable] = field(default_factory=set)
    last: Object | None = None

    @classmethod
    def of(cls, operation: Operation, plugin: str) -> "Rounds":
        """Those of a plugin, which now begins one."""
        found: Rounds = operation.remembered.setdefault(plugin, cls())
        if operation.is_reinvoked and found.last != operation.object:
            found._changed()
        return found

    def skips(self, operation: Operation, key: Hashable) -> bool:
        """Whether somebody is not to be asked in this round: nobody is for the first time in the second."""
        return operation.is_reinvoked and key not in self.again

    def answered(self, operation: Operation, key: Hashable, *, changed: bool, again: bool) -> None:
        """Somebody was asked, changed the object or did not, and wants to be asked again or does not."""
        if changed:
            self._changed()
            operation.reinvoke = True
        if again:
            self.asked.add(key)

    def end(self, operation: Operation) -> None:
        """The round is over."""
        if self.asked or self.again:
            self.last = copy(operation.object)

    def _changed(self) -> None:
        self.again |= self.asked
        self.asked = set()
