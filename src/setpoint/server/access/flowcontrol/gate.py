"""The gate before the pipeline's work: who goes in at once, who waits, and who is told to come back later.

One event loop does everything, so two things are shared out:

* The loop's time. A turn of the loop has room for some tenths of a millisecond of requests. All others wait in the
  queue of their flow, and the next turn takes them in the order of the time that their levels and flows have used
  (`seats`).
  That time is measured (`metered`), and charged by an estimate until it is known. A request whose work is large does it
  in slices and waits for its turn before each (`Context.pause`). A flow that has used less than those that wait goes in
  at once. Between two turns the loop reads what has come in meanwhile.
* Seats: requests that wait for the store, for a webhook, or for their client to read the answer. They hold as many
  seats as their work is wide (`width`) until the answer is sent. The bytes of answers have a bound too (`unsent`).

FlowSchemas say what a flow is and which level's seats it takes, as on the real server; a change of them counts for the
very next request. Who is exempt (administrators, probes of health) is counted and never waits. Streams hold a seat only
until their initial events are sent: how many are open at once has a bound of its own.

With a clock that is not the system's nothing is measured, and estimates alone are charged: a simulation takes the same
course each time.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from setpoint.objects.clock import SystemClock
from setpoint.objects.errors import TooManyRequests
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.access.flowcontrol import bootstrap_objects
from setpoint.server.access.flowcontrol.cpu_meter import Metered
from setpoint.server.access.flowcontrol.flowschema import FlowSchema, flow_schema
from setpoint.server.access.flowcontrol.request_seats import ExemptSeat, HeldSeat
from setpoint.server.access.flowcontrol.seats import Account, Flow, Level, Pool, Share, Tally, Waiter
from setpoint.server.access.flowcontrol.settings import Overload
from setpoint.server.access.flowcontrol.stream_limit import Streams
from setpoint.server.access.flowcontrol.unsent_bytes import Unsent
from setpoint.server.access.flowcontrol.width import MOST, WATCHES, Sizes, scope_of, width_of
from setpoint.server.message import Response, Stream
from setpoint.server.registry.indexes import View
from setpoint.server.request.context import Context, Services
from setpoint.server.requestinfo import is_long_running

READ_ONLY, MUTATING = "readOnly", "mutating"

_READS = frozenset(("get", "list", "watch", "head"))
_SLICED = frozenset(("list", "watch", "deletecollection"))
# Seconds of the loop: what requests may take in one turn; how much more those may take that have used less than all who
# wait; what a slice of a large request takes, and a request of a flow that is not known yet.
_TURN = 0.0006
_OVERDRAFT = 0.001
_SLICE = 0.0003
_UNKNOWN = 0.0001
# Of somebody who is alone: requests that take longer take turns all the same: the next may be another's.
_CHEAP = 0.00025
# Seconds of the loop that an answer takes to be encrypted and handed over, by byte and by piece, and a watch to be told
# of a change.
_BYTE, _PIECE, _TOLD = 1e-9, 30e-6, 30e-6
# Answers that are larger hold their seats until they are sent; smaller ones fit into the buffers of a connection.
_LARGE = 16 << 10
# For how long after the requests of two users have met they take turns. Who has been alone since need not.
_SHARED_SECONDS = 1.0
# Flows that are remembered by what a request says. A request of another sort takes some microseconds more.
_REMEMBERED = 4096
_WHOLE = (bytes, list)
T = TypeVar("T")
_SCHEMA_HEADER, _LEVEL_HEADER = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"


class Gate:
    """The gate of one server. `enter` before a request's work, `wait` where that says so, `leave` after it."""

    def __init__(self, services: Services, settings: Overload) -> None:
        self._services = services
        self._settings = settings
        self._clock = services.clock
        self._measures = isinstance(services.clock, SystemClock)
        self.pools = {
            READ_ONLY: Pool(READ_ONLY, settings.max_requests_inflight),
            MUTATING: Pool(MUTATING, settings.max_mutating_requests_inflight),
        }
        self.tallies: dict[tuple[str, str], Tally] = {}
        self.unsent = Unsent(services.clock, settings.max_unsent_bytes_per_user, settings.wait_seconds)
        self.streams = Streams(settings.max_long_running, self.unsent)
        self.sizes = Sizes()
        views, group, version = services.views, bootstrap_objects.GROUP, bootstrap_objects.VERSION
        self._schema_view: View[FlowSchema] = views.of(
            group, version, bootstrap_objects.SCHEMAS, flow_schema, self._note_change
        )
        self._level_view: View[Object] = views.of(group, version, bootstrap_objects.LEVELS, dict, self._note_change)
        self._stale = True
        self._schemas: Sequence[FlowSchema] = ()
        # The seats of those who are always exempt, by whether they read.
        self._exempt: Mapping[bool, ExemptSeat] | None = None
        self._level_uids: Mapping[str, str] = {}
        self._flows: dict[tuple[object, ...], Flow] = {}
        self._by_name: dict[tuple[str, str, str, bool], Flow] = {}
        self._shares: dict[str, Share] = {}
        # The virtual time of the level that was served last.
        self._now = 0.0
        # How much of the loop's time is left in this turn.
        self._left = _TURN
        self._turning = False
        # Whose request came last; until when requests of several count as shared; whether one alone has come since.
        self._owner = ""
        self._shared_until = 0.0
        self._is_alone = False
        # The levels with queues, and all who wait in the order in which their time runs out.
        self._busy: dict[Level, None] = {}
        self._waiters: deque[Waiter] = deque()
        self._expiring: asyncio.Task[None] | None = None
        # The number of the request that began last.
        self.begun = 0
        # Writes that watches are still told of.
        self._telling: set[asyncio.Task[None]] = set()

    async def prepare(self) -> None:
        """Has the FlowSchemas at hand."""
        await self._read()

    def close(self) -> None:
        """Looks after nobody any more."""
        if self._expiring is not None:
            self._expiring.cancel()
        for task in self._telling:
            task.cancel()

    def enter(self, context: Context) -> ExemptSeat | HeldSeat | None:
        """The seat of a request that may be served at once, to `leave` afterwards. None: it has to `wait`."""
        user, info = context.user, context.info
        if MASTERS in user.groups and self._exempt is not None:
            # What nothing else can be said of: the first FlowSchema is about all they do.
            seat = self._exempt[info.verb in _READS]
            flow = seat.flow
            context.headers = flow.headers
            self._take_seats(flow, 0)
            return seat
        if self._stale:
            return None
        flow = self._find(context)
        context.headers = flow.headers
        level = flow.level
        if level is None:
            self._take_seats(flow, 0)
            return ExemptSeat(self, flow)
        if flow.owner != self._owner:
            self._owner, self._is_alone = flow.owner, False
            self._shared_until = self._clock.monotonic() + _SHARED_SECONDS
        width, cost = 1, flow.estimate
        if info.verb in _SLICED:
            known = self._width(context, level)
            if known is None:
                return None
            width = known
        # Whether the flow has used less than those that wait, or were served last.
        is_behind = flow.account.virtual <= level.share.now
        if (level.waiting or level.going) and (flow.queue or not is_behind):
            return None
        if (flow.executing and flow.executing + width > level.most_of_one) or not level.has_seats(width):
            return None
        is_free = self._is_alone and width == 1 and cost <= _CHEAP
        if not is_free and self._left <= (-_OVERDRAFT if is_behind else 0.0):
            return None
        if (info.verb == "watch" or info.subresource) and is_long_running(info):
            self._check_streams(context, flow)
        if not is_free:
            self._pay(flow, level, cost)
            if self._left <= 0:
                self._next_turn()
        self._take_seats(flow, width)
        return HeldSeat(self, flow, user.name, width, 0.0 if is_free else cost)

    async def wait(self, context: Context) -> ExemptSeat | HeldSeat:
        """Returns when the request may be served. Raises TooManyRequests."""
        scope = scope_of(context) if context.info.verb in _SLICED else ""
        if self._stale or (scope and self.sizes.of(scope) is None):
            if self._stale:
                await self._read()
            if scope and self.sizes.of(scope) is None:
                self.sizes.learn(scope, await self._services.store.count(scope), 0.0)
            seat = self.enter(context)
            if seat is not None:
                return seat
        flow = self._find(context)
        level = flow.level
        if level is None:
            self._take_seats(flow, 0)
            return ExemptSeat(self, flow)
        if is_long_running(context.info):
            self._check_streams(context, flow)
        width = (self._width(context, level) or 1) if scope else 1
        await self._wait(flow, level, width)
        return HeldSeat(self, flow, context.user.name, width, flow.estimate)

    def measured(self, seat: ExemptSeat | HeldSeat, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """The work of a request, with its time charged to its flow."""
        return Metered(work, seat.spent) if self._measures and isinstance(seat, HeldSeat) else work

    async def keep(self, context: Context, seat: ExemptSeat | HeldSeat, response: Response) -> bool:
        """Tells whether a seat is held until the connection has sent the answer. Raises TooManyRequests."""
        outlet, body = context.request.outlet, response.body
        if isinstance(seat, ExemptSeat) or outlet is None or response.status >= 400:
            return False
        if isinstance(body, _WHOLE):
            size = len(body) if isinstance(body, bytes) else sum(map(len, body))
            if size <= _LARGE:
                return False
            if context.info.verb in _READS:
                await seat.reserve(size)
        elif not scope_of(context):
            return False
        return outlet.sending(context.request, seat)

    def tell_watches(self, seat: ExemptSeat | HeldSeat, watches: int) -> bool:
        """Tells whether a seat is held while so many watches are told of a write. Their cost is charged to it."""
        if watches < WATCHES or isinstance(seat, ExemptSeat):
            return False
        seconds = watches * _TOLD
        self.charge(seat.flow, seconds)
        self.widen(seat, min(-(-watches // WATCHES), MOST))
        task = asyncio.get_running_loop().create_task(self._leave_after(seat, seconds))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)
        return True

    def finish(self, seat: ExemptSeat | HeldSeat) -> None:
        """The request was answered, and nothing of it is left to be done."""
        if isinstance(seat, ExemptSeat):
            self.leave(seat.flow, 0)
        else:
            seat.leave()

    async def _leave_after(self, seat: HeldSeat, seconds: float) -> None:
        try:
            await self._clock.sleep(seconds)
        finally:
            seat.leave()

    def _note_change(self, _key: str, _made: object) -> None:
        """Somebody changed a FlowSchema or a level."""
        self._stale = True

    def _take_seats(self, flow: Flow, width: int) -> None:
        pool, level, tally = flow.pool, flow.level, flow.tally
        pool.executing += 1
        tally.executing += 1
        tally.dispatched += 1
        if level is not None:
            pool.seated += width
            level.executing += width
            flow.executing += width

    def widen(self, seat: HeldSeat, width: int) -> None:
        """Gives a request more seats than it was thought to need, whether or not they are free."""
        flow, level = seat.flow, seat.flow.level
        if level is not None:
            more = min(width, level.most_of_one) - seat.width
            if more > 0:
                seat.width += more
                flow.pool.seated += more
                level.executing += more
                flow.executing += more

    def leave(self, flow: Flow, width: int) -> None:
        """The request was answered, and its answer sent."""
        pool, level = flow.pool, flow.level
        pool.executing -= 1
        flow.tally.executing -= 1
        if level is not None:
            pool.seated -= width
            level.executing -= width
            flow.executing -= width
            if self._busy:
                self._dispatch()

    def streamed(self, context: Context, response: Response, stream: Stream) -> Response:
        """An answer that is a stream, counted while it is open."""
        return response._replace(body=self.streams.counted(context.user.name, stream))

    # The loop's time

    def _pay(self, flow: Flow, level: Level, cost: float) -> None:
        """Charges what a request is going to take, by estimate."""
        account, share = flow.account, level.share
        self._left -= cost
        account.virtual = max(account.virtual, share.now) + cost
        share.virtual = max(share.virtual, self._now) + cost / share.weight

    def charge(self, flow: Flow, seconds: float) -> None:
        """Charges more than was estimated, or gives back what is less."""
        level = flow.level
        if level is not None:
            self._left -= seconds
            flow.account.virtual += seconds
            level.share.virtual += seconds / level.share.weight

    async def pause(self, seat: HeldSeat, size: int = 0) -> None:
        """Returns when it is the turn of a request that goes on: with a slice of its work, or to send so many bytes."""
        flow, level = seat.flow, seat.flow.level
        if level is None:
            return
        cost = _PIECE + size * _BYTE if size else _SLICE
        waiter = Waiter(flow, asyncio.get_running_loop().create_future(), seat.number, 0, cost)
        level.go_on(waiter)
        self._busy[level] = None
        self._dispatch()
        try:
            await waiter.seated
        except asyncio.CancelledError:
            level.leave_queue(waiter)
            raise
        seat.prepaid = 0.0 if size or not self._measures else _SLICE

    # Waiting

    async def _wait(self, flow: Flow, level: Level, width: int) -> None:
        if level.is_full_for(flow, width):
            raise self.rejected(flow, "queue-full" if level.capacity > level.most else "concurrency-limit")
        loop = asyncio.get_running_loop()
        deadline = self._clock.monotonic() + self._settings.wait_seconds
        waiter = Waiter(flow, loop.create_future(), deadline, width, flow.estimate)
        level.join_queue(waiter)
        self._waiters.append(waiter)
        self._busy[level] = None
        if self._expiring is None:
            self._expiring = loop.create_task(self._expire())
        # There may be a seat for this flow where there was none for those who wait already.
        self._dispatch()
        try:
            seated = await waiter.seated
        except asyncio.CancelledError:
            if waiter.seated.cancelled():
                level.leave_queue(waiter)
                flow.tally.reject("cancelled")
            elif waiter.seated.result():
                self.leave(flow, width)
            raise
        if not seated:
            raise self.rejected(flow, "time-out")

    def rejected(self, flow: Flow, reason: str) -> TooManyRequests:
        """Counts a request that is told to come back later."""
        flow.tally.reject(reason)
        return TooManyRequests.of()

    async def _expire(self) -> None:
        """Turns away whose time has run out; all wait equally long, so they do so in the order they came."""
        try:
            while self._waiters:
                waiter = self._waiters[0]
                if waiter.seated.done():
                    self._waiters.popleft()
                    continue
                left = waiter.deadline - self._clock.monotonic()
                if left > 0:
                    await self._clock.sleep(left)
                    continue
                self._waiters.popleft()
                if waiter.flow.level is not None:
                    waiter.flow.level.leave_queue(waiter)
                waiter.seated.set_result(False)
        finally:
            if self._expiring is asyncio.current_task():
                self._expiring = None

    def _next_turn(self) -> None:
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """The loop has gone round: others may go in."""
        self._turning = False
        self._is_alone = self._clock.monotonic() > self._shared_until
        # What took longer than was thought is made up for, within limits: nobody waits for many turns because of it.
        self._left = _TURN if self._left >= -_TURN else _TURN / 2
        if self._busy:
            self._dispatch()

    def _dispatch(self) -> None:
        """Lets those go on whose turn it is: first those of the level that has used the least of the loop's time."""
        while self._left > 0 and (waiter := self._next()) is not None:
            flow = waiter.flow
            level = flow.level
            if level is None:
                continue
            share = level.share
            share.now = max(share.now, flow.account.virtual)
            self._now = max(self._now, share.virtual)
            self._pay(flow, level, waiter.cost)
            if waiter.width:
                self._take_seats(flow, waiter.width)
            waiter.seated.set_result(True)
        if self._left <= 0:
            self._next_turn()
        while self._waiters and self._waiters[0].seated.done():
            self._waiters.popleft()
        if not self._waiters and self._expiring is not None:
            self._expiring.cancel()
            self._expiring = None

    def _next(self) -> Waiter | None:
        """Takes the request whose turn it is out of its queue. The reads and the writes of a level share its time: of
        those two the flow goes first that has used less, and of one flow they go in turn."""
        found: Waiter | None = None
        best = (0.0, 0.0, 0)
        for level in tuple(self._busy):
            if not (level.waiting or level.going):
                del self._busy[level]
            elif (waiter := level.first()) is not None:
                order = (level.share.virtual, waiter.flow.account.virtual, level.served)
                if found is None or order < best:
                    found, best = waiter, order
        if found is not None and found.flow.level is not None:
            found.flow.level.take(found)
        return found

    # Classifying

    def _width(self, context: Context, level: Level) -> int | None:
        """Returns how many seats a request needs; None: that is not known yet."""
        scope = scope_of(context)
        if not scope:
            return 1
        size = self.sizes.of(scope)
        return None if size is None else min(width_of(context, size), level.most_of_one)

    def _check_streams(self, context: Context, flow: Flow) -> None:
        if self.streams.is_full(context.user.name):
            raise self.rejected(flow, "concurrency-limit")

    def _find(self, context: Context) -> Flow:
        """The flow of a request, by what is remembered of others like it."""
        user, (verb, path, is_resource, group, _, namespace, resource, _, subresource, _, _) = (
            context.user,
            context.info,
        )
        key = (user.name, tuple(user.groups), verb, group, resource, subresource, namespace if is_resource else path)
        found = self._flows.get(key)
        if found is None:
            found = self._flow(context)
            if len(self._flows) >= _REMEMBERED:
                self._flows.clear()
            self._flows[key] = found
        return found

    def _flow(self, context: Context) -> Flow:
        user, info = context.user, context.info
        schema = next((schema for schema in self._schemas if schema.matches(user, info)), self._schemas[-1])
        return self._named(schema, schema.distinguisher(user, info), info.verb in _READS)

    def _named(self, schema: FlowSchema, distinguisher: str, reads: bool) -> Flow:
        name = (schema.name, schema.level, distinguisher, reads)
        found = self._by_name.get(name)
        if found is None:
            if len(self._by_name) >= _REMEMBERED:
                self._by_name.clear()
            pool = self.pools[READ_ONLY if reads else MUTATING]
            tally = self.tallies.setdefault((schema.level, schema.name), Tally(schema.level, schema.name))
            headers = ((_SCHEMA_HEADER, schema.uid), (_LEVEL_HEADER, self._level_uids.get(schema.level, "")))
            owner = f"{schema.name}/{distinguisher}"
            # Reads and writes of one user are charged to the same account.
            other = self._by_name.get((schema.name, schema.level, distinguisher, not reads))
            account = other.account if other is not None else Account()
            level = pool.levels.get(schema.level)
            found = self._by_name[name] = Flow(pool, level, tally, owner, headers, account, _UNKNOWN)
        return found

    async def _read(self) -> None:
        """Takes over what the FlowSchemas and levels say now. Two of each are there even if somebody deleted them."""
        stored_schemas, stored_levels = await self._schema_view.current(), await self._level_view.current()
        self._stale = False
        levels = {tree["metadata"]["name"]: tree for tree in (*bootstrap_objects.levels()[:2], *stored_levels.values())}
        specs = {name: tree.get("spec") or {} for name, tree in levels.items()}
        limited = {name: spec.get("limited") or {} for name, spec in specs.items() if spec.get("type") == "Limited"}
        self._shares = {name: self._shares.get(name) or Share() for name in limited}
        for pool in self.pools.values():
            pool.share_out(limited, self._shares)
        self._level_uids = {name: tree["metadata"].get("uid", "") for name, tree in levels.items()}
        mandatory = map(flow_schema, bootstrap_objects.schemas()[:2])
        schemas = {schema.name: schema for schema in (*mandatory, *stored_schemas.values())}
        # One that points to a level that is not there is passed over.
        self._schemas = sorted(schema for schema in schemas.values() if schema.level in levels)
        self._flows.clear()
        self._by_name.clear()
        exempt = schemas[bootstrap_objects.EXEMPT]
        self._exempt = {reads: ExemptSeat(self, self._named(exempt, "", reads)) for reads in (True, False)}
