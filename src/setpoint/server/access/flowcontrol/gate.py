"""The gate in front of request handling: admits requests at once, queues them, or rejects them with 429.

A single event loop serves all requests, so the gate shares two resources:

* The time of the event loop. Each turn of the loop runs some tenths of a millisecond of requests. All other requests
  wait in the queue of their flow, and the next turn takes them in the order of the time that their levels and flows
  have used (`seats`). The time is measured (`metered`) and charged by an estimate until the measurement is known. A
  request with much work runs in slices and waits for its turn before each slice (`Context.pause`). A flow that has used
  less time than the waiting flows enters at once. Between two turns the loop reads new input from the connections.
* Seats: a request that waits for the store, for a webhook, or for its client to read the response holds seats until the
  response is sent, as many as the width of the request (`width`). The bytes of unsent responses are limited too
  (`unsent`).

As in kube-apiserver, FlowSchemas define the flows and their priority levels; a change applies to the next request.
Exempt requests (administrators, health probes) are counted and never wait. Streams hold a seat only until their initial
events are sent; the number of open streams has a separate limit.

With a simulated clock, only estimates are charged and no time is measured, so that simulations are deterministic.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from setpoint.objects.clock import SystemClock
from setpoint.objects.errors import TooManyRequests
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.access.flowcontrol import bootstrap_objects
from setpoint.server.access.flowcontrol.cpu_meter import Metered
from setpoint.server.access.flowcontrol.flow_control_settings import FlowControlSettings
from setpoint.server.access.flowcontrol.flowschema import FlowSchema, flow_schema
from setpoint.server.access.flowcontrol.request_seats import ExemptSeat, OccupiedSeat
from setpoint.server.access.flowcontrol.seats import Account, Flow, Level, Pool, Share, Tally, Waiter
from setpoint.server.access.flowcontrol.stream_limit import Streams
from setpoint.server.access.flowcontrol.unsent_bytes import Unsent
from setpoint.server.access.flowcontrol.width import MOST, WATCHES, Sizes, scope_of, width_of
from setpoint.server.message import Response, Stream
from setpoint.server.registry.indexes import View
from setpoint.server.registry.kinds.flowcontrol import bootstrap_configuration
from setpoint.server.request.context import Context, Services
from setpoint.server.requestinfo import is_long_running

READ_ONLY, MUTATING = "readOnly", "mutating"

_READS = frozenset(("get", "list", "watch", "head"))
_SLICED = frozenset(("list", "watch", "deletecollection"))
# Seconds of loop time: the budget of one turn; the overdraft for flows that have used less than all waiting flows; the
# estimate for a slice of a large request; the estimate for a request of an unknown flow.
_TURN = 0.0006
_OVERDRAFT = 0.001
_SLICE = 0.0003
_UNKNOWN = 0.0001
# A single active user skips the turns for requests cheaper than this. More expensive requests still take turns, because
# the next request may come from another user.
_CHEAP = 0.00025
# Seconds of loop time: to encrypt and write one byte of a response, one chunk of a response, and to notify one watch.
_BYTE, _PIECE, _TOLD = 1e-9, 30e-6, 30e-6
# Responses larger than this hold their seats until sent; smaller responses fit into the buffers of a connection.
_LARGE = 16 << 10
# Requests take turns for this long after requests of two different users arrived.
_SHARED_SECONDS = 1.0
# The number of cached classifications. A cache miss costs some microseconds.
_REMEMBERED = 4096
_WHOLE = (bytes, list)
T = TypeVar("T")
_SCHEMA_HEADER, _LEVEL_HEADER = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"


class Gate:
    """The gate of one server. Call `enter` before handling a request, `wait` if `enter` returns None, and `release`
    afterwards."""

    def __init__(self, services: Services, settings: FlowControlSettings) -> None:
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
        views, group, version = services.views, bootstrap_configuration.GROUP, bootstrap_configuration.VERSION
        self._schema_view: View[FlowSchema] = views.of(
            group, version, bootstrap_objects.SCHEMAS, flow_schema, self._note_change
        )
        self._level_view: View[Object] = views.of(group, version, bootstrap_objects.LEVELS, dict, self._note_change)
        self._stale = True
        self._schemas: Sequence[FlowSchema] = ()
        # The seats of exempt users, by the kind of request: True for reads.
        self._exempt: Mapping[bool, ExemptSeat] | None = None
        self._level_uids: Mapping[str, str] = {}
        self._flows: dict[tuple[object, ...], Flow] = {}
        self._by_name: dict[tuple[str, str, str, bool], Flow] = {}
        self._shares: dict[str, Share] = {}
        # The virtual time of the level that was served last.
        self._now = 0.0
        # The remaining loop time of this turn.
        self._left = _TURN
        self._turning = False
        # The user of the last request; the time until which requests count as shared between users; True if only one
        # user has been active since.
        self._owner = ""
        self._shared_until = 0.0
        self._is_alone = False
        # The levels with waiting requests, and all waiting requests in order of their deadline.
        self._busy: dict[Level, None] = {}
        self._waiters: deque[Waiter] = deque()
        self._expiring: asyncio.Task[None] | None = None
        # The number of the request that started last.
        self.begun = 0
        # Tasks of writes whose watches are still being notified.
        self._notifying: set[asyncio.Task[None]] = set()

    async def prepare(self) -> None:
        """Loads the FlowSchemas and priority levels."""
        await self._read()

    def close(self) -> None:
        """Cancels all background tasks."""
        if self._expiring is not None:
            self._expiring.cancel()
        for task in self._notifying:
            task.cancel()

    def enter(self, context: Context) -> ExemptSeat | OccupiedSeat | None:
        """Returns the seat of a request that may run at once, or None if the request must `wait`. Release the seat with
        `release`."""
        user, info = context.user, context.info
        if MASTERS in user.groups and self._exempt is not None:
            # The mandatory first FlowSchema exempts all requests of this group.
            seat = self._exempt[info.verb in _READS]
            flow = seat.flow
            context.headers = flow.headers
            self._occupy(flow, 0)
            return seat
        if self._stale:
            return None
        flow = self._find(context)
        context.headers = flow.headers
        level = flow.level
        if level is None:
            self._occupy(flow, 0)
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
        # True if the flow has used less time than the waiting flows or the flow served last.
        is_behind = flow.account.virtual <= level.share.now
        if (level.waiting or level.continuing) and (flow.queue or not is_behind):
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
                self._schedule_dispatch()
        self._occupy(flow, width)
        return OccupiedSeat(self, flow, user.name, width, 0.0 if is_free else cost)

    async def wait(self, context: Context) -> ExemptSeat | OccupiedSeat:
        """Waits until the request may run and returns its seat. Raises TooManyRequests."""
        scope = scope_of(context) if context.info.verb in _SLICED else ""
        if self._stale or (scope and self.sizes.of(scope) is None):
            if self._stale:
                await self._read()
            if scope and self.sizes.of(scope) is None:
                self.sizes.record(scope, await self._services.store.count(scope), 0.0)
            seat = self.enter(context)
            if seat is not None:
                return seat
        flow = self._find(context)
        level = flow.level
        if level is None:
            self._occupy(flow, 0)
            return ExemptSeat(self, flow)
        if is_long_running(context.info):
            self._check_streams(context, flow)
        width = (self._width(context, level) or 1) if scope else 1
        await self._wait(flow, level, width)
        return OccupiedSeat(self, flow, context.user.name, width, flow.estimate)

    def measured(self, seat: ExemptSeat | OccupiedSeat, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Returns the work of a request, with its CPU time charged to the flow."""
        return Metered(work, seat.spent) if self._measures and isinstance(seat, OccupiedSeat) else work

    async def keep(self, context: Context, seat: OccupiedSeat, response: Response) -> bool:
        """Returns True if the seat is held until the connection has sent the response. Raises TooManyRequests."""
        outlet, body = context.request.outlet, response.body
        if outlet is None or response.status >= 400:
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

    def charge_watches(self, seat: OccupiedSeat, watches: int) -> bool:
        """Charges the cost of notifying many watches to a write. Returns True if the seat is held during the
        notification."""
        if watches < WATCHES:
            return False
        seconds = watches * _TOLD
        self.charge(seat.flow, seconds)
        self.widen(seat, min(-(-watches // WATCHES), MOST))
        task = asyncio.get_running_loop().create_task(self._release_after(seat, seconds))
        self._notifying.add(task)
        task.add_done_callback(self._notifying.discard)
        return True

    def finish(self, seat: ExemptSeat | OccupiedSeat) -> None:
        """Releases the seat of a completed request."""
        if isinstance(seat, ExemptSeat):
            self.release(seat.flow, 0)
        else:
            seat.release()

    async def _release_after(self, seat: OccupiedSeat, seconds: float) -> None:
        try:
            await self._clock.sleep(seconds)
        finally:
            seat.release()

    def _note_change(self, _key: str, _made: object) -> None:
        """Marks the configuration as stale after a change of a FlowSchema or priority level."""
        self._stale = True

    def _occupy(self, flow: Flow, width: int) -> None:
        pool, level, tally = flow.pool, flow.level, flow.tally
        pool.executing += 1
        tally.executing += 1
        tally.dispatched += 1
        if level is not None:
            pool.seated += width
            level.executing += width
            flow.executing += width
            tally.seats += width

    def widen(self, seat: OccupiedSeat, width: int) -> None:
        """Gives a request more seats than estimated, even if none are free."""
        flow, level = seat.flow, seat.flow.level
        if level is not None:
            more = min(width, level.most_of_one) - seat.width
            if more > 0:
                seat.width += more
                flow.pool.seated += more
                level.executing += more
                flow.executing += more
                flow.tally.seats += more

    def release(self, flow: Flow, width: int) -> None:
        """Releases the seats of a request whose response is sent, and dispatches waiting requests."""
        pool, level = flow.pool, flow.level
        pool.executing -= 1
        flow.tally.executing -= 1
        if level is not None:
            pool.seated -= width
            level.executing -= width
            flow.executing -= width
            flow.tally.seats -= width
            if self._busy:
                self._dispatch()

    def streamed(self, context: Context, response: Response, stream: Stream) -> Response:
        """Returns a streaming response that is counted while open."""
        return response._replace(body=self.streams.counted(context.user.name, stream))

    # The loop's time

    def _pay(self, flow: Flow, level: Level, cost: float) -> None:
        """Charges the estimated cost of a request."""
        account, share = flow.account, level.share
        self._left -= cost
        account.virtual = max(account.virtual, share.now) + cost
        share.virtual = max(share.virtual, self._now) + cost / share.weight

    def charge(self, flow: Flow, seconds: float) -> None:
        """Charges the difference between the measured and the estimated time, which may be negative."""
        level = flow.level
        if level is not None:
            self._left -= seconds
            flow.account.virtual += seconds
            level.share.virtual += seconds / level.share.weight

    async def pause(self, seat: OccupiedSeat, size: int = 0) -> None:
        """Waits for the next turn of a running request: to continue with a slice of its work, or to send `size`
        bytes."""
        flow, level = seat.flow, seat.flow.level
        if level is None:
            return
        cost = _PIECE + size * _BYTE if size else _SLICE
        waiter = Waiter(flow, asyncio.get_running_loop().create_future(), seat.number, 0, cost)
        level.enqueue_continuing(waiter)
        self._busy[level] = None
        self._dispatch()
        try:
            await waiter.seated
        except asyncio.CancelledError:
            level.remove(waiter)
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
        # A seat may be free for this flow even if the earlier waiting requests find none.
        self._dispatch()
        try:
            seated = await waiter.seated
        except asyncio.CancelledError:
            if waiter.seated.cancelled():
                level.remove(waiter)
                flow.tally.reject("cancelled")
            elif waiter.seated.result():
                self.release(flow, width)
            raise
        if not seated:
            raise self.rejected(flow, "time-out")

    def rejected(self, flow: Flow, reason: str) -> TooManyRequests:
        """Counts a rejected request and returns the error."""
        flow.tally.reject(reason)
        return TooManyRequests.of()

    async def _expire(self) -> None:
        """Rejects requests whose waiting time has expired. All wait equally long, so requests expire in order of
        arrival."""
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
                    waiter.flow.level.remove(waiter)
                waiter.seated.set_result(False)
        finally:
            if self._expiring is asyncio.current_task():
                self._expiring = None

    def _schedule_dispatch(self) -> None:
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._dispatch_turn)

    def _dispatch_turn(self) -> None:
        """Starts a new turn of the loop and dispatches waiting requests."""
        self._turning = False
        self._is_alone = self._clock.monotonic() > self._shared_until
        # An overrun is deducted from the next turn, but at most half of that turn, so that requests never wait for many
        # turns.
        self._left = _TURN if self._left >= -_TURN else _TURN / 2
        if self._busy:
            self._dispatch()

    def _dispatch(self) -> None:
        """Resumes waiting requests while loop time is left, starting with the level that has used the least time."""
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
                self._occupy(flow, waiter.width)
            waiter.seated.set_result(True)
        if self._left <= 0:
            self._schedule_dispatch()
        while self._waiters and self._waiters[0].seated.done():
            self._waiters.popleft()
        if not self._waiters and self._expiring is not None:
            self._expiring.cancel()
            self._expiring = None

    def _next(self) -> Waiter | None:
        """Removes the next request from its queue. The reads and writes of a level share its time: the flow that has
        used less goes first, and reads and writes of one flow alternate."""
        found: Waiter | None = None
        best = (0.0, 0.0, 0)
        for level in tuple(self._busy):
            if not (level.waiting or level.continuing):
                del self._busy[level]
            elif (waiter := level.first()) is not None:
                order = (level.share.virtual, waiter.flow.account.virtual, level.served)
                if found is None or order < best:
                    found, best = waiter, order
        if found is not None and found.flow.level is not None:
            found.flow.level.dequeue(found)
        return found

    # Classifying

    def _width(self, context: Context, level: Level) -> int | None:
        """Returns the number of seats that a request needs, or None if the size of the collection is not known yet."""
        scope = scope_of(context)
        if not scope:
            return 1
        size = self.sizes.of(scope)
        return None if size is None else min(width_of(context, size), level.most_of_one)

    def _check_streams(self, context: Context, flow: Flow) -> None:
        if self.streams.is_full(context.user.name):
            raise self.rejected(flow, "concurrency-limit")

    def _find(self, context: Context) -> Flow:
        """Returns the flow of a request, cached by the attributes that determine the flow."""
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
        """Loads the current FlowSchemas and levels. The mandatory ones apply even if deleted."""
        stored_schemas, stored_levels = await self._schema_view.current(), await self._level_view.current()
        self._stale = False
        mandatory_levels, mandatory_schemas = _mandatory()
        levels = {tree["metadata"]["name"]: tree for tree in (*mandatory_levels, *stored_levels.values())}
        specs = {name: tree.get("spec") or {} for name, tree in levels.items()}
        limited = {name: spec.get("limited") or {} for name, spec in specs.items() if spec.get("type") == "Limited"}
        self._shares = {name: self._shares.get(name) or Share() for name in limited}
        for pool in self.pools.values():
            pool.share_out(limited, self._shares)
        self._level_uids = {name: tree["metadata"].get("uid", "") for name, tree in levels.items()}
        schemas = {schema.name: schema for schema in (*mandatory_schemas, *stored_schemas.values())}
        # FlowSchemas that refer to a missing level are ignored.
        self._schemas = sorted(schema for schema in schemas.values() if schema.level in levels)
        self._flows.clear()
        self._by_name.clear()
        exempt = schemas[bootstrap_configuration.EXEMPT]
        self._exempt = {reads: ExemptSeat(self, self._named(exempt, "", reads)) for reads in (True, False)}


@cache
def _mandatory() -> tuple[Sequence[Object], Sequence[FlowSchema]]:
    """Returns the mandatory levels and FlowSchemas, which are the same in each server of a process."""
    return bootstrap_configuration.levels()[:2], [flow_schema(tree) for tree in bootstrap_configuration.schemas()[:2]]
