"""A cache of the protobuf messages of the stored objects of one resource.

The JSON of an object is stored, and each list joins the stored bytes. The cache gives lists, watches and reads in
protobuf the same advantage: each revision of an object is converted once.
"""

import threading
from collections.abc import Callable
from typing import TypeAlias

from setpoint.store.contract import Item

Make: TypeAlias = Callable[[Item], bytes]

# The maximum number of bytes of the messages of a resource: those of about ten thousand objects.
MOST_BYTES = 16 << 20
# The approximate number of further bytes that an entry takes.
_OVERHEAD = 300


class MessageCache:
    """The messages of the latest revisions, by form and key. If they are too large, those that were added first are
    removed."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._messages: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._bytes = 0
        # Lists with large objects are written in threads.
        self._changing = threading.Lock()
        # The number of messages that were made.
        self.made = 0

    def message(self, form: str, item: Item, make: Make) -> bytes:
        """Returns the message of a stored object in a form; `make` converts an object that is not in the cache."""
        place = (form, item.key)
        found = self._messages.get(place)
        if found is not None and found[0] == item.revision:
            return found[1]
        message = make(item)
        # A list of the past leaves the messages of newer revisions in the cache.
        if found is None or found[0] < item.revision:
            self._keep(place, item.revision, message)
        return message

    def _keep(self, place: tuple[str, str], revision: int, message: bytes) -> None:
        with self._changing:
            self.made += 1
            self._remove(place)
            self._messages[place] = (revision, message)
            self._bytes += len(message) + _OVERHEAD
            while self._bytes > self._most:
                self._remove(next(iter(self._messages)))

    def evict(self, key: str) -> None:
        """Removes the messages of an object."""
        with self._changing:
            for place in [place for place in self._messages if place[1] == key]:
                self._remove(place)

    def _remove(self, place: tuple[str, str]) -> None:
        found = self._messages.pop(place, None)
        if found is not None:
            self._bytes -= len(found[1]) + _OVERHEAD
