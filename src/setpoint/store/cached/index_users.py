"""The users of indexes: each of them has a bounded part of all indexes, so that no user displaces those of others."""

from collections.abc import Iterable, Mapping

from setpoint.store.cached.term_index import Place, TermIndex

# The indexes that count for one user, the objects in them, and the terms without an index.
USER_INDEXES, USER_ENTRIES, _USED = 8, 250_000, 64
# The number of users that are remembered.
_USERS = 1000
# An index may read this many times as many objects as the uses before: a list of a small namespace does not index the
# objects of all namespaces.
_WORTH = 4


class IndexUsers:
    """Counts every index for each of its users. An index without users has to be dropped."""

    def __init__(self, indexes: Mapping[Place, TermIndex]) -> None:
        self._indexes = indexes
        # The indexes of each user, and the terms that each user used without an index, with the number of objects that
        # were read. In both, and in each of their values, the last use of the first is the longest ago.
        self._users: dict[str, dict[Place, None]] = {}
        self._first_uses: dict[str, dict[Place, int]] = {}

    def clear(self) -> None:
        self._users.clear()
        self._first_uses.clear()

    def is_due(self, user: str, place: Place, read: int, cost: int) -> bool:
        """Records a use of a term without an index, which reads a number of objects instead. Returns True if the user
        used the term before, and an index does not cost much more than the reads so far."""
        used = self._first_uses.pop(user, None) or {}
        self._first_uses[user] = used
        before = used.pop(place, None)
        if before is not None and before * _WORTH >= cost:
            return True
        used[place] = (before or 0) + read
        if len(used) > _USED:
            del used[next(iter(used))]
        if len(self._first_uses) > _USERS:
            del self._first_uses[next(iter(self._first_uses))]
        return False

    def use(self, user: str, place: Place) -> None:
        """Records the use of an index."""
        places = self._users.pop(user, None) or {}
        self._users[user] = places
        places.pop(place, None)
        places[place] = None
        index = self._indexes[place]
        index.users.add(user)
        index.unused = 0

    def excess(self, users: Iterable[str]) -> list[Place]:
        """Applies the bounds of users. Returns the indexes that have no users any more."""
        dropped: list[Place] = []
        for user in users:
            places = self._users[user]
            while len(places) > USER_INDEXES or self._entries(user) > USER_ENTRIES:
                large = (place for place in places if len(self._indexes[place]) >= USER_ENTRIES)
                dropped += self._release(user, next(large, next(iter(places))))
        while len(self._users) > _USERS:
            dropped += self._forget(next(iter(self._users)))
        return dropped

    def displace(self, *, by_number: bool) -> list[Place]:
        """Takes an index, the one whose last use is the longest ago, from the user with the most indexes, or with the
        most indexed objects. Returns the index if no other user has it."""
        user = max(self._users, key=lambda name: len(self._users[name]) if by_number else self._entries(name))
        return self._release(user, next(iter(self._users[user])))

    def dropped(self, place: Place, index: TermIndex) -> None:
        """Forgets a dropped index."""
        for user in index.users:
            if user in self._users:
                self._users[user].pop(place, None)

    def _entries(self, user: str) -> int:
        """Returns the number of objects in the indexes of a user; an index has at least the weight of one object."""
        return sum(len(self._indexes[place]) + 1 for place in self._users[user])

    def _release(self, user: str, place: Place) -> list[Place]:
        del self._users[user][place]
        users = self._indexes[place].users
        users.discard(user)
        return [] if users else [place]

    def _forget(self, user: str) -> list[Place]:
        dropped = [found for place in list(self._users[user]) for found in self._release(user, place)]
        del self._users[user]
        return dropped
