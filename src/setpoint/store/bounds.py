"""The readable revisions of a store: from the oldest kept to the current one, except those that a restore discarded.

Restoring a snapshot taken at revision 10 in a store that is at 20 makes revision 21. The states of 11 to 20 are lost,
and the state of 10 must not be returned for them: those ten revisions are a gap.
"""

from typing import NamedTuple

from setpoint.store.contract import TooEarly, TooLate


class Bounds(NamedTuple):
    """The readable revisions. Each gap is the revision of a snapshot and the revision that restoring it made."""

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
        """Returns the TooLate error for a revision that can no longer be read or watched from; otherwise None."""
        if at < self.oldest:
            return TooLate(at, self.oldest)
        for before, restored in self.gaps:
            if before < at < restored:
                return TooLate(at, restored)
        return None

    def compacted(self, to: int) -> "Bounds":
        return Bounds(max(self.oldest, to), self.current, tuple(gap for gap in self.gaps if gap[1] > to))

    def restored(self, snapshot: "Bounds") -> "Bounds":
        """Returns the bounds after a snapshot with the given bounds is restored into a store with these bounds."""
        revision = max(self.current, snapshot.current) + 1
        return Bounds(snapshot.oldest, revision, (*snapshot.gaps, (snapshot.current, revision)))
