"""The records of a round: every operation of every client, with the moments of its start and its end.

Moments are numbers of one counter, so that the order of all starts and ends is exact.
"""

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

CONSISTENT, ANY_AGE, NOT_OLDER, EXACT = "consistent", "any age", "not older", "exact"
DONE, CONFLICT, EXISTS, MISSING, EXPIRED, UNKNOWN = "done", "conflict", "exists", "missing", "expired", "unknown"
ADDED, MODIFIED, DELETED, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"


class Version(NamedTuple):
    """One version of an object, as a client received it."""

    key: str  # NAMESPACE/NAME
    revision: int
    content: str  # the object as canonical JSON, without its kind and its resource version
    uid: str
    mark: str  # unique for each write
    color: str  # the label that selectors use; empty without one


class Scope(NamedTuple):
    """The objects that a list or watch selects. An empty part selects all."""

    namespace: str = ""
    color: str = ""
    name: str = ""

    def selects(self, version: Version | None) -> bool:
        if version is None:
            return False
        namespace, _, name = version.key.partition("/")
        return self.namespace in ("", namespace) and self.color in ("", version.color) and self.name in ("", name)


@dataclass(frozen=True)
class Write:
    """A create, update or delete. `end` is infinite if the response was lost."""

    client: str
    start: float
    end: float
    key: str
    mark: str  # of the written value; empty for a delete
    outcome: str
    creates: bool = False
    expect: int | None = None
    version: Version | None = None
    uid: str = ""  # of the deleted object


@dataclass(frozen=True)
class Read:
    """A get of one object; without a version, the object did not exist."""

    client: str
    start: float
    end: float
    key: str
    version: Version | None
    mode: str = CONSISTENT
    revision: int = 0  # for the modes NOT_OLDER and EXACT
    outcome: str = DONE


@dataclass(frozen=True)
class Listing:
    """A list, or one page of a list. Later pages have the revision of the first and the last key before them."""

    client: str
    start: float
    end: float
    scope: Scope
    items: tuple[Version, ...] = ()
    revision: int = 0
    mode: str = CONSISTENT
    wanted: int = 0  # the requested revision, for the modes NOT_OLDER and EXACT; of a later page, of the first page
    limit: int = 0
    after: str = ""
    more: bool = False
    remaining: int | None = None
    outcome: str = DONE


class Event(NamedTuple):
    """An event of a watch; a bookmark has no version."""

    moment: float
    type: str
    revision: int
    version: Version | None = None
    ends_initial: bool = False


@dataclass
class Watch:
    """A watch, with all its events. `after` is its start revision; None if the watch began with initial events."""

    client: str
    start: float
    scope: Scope
    after: int | None
    bookmarks: bool
    mode: str = CONSISTENT
    wanted: int = 0
    events: list[Event] = field(default_factory=list)
    expired: float = inf  # the moment of a 410 error
    is_open: bool = True  # until the end of the round, so that no event may be missing
    failure: str = ""  # the error of the server that ended the watch

    @property
    def reached(self) -> int:
        """The revision from which the client may resume."""
        for event in reversed(self.events):
            if event.type == BOOKMARK or self.after is not None or not self._is_initial(event):
                return event.revision
        return self.after or 0

    def _is_initial(self, event: Event) -> bool:
        """Returns True for an event before the end of the initial events."""
        return not any(other.ends_initial and other.moment <= event.moment for other in self.events)


class Compaction(NamedTuple):
    """A compaction to a revision, from its start on."""

    start: float
    to: int


@dataclass
class History:
    """All records of a round. The observers are watches of all objects, one after the other, from `began` on."""

    began: int = 0
    ended: int = 0
    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    observers: list[Watch] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    # The number of times that a slow client made the server wait.
    delays: int = 0
    _moment: float = 0

    def moment(self) -> float:
        """Returns the next moment."""
        self._moment += 1
        return self._moment

    def compacted(self, before: float) -> int:
        """Returns the revision to which compactions may have removed the past before a moment."""
        return max((compaction.to for compaction in self.compactions if compaction.start < before), default=0)
