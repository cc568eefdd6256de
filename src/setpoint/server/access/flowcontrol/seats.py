"""The seats of priority levels, the queues in front of them, and the loop's time that levels and flows have used.

A level has seats of its own, and may take more while others leave theirs free. A request takes as many as its work is
wide (`width`). Within a level every flow has a queue. One flow never takes all seats of a level, so that the next flow
finds one even where the first holds its seats for long.

Levels, and the flows of a level, are served in the order of their virtual time: the seconds of the event loop that were
charged to them so far, for a level divided by its shares. A flow that comes back after a pause starts at the time of
the one that was served last, so a pause earns no credit. This is start-time fair queuing.
"""

from asyncio import Future
from bisect import insort
from collections import deque
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush, heapreplace
from itertools import count
from math import ceil

from setpoint.objects.tree import Object


class Tally:
    """What became of the requests of one FlowSchema at one level."""

    __slots__ = ("dispatched", "executing", "level", "rejected", "schema", "waiting")

    def __init__(self, level: str, schema: str) -> None:
        self.level = level
        self.schema = schema
        self.dispatched = 0
        self.executing = 0
        self.waiting = 0
        self.rejected: dict[str, int] = {}

    def reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


class Share:
    """The loop's time that one level has used, for reads and writes together. `now` is the virtual time of the flow of
    it that was served last."""

    __slots__ = ("now", "served", "virtual", "weight")

    def __init__(self) -> None:
        self.virtual = 0.0
        self.weight = 1.0
        self.now = 0.0
        # How many requests were served.
        self.served = 0


class Account:
    """The loop's time that one flow has used, for reads and writes together."""

    __slots__ = ("virtual",)

    def __init__(self) -> None:
        self.virtual = 0.0


class Pool:
    """The seats for one sort of requests: those that read, or those that write."""

    __slots__ = ("executing", "kind", "levels", "limit", "seated", "waiting")

    def __init__(self, kind: str, limit: int) -> None:
        self.kind = kind
        self.limit = limit
        # All requests that are being served; the seats that those of them that need any take; those that wait for one.
        self.executing = 0
        self.seated = 0
        self.waiting = 0
        self.levels: dict[str, Level] = {}

    def share_out(self, limited: Mapping[str, Object], used: Mapping[str, Share]) -> None:
        """Gives every level its seats: `limited` is what the configuration of each says of them, `used` the loop's time
        that it has used."""
        shares = {name: _number(spec, "nominalConcurrencyShares", 30) for name, spec in limited.items()}
        total = sum(shares.values()) or 1
        nominal = {name: ceil(self.limit * share / total) for name, share in shares.items()}
        lent = {
            name: round(nominal[name] * _number(spec, "lendablePercent", 0) / 100) for name, spec in limited.items()
        }
        for name, spec in limited.items():
            borrowed = sum(lent.values()) - lent[name]
            most = spec.get("borrowingLimitPercent")
            if most is not None:
                borrowed = min(borrowed, round(nominal[name] * most / 100))
            level = self.levels.get(name) or Level(name, self, used[name])
            level.share.weight = max(shares[name], 1)
            level.configure(nominal[name], nominal[name] + borrowed, spec.get("limitResponse") or {})
            self.levels[name] = level
        for gone in self.levels.keys() - limited.keys():
            del self.levels[gone]  # what waits or runs there still finds it


class Level:
    """The seats of one priority level in a pool. The numbers come from its configuration, and change with it."""

    __slots__ = (
        "_arrivals",
        "_beginning",
        "_going_on",
        "capacity",
        "executing",
        "flow_capacity",
        "going",
        "most",
        "most_of_one",
        "name",
        "nominal",
        "pool",
        "served",
        "share",
        "waiting",
    )

    def __init__(self, name: str, pool: Pool, share: Share | None = None) -> None:
        self.name = name
        self.pool = pool
        self.share = share or Share()
        # Seats that are taken, requests that wait for some, and requests between two slices of their work.
        self.executing = 0
        self.waiting = 0
        self.going = 0
        # The number, of its share, of the request that was served last.
        self.served = 0
        # The flows with requests that wait for seats, and for their next slice, by the virtual time that they had when
        # they were put here; it may have grown since.
        self._beginning: list[tuple[float, int, Flow]] = []
        self._going_on: list[tuple[float, int, Flow]] = []
        self._arrivals = count()
        self.configure(1, 1, {})

    def configure(self, nominal: int, most: int, response: Object) -> None:
        """Sets how many seats it has for sure and how many it may take, and how many may wait."""
        self.nominal = max(nominal, 1)
        self.most = max(most, 1)
        queuing = response.get("queuing") if response.get("type") == "Queue" else None
        if queuing:
            length = _number(queuing, "queueLengthLimit", 50)
            self.most_of_one = max(self.most * 3 // 4, 1)
            # The real server deals every flow some queues, its hand, of those that the flows share; here each has one
            # of its own, which is as long as a hand of those.
            self.flow_capacity = self.most_of_one + length * _number(queuing, "handSize", 8)
            self.capacity = self.most + length * _number(queuing, "queues", 64)
        else:
            self.most_of_one = self.flow_capacity = self.capacity = self.most

    def has_seats(self, width: int) -> bool:
        """Tells whether so many seats are free."""
        executing, pool = self.executing + width, self.pool
        return executing <= self.nominal or (pool.seated + width <= pool.limit and executing <= self.most)

    def is_full_for(self, flow: "Flow", width: int) -> bool:
        """Tells whether a request may not even wait. Those that wait for the loop to go round count as seated."""
        return (
            flow.executing + len(flow.queue) + width > self.flow_capacity
            or self.executing + self.waiting + width > self.capacity
        )

    def join_queue(self, waiter: "Waiter") -> None:
        """Lets a request wait for seats."""
        flow = waiter.flow
        flow.queue.append(waiter)
        self.waiting += 1
        self.pool.waiting += 1
        flow.tally.waiting += 1
        if not flow.is_queued:
            flow.is_queued = True
            self._add(self._beginning, flow)

    def go_on(self, waiter: "Waiter") -> None:
        """Lets a request that has its seats wait for its next slice of the loop's time. Of the requests of a flow the
        one that began first goes on first: one that is finished needs no memory."""
        flow = waiter.flow
        insort(flow.going, waiter, key=_deadline)
        self.going += 1
        if not flow.is_going:
            flow.is_going = True
            self._add(self._going_on, flow)

    def _add(self, heap: "list[tuple[float, int, Flow]]", flow: "Flow") -> None:
        heappush(heap, (max(flow.account.virtual, self.share.now), next(self._arrivals), flow))

    def first(self) -> "Waiter | None":
        """The request whose turn it is, if there are seats for it. One that goes on needs none, so it never waits for
        those that begin."""
        going_on = self._first_going_on()
        beginning = self._first_beginning() if self.waiting else None
        if beginning is None or going_on is None:
            found = beginning or going_on
        elif beginning.flow is going_on.flow:
            # One that begins and one that goes on in turn: neither keeps the other waiting for ever.
            found = going_on if beginning.flow.began_last else beginning
        else:
            found = going_on if self._going_on[0] <= self._beginning[0] else beginning
        return found

    def take(self, waiter: "Waiter") -> None:
        """Takes a request out of its queue, to be served."""
        waiter.flow.began_last = waiter.width > 0
        self.served = self.share.served = self.share.served + 1
        self.leave_queue(waiter)

    def _first_going_on(self) -> "Waiter | None":
        heap = self._going_on
        while heap:
            start, _, flow = heap[0]
            going = flow.going
            while going and going[0].seated.done():  # it was cancelled just now
                self.leave_queue(going[0])
            if not going:
                heappop(heap)
                flow.is_going = False
            elif start < flow.account.virtual:
                heapreplace(heap, (flow.account.virtual, next(self._arrivals), flow))
            else:
                return going[0]
        return None

    def _first_beginning(self) -> "Waiter | None":
        heap, passed_over = self._beginning, []
        found: Waiter | None = None
        while heap:
            start, _, flow = heap[0]
            queue = flow.queue
            while queue and queue[0].seated.done():
                self.leave_queue(queue[0])
            if not queue:
                heappop(heap)
                flow.is_queued = False
            elif start < flow.account.virtual:
                heapreplace(heap, (flow.account.virtual, next(self._arrivals), flow))
            elif flow.executing and flow.executing + queue[0].width > self.most_of_one:
                # It has as many seats as one flow may have. Such flows are few, so this loop is short.
                passed_over.append(heappop(heap))
            else:
                # Nobody who needs fewer seats goes before: otherwise wide requests would wait for ever.
                found = queue[0] if self.has_seats(queue[0].width) else None
                break
        for entry in passed_over:
            heappush(heap, entry)
        return found

    def leave_queue(self, waiter: "Waiter") -> None:
        """Lets a request wait no longer, if it does."""
        flow = waiter.flow
        if not waiter.width:
            if waiter in flow.going:
                flow.going.remove(waiter)
                self.going -= 1
        elif waiter in flow.queue:
            flow.queue.remove(waiter)
            self.waiting -= 1
            self.pool.waiting -= 1
            flow.tally.waiting -= 1


class Flow:
    """Requests that wait for each other: those of one user, or of one namespace, that one FlowSchema is about.

    Without a level they are exempt, and never wait.
    """

    __slots__ = (
        "account",
        "began_last",
        "estimate",
        "executing",
        "going",
        "headers",
        "is_going",
        "is_queued",
        "level",
        "owner",
        "pool",
        "queue",
        "tally",
    )

    def __init__(
        self,
        pool: Pool,
        level: Level | None,
        tally: Tally,
        owner: str,
        headers: Iterable[tuple[str, str]],
        account: Account | None = None,
        estimate: float = 0.0,
    ) -> None:
        self.pool = pool
        self.level = level
        self.tally = tally
        # Whose requests they are: reads and writes of one user have the same, and share an account.
        self.owner = owner
        self.account = account or Account()
        self.headers = tuple(headers)
        self.executing = 0
        # How long a request of the flow takes the loop before it waits for something: an average of the last ones.
        self.estimate = estimate
        # Those that wait for seats, and those that wait for the next slice of their work.
        self.queue: deque[Waiter] = deque()
        self.going: list[Waiter] = []
        # Whether its level has it among those that wait for seats, and for a slice; and what it was served for last.
        self.is_queued = False
        self.is_going = False
        self.began_last = False


class Waiter:
    """A request in a queue. Its future says whether it may go on.

    `width` is how many seats it needs; one that has its seats and waits for its next slice needs none. `deadline` is
    when it waits no longer, or, of one that needs no seats, the number that it began with. `cost` is how long it is
    going to take, by estimate.
    """

    __slots__ = ("cost", "deadline", "flow", "seated", "width")

    def __init__(self, flow: Flow, seated: "Future[bool]", deadline: float, width: int = 1, cost: float = 0.0) -> None:
        self.flow = flow
        self.seated = seated
        self.deadline = deadline
        self.width = width
        self.cost = cost


def _deadline(waiter: Waiter) -> float:
    return waiter.deadline


def _number(spec: Object, name: str, default: int) -> int:
    found = spec.get(name)
    return default if found is None else int(found)
