"""A bounded collection of records: beyond a bound, the oldest records of a service or of all are removed."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from setpoint.telemetry.settings import TelemetrySettings


class Sized(Protocol):
    """A record with the values that the bounds concern."""

    service: str
    time: int
    number: int
    received: int

    @property
    def size(self) -> int: ...


T = TypeVar("T", bound=Sized)


class _Share:
    """The records of one service: their numbers in the order of arrival, and their size."""

    __slots__ = ("last", "numbers", "size")

    def __init__(self) -> None:
        self.numbers: deque[int] = deque()
        self.size = 0
        self.last = 0


class Bounded(Generic[T]):
    """Records in the order of their arrival. `removed` receives each record that exceeds a bound."""

    def __init__(self, settings: TelemetrySettings, removed: Callable[[T], None]) -> None:
        self._settings, self._removed = settings, removed
        self._records: OrderedDict[int, T] = OrderedDict()
        self._shares: dict[str, _Share] = {}
        self._number = 0
        self.size = 0

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: T) -> None:
        """Adds a record, and removes the oldest ones beyond the bounds."""
        self._number += 1
        record.number = self._number
        self._records[record.number] = record
        share = self._shares.setdefault(record.service, _Share())
        share.numbers.append(record.number)
        share.size += record.size
        share.last = max(share.last, record.time)
        self.size += record.size
        settings = self._settings
        while share.size > settings.max_service_bytes or len(share.numbers) > settings.max_service_records:
            self._remove(share)
        while self.size > settings.max_bytes or len(self._records) > settings.max_records:
            self._remove_oldest()

    def expire(self, before: int, most: int) -> bool:
        """Removes up to `most` of the oldest records, while they arrived before a time in nanoseconds since 1970.
        Returns True if there may be more."""
        for _ in range(most):
            oldest = next(iter(self._records.values()), None)
            if oldest is None or oldest.received >= before:
                return False
            self._remove_oldest()
        return True

    def newest_first(self, service: str = "") -> Iterator[T]:
        """Yields the records of a service, or all, as of now: later changes do not disturb the iteration."""
        if service:
            share = self._shares.get(service)
            numbers = list(reversed(share.numbers)) if share is not None else []
            return (found for number in numbers if (found := self._records.get(number)) is not None)
        return iter(list(reversed(self._records.values())))

    def services(self) -> dict[str, tuple[int, int]]:
        """Returns the number of records of each service, and the time of the last one."""
        return {name: (len(share.numbers), share.last) for name, share in self._shares.items()}

    def has_service(self, name: str) -> bool:
        """Returns True if there are records of a service."""
        return name in self._shares

    def _remove_oldest(self) -> None:
        self._remove(self._shares[next(iter(self._records.values())).service])

    def _remove(self, share: _Share) -> None:
        """Removes the oldest record of a service."""
        record = self._records.pop(share.numbers.popleft())
        share.size -= record.size
        self.size -= record.size
        if not share.numbers:
            del self._shares[record.service]
        self._removed(record)
