"""The seats of priority levels, and the queues in front of them.

A level has seats of its own, and may take more while others leave theirs free. Within it every flow has a queue, and
the queues are served in turn: who has a thousand requests waiting delays another by one. One flow never takes all seats
of a level, so that whoever comes next finds one even where the first holds its seats for long.
"""

from asyncio import Future
from collections import deque
from collections.abc import Iterable, Mapping
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


class Pool:
    """The seats for one sort of requests: those that read, or those that write."""

    __slots__ = ("executing", "kind", "levels", "limit", "seated", "waiting")

    def __init__(self, kind: str, limit: int) -> None:
        self.kind = kind
        self.limit = limit
        # All that are being served; those of them that need a seat; those that wait for one.
        self.executing = 0
        self.seated = 0
        self.waiting = 0
        self.levels: dict[str, Level] = {}

    def share_out(self, limited: Mapping[str, Object]) -> None:
        """Gives every level its seats: `limited` is what the configuration of each says of them."""
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
            level = self.levels.get(name) or Level(name, self)
            level.configure(nominal[name], nominal[name] + borrowed, spec.get("limitResponse") or {})
            self.levels[name] = level
        for gone in self.levels.keys() - limited.keys():
            del self.levels[gone]  # what waits or runs there still finds it


class Level:
    """The seats of one priority level in a pool. The numbers come from its configuration, and change with it."""

    __slots__ = (
        "capacity",
        "executing",
        "flow_capacity",
        "most",
        "most_of_one",
        "name",
        "nominal",
        "pool",
        "queues",
        "waiting",
    )

    def __init__(self, name: str, pool: Pool) -> None:
        self.name = name
        self.pool = pool
        self.executing = 0
        self.waiting = 0
        # The flows that wait, in the order in which they are served.
        self.queues: deque[Flow] = deque()
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

    @property
    def has_seat(self) -> bool:
        executing, pool = self.executing, self.pool
        return executing < self.nominal or (pool.seated < pool.limit and executing < self.most)

    def is_full_for(self, flow: "Flow") -> bool:
        """Whether a flow may not even wait. Who waits for no more than the loop to go round counts as seated."""
        return flow.executing + len(flow.queue) >= self.flow_capacity or self.executing + self.waiting >= self.capacity

    def join_queue(self, waiter: "Waiter") -> None:
        """Lets a request wait."""
        flow = waiter.flow
        flow.queue.append(waiter)
        if not flow.is_queued:
            flow.is_queued = True
            self.queues.append(flow)
        self.waiting += 1
        self.pool.waiting += 1
        flow.tally.waiting += 1

    def next(self) -> "Waiter | None":
        """Takes the request from its queue whose turn it is, if there is a seat for it."""
        if not self.has_seat:
            return None
        for _ in range(len(self.queues)):
            flow = self.queues.popleft()
            if not flow.queue:
                flow.is_queued = False
                continue
            self.queues.append(flow)
            while flow.queue and flow.executing < self.most_of_one:
                waiter = flow.queue[0]
                self.leave_queue(waiter)
                if not waiter.seated.done():  # it may have been cancelled just now
                    return waiter
        return None

    def leave_queue(self, waiter: "Waiter") -> None:
        """Lets a request wait no longer, if it does."""
        flow = waiter.flow
        if waiter in flow.queue:
            flow.queue.remove(waiter)
            self.waiting -= 1
            self.pool.waiting -= 1
            flow.tally.waiting -= 1


class Flow:
    """Requests that wait for each other: those of one user, or of one namespace, that one FlowSchema is about.

    Without a level they are exempt, and never wait.
    """

    __slots__ = ("executing", "headers", "is_queued", "level", "owner", "pool", "queue", "tally")

    def __init__(
        self, pool: Pool, level: Level | None, tally: Tally, owner: str, headers: Iterable[tuple[str, str]]
    ) -> None:
        self.pool = pool
        self.level = level
        self.tally = tally
        # Whose requests they are: reads and writes of one user have the same.
        self.owner = owner
        self.headers = tuple(headers)
        self.executing = 0
        self.queue: deque[Waiter] = deque()
        # Whether its level has it among those that wait.
        self.is_queued = False


class Waiter:
    """A request in a queue. Its future says whether it has a seat."""

    __slots__ = ("deadline", "flow", "seated")

    def __init__(self, flow: Flow, seated: "Future[bool]", deadline: float) -> None:
        self.flow = flow
        self.seated = seated
        self.deadline = deadline


def _number(spec: Object, name: str, default: int) -> int:
    found = spec.get(name)
    return default if found is None else int(found)
