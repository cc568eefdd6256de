"""Which revisions of a store can be read: from the oldest kept to the current one, without those of abandoned pasts.

Restoring a snapshot taken at revision 10 in a store that is at 20 makes revision 21. What 11 to 20 meant is gone, and
nobody may take the state of 10 for it: those ten are a gap.
"""

from typing import NamedTuple

from setpoint.store.contract import TooEarly, TooLate


class Bounds(NamedTuple):
    """The readable revisions. Each gap is the revision of a snapshot and the one that its restoring made."""

    oldest: int
    current: int
    gaps: tuple[tuple[int, int], ...] = ()

    def check(self, at: int) -> None:
        """Raises TooLate or TooEarly for a revision that cannot be read."""
        if at > self.current:
            raise TooEarly(at, self.current)
        late = self.too_late(at)
        if late is not None:
            raise late

    def too_late(self, at: int) -> TooLate | None:
        """Why a revision can no longer be read or watched from, if so."""
        if at < self.oldest:
            return TooLate(at, self.oldest)
        for before, restored in self.gaps:
            if before < at < restored:
                return TooLate(at, restored)
        return None

    def compacted(self, to: int) -> "Bounds":
        return Bounds(max(self.oldest, to), self.current, tuple(gap for gap in self.gaps if gap[1] > to))

    def restored(self, snapshot: "Bounds") -> "Bounds":
        """After restoring a snapshot with those bounds into a store with these."""
        revision = max(self.current, snapshot.current) + 1
        return Bounds(snapshot.oldest, revision, (*snapshot.gaps, (snapshot.current, revision)))
