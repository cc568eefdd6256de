"""The seats and queues of priority levels, and the loop time that levels and flows have used.

A level has its own seats and may borrow seats that other levels leave free. A request takes as many seats as its width
(`width`). Within a level every flow has one queue. One flow never takes all seats of a level, so that other flows find
a free seat even if the first flow holds its seats for a long time.

Levels, and the flows of a level, are served in the order of their virtual time: the seconds of loop time charged so
far, divided by the shares in the case of a level. A flow that returns after an idle period starts at the virtual time
of the flow that was served last, so idle time earns no credit. This is start-time fair queuing.
"""

from asyncio import Future
from bisect import insort
from collections import deque
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush, heapreplace
from itertools import count
from math import ceil

from setpoint.objects.metrics import Histogram
from setpoint.objects.tree import Object

_WAITS = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0)


class Tally:
    """Counts the requests of one FlowSchema at one level by outcome."""

    __slots__ = ("_waits", "dispatched", "executing", "executions", "level", "rejected", "schema", "seats", "waiting")

    def __init__(self, level: str, schema: str) -> None:
        self.level = level
        self.schema = schema
        self.dispatched = 0
        self.executing = 0
        # The occupied seats; exempt requests occupy none.
        self.seats = 0
        self.waiting = 0
        self.rejected: dict[str, int] = {}
        # The seconds of execution.
        self.executions = Histogram(_WAITS)
        # The seconds of waiting of the requests that had to wait.
        self._waits = Histogram(_WAITS)

    def waited(self, seconds: float) -> None:
        self._waits.observe(seconds)

    @property
    def waits(self) -> Histogram:
        """The seconds of waiting of all dispatched requests; most of them did not wait."""
        found = Histogram(_WAITS)
        found.buckets, found.sum = list(self._waits.buckets), self._waits.sum
        found.buckets[0] += max(self.dispatched - self._waits.count, 0)
        return found

    def reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


class Share:
    """The loop time that one level has used, for reads and writes together. `now` is the virtual time of the flow that
    the level served last."""

    __slots__ = ("now", "served", "virtual", "weight")

    def __init__(self) -> None:
        self.virtual = 0.0
        self.weight = 1.0
        self.now = 0.0
        # The number of served requests.
        self.served = 0


class Account:
    """The loop time that one flow has used, for reads and writes together."""

    __slots__ = ("virtual",)

    def __init__(self) -> None:
        self.virtual = 0.0


class Pool:
    """The seats for one kind of request: reads or writes."""

    __slots__ = ("executing", "kind", "levels", "limit", "seated", "waiting")

    def __init__(self, kind: str, limit: int) -> None:
        self.kind = kind
        self.limit = limit
        # The number of executing requests, the number of occupied seats, and the number of requests that wait for a
        # seat.
        self.executing = 0
        self.seated = 0
        self.waiting = 0
        self.levels: dict[str, Level] = {}

    def share_out(self, limited: Mapping[str, Object], used: Mapping[str, Share]) -> None:
        """Distributes the seats to the levels. `limited` maps each level to its configuration, `used` to its used loop
        time."""
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
            del self.levels[gone]  # waiting and executing requests keep a reference


class Level:
    """The seats of one priority level in a pool. The limits follow the level's configuration."""

    __slots__ = (
        "_arrivals",
        "_beginning",
        "_continuing",
        "capacity",
        "continuing",
        "executing",
        "flow_capacity",
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
        # Occupied seats, requests that wait for seats, and requests that wait for their next slice.
        self.executing = 0
        self.waiting = 0
        self.continuing = 0
        # The sequence number, within the share, of the request that was served last.
        self.served = 0
        # Heaps of the flows that wait for seats and of those that wait for their next slice, by the virtual time at
        # insertion, which may have grown since.
        self._beginning: list[tuple[float, int, Flow]] = []
        self._continuing: list[tuple[float, int, Flow]] = []
        self._arrivals = count()
        self.configure(1, 1, {})

    def configure(self, nominal: int, most: int, response: Object) -> None:
        """Sets the number of guaranteed seats, of seats including borrowed ones, and of waiting requests."""
        self.nominal = max(nominal, 1)
        self.most = max(most, 1)
        queuing = response.get("queuing") if response.get("type") == "Queue" else None
        if queuing:
            length = _number(queuing, "queueLengthLimit", 50)
            self.most_of_one = max(self.most * 3 // 4, 1)
            # kube-apiserver assigns each flow a hand of shared queues. Here each flow has one own queue, as long as the
            # queues of a hand together.
            self.flow_capacity = self.most_of_one + length * _number(queuing, "handSize", 8)
            self.capacity = self.most + length * _number(queuing, "queues", 64)
        else:
            self.most_of_one = self.flow_capacity = self.capacity = self.most

    @property
    def limit(self) -> int:
        """The number of seats that the level may occupy now: the guaranteed ones, and those that it could borrow."""
        pool = self.pool
        return max(self.nominal, min(self.most, self.executing + pool.limit - pool.seated))

    def has_seats(self, width: int) -> bool:
        """Returns True if this many seats are free."""
        executing, pool = self.executing + width, self.pool
        return executing <= self.nominal or (pool.seated + width <= pool.limit and executing <= self.most)

    def is_full_for(self, flow: "Flow", width: int) -> bool:
        """Returns True if a request must be rejected because the queue is full. Requests that wait for the next turn
        count as seated."""
        return (
            flow.executing + len(flow.queue) + width > self.flow_capacity
            or self.executing + self.waiting + width > self.capacity
        )

    def join_queue(self, waiter: "Waiter") -> None:
        """Queues a request until seats are free."""
        flow = waiter.flow
        flow.queue.append(waiter)
        self.waiting += 1
        self.pool.waiting += 1
        flow.tally.waiting += 1
        if not flow.is_queued:
            flow.is_queued = True
            self._add(self._beginning, flow)

    def enqueue_continuing(self, waiter: "Waiter") -> None:
        """Queues a request that holds its seats until its next slice. Within a flow the oldest request continues first,
        so that its memory is freed early."""
        flow = waiter.flow
        insort(flow.continuing, waiter, key=_deadline)
        self.continuing += 1
        if not flow.is_continuing:
            flow.is_continuing = True
            self._add(self._continuing, flow)

    def _add(self, heap: "list[tuple[float, int, Flow]]", flow: "Flow") -> None:
        heappush(heap, (max(flow.account.virtual, self.share.now), next(self._arrivals), flow))

    def first(self) -> "Waiter | None":
        """Returns the next request to serve, if enough seats are free. Continuing requests need no seats, so they never
        wait for starting requests."""
        going_on = self._first_continuing()
        beginning = self._first_beginning() if self.waiting else None
        if beginning is None or going_on is None:
            found = beginning or going_on
        elif beginning.flow is going_on.flow:
            # Starting and continuing requests of a flow alternate, so that neither starves.
            found = going_on if beginning.flow.began_last else beginning
        else:
            found = going_on if self._continuing[0] <= self._beginning[0] else beginning
        return found

    def dequeue(self, waiter: "Waiter") -> None:
        """Removes a request from its queue, to be served."""
        waiter.flow.began_last = waiter.width > 0
        self.served = self.share.served = self.share.served + 1
        self.remove(waiter)

    def _first_continuing(self) -> "Waiter | None":
        heap = self._continuing
        while heap:
            start, _, flow = heap[0]
            going = flow.continuing
            while going and going[0].seated.done():  # cancelled in this turn
                self.remove(going[0])
            if not going:
                heappop(heap)
                flow.is_continuing = False
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
                self.remove(queue[0])
            if not queue:
                heappop(heap)
                flow.is_queued = False
            elif start < flow.account.virtual:
                heapreplace(heap, (flow.account.virtual, next(self._arrivals), flow))
            elif flow.executing and flow.executing + queue[0].width > self.most_of_one:
                # The flow already has the maximum number of seats. Such flows are few, so this loop is short.
                passed_over.append(heappop(heap))
            else:
                # Narrower requests do not overtake; otherwise wide requests would starve.
                found = queue[0] if self.has_seats(queue[0].width) else None
                break
        for entry in passed_over:
            heappush(heap, entry)
        return found

    def remove(self, waiter: "Waiter") -> None:
        """Removes a request from its queue, if queued."""
        flow = waiter.flow
        if not waiter.width:
            if waiter in flow.continuing:
                flow.continuing.remove(waiter)
                self.continuing -= 1
        elif waiter in flow.queue:
            flow.queue.remove(waiter)
            self.waiting -= 1
            self.pool.waiting -= 1
            flow.tally.waiting -= 1


class Flow:
    """The requests of one user or namespace that match one FlowSchema and share a queue.

    Without a level the flow is exempt and never waits.
    """

    __slots__ = (
        "account",
        "began_last",
        "continuing",
        "estimate",
        "executing",
        "headers",
        "is_continuing",
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
        # The owner of the requests. Reads and writes of one user have the same owner and share an account.
        self.owner = owner
        self.account = account or Account()
        self.headers = tuple(headers)
        self.executing = 0
        # The average loop time of a request of this flow until its first suspension.
        self.estimate = estimate
        # The requests that wait for seats, and those that wait for their next slice.
        self.queue: deque[Waiter] = deque()
        self.continuing: list[Waiter] = []
        # True while the level has queued the flow for seats, or for a slice; and True if the flow was last served with
        # a start.
        self.is_queued = False
        self.is_continuing = False
        self.began_last = False


class Waiter:
    """A queued request. The result of its future is True if the request may continue.

    `width` is the number of needed seats; 0 for a request that holds its seats and waits for its next slice. `deadline`
    is the time at which the wait ends or, for a request without needed seats, its start number. `cost` is the estimated
    loop time.
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
