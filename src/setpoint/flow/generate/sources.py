"""The sources of a generating handler beside its parents: their children, and the inventories."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from setpoint.cache.entry import CachedObject
from setpoint.controller.handler import Owners
from setpoint.controller.request import Request
from setpoint.controller.source import Attached, SourceHost
from setpoint.controller.watch import Owned
from setpoint.flow.marks import find_owner


class Parents(NamedTuple):
    """Maps a child to its parent: the controlling owner, or the owner of its apply set.

    The annotation of the set is used for children without an owner reference, in other namespaces or cluster-scoped.
    """

    owners: Owners

    def __call__(self, entry: CachedObject[Any]) -> list[Request]:
        found = self.owners(entry)
        owner = find_owner({"metadata": {"annotations": entry.annotations}})
        if owner is not None and owner.gvk.group_kind == self.owners.owner:
            found.append(Request(owner.name, owner.namespace))
        return found


@dataclass(frozen=True, eq=False)
class Generated(Owned):
    """A source of the children of a kind; a change triggers their parent."""

    async def attach(self, host: SourceHost) -> Attached:
        handler = await self.owners(host)
        return await self.with_handler(Parents(handler)).attach(host)
