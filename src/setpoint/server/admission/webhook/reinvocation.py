"""Reinvocation: tracks the webhooks and policies to call in the second round of mutating admission.

A webhook or policy that allows reinvocation is called again if a later one changed the object, or if built-in plugins
changed the object before the second round. There is no third round.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

from setpoint.objects.tree import Object, copy
from setpoint.server.ports import Operation


@dataclass
class Rounds:
    """The rounds of one plugin for one operation. Webhooks and policies are identified by any hashable key."""

    called: set[Hashable] = field(default_factory=set)
    again: set[Hashable] = field(default_factory=set)
    last: Object | None = None

    @classmethod
    def of(cls, operation: Operation, plugin: str) -> "Rounds":
        """Returns the state of a plugin at the start of a round."""
        found: Rounds = operation.plugin_state.setdefault(plugin, cls())
        if operation.is_reinvoked and found.last != operation.object:
            found._changed()
        return found

    def skips(self, operation: Operation, key: Hashable) -> bool:
        """Returns True if the key is not to be called in this round. The second round calls no new keys."""
        return operation.is_reinvoked and key not in self.again

    def answered(self, operation: Operation, key: Hashable, *, changed: bool, again: bool) -> None:
        """Records a call: `changed` if the object changed, `again` if reinvocation is allowed."""
        if changed:
            self._changed()
            operation.reinvoke = True
        if again:
            self.called.add(key)

    def end(self, operation: Operation) -> None:
        """Records the object at the end of the round."""
        if self.called or self.again:
            self.last = copy(operation.object)

    def _changed(self) -> None:
        self.again |= self.called
        self.called = set()
