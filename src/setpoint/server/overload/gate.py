"""The gate before the pipeline's work: who goes in at once, who waits, and who is told to come back later.

What overload is here. One event loop does everything, and most requests finish without ever waiting for something: so
many of them cannot be in flight, however many clients there are. What piles up is one of three things:

* Requests that are ready to run. They stand in the loop's own queue, which is served in the order of arrival: a client
  with a thousand connections gets a thousand times the share of a client with one. So only some requests go in at once
  in one turn of the loop, a few milliseconds of work; all others wait in the queue of their flow, and the next turn
  takes from these queues one after the other. Between two turns the loop reads what has come in meanwhile. Who is
  alone has nobody to take turns with, and is let in as it comes.
* Requests that wait for the store, which writes to a disk or asks etcd.
* Requests that wait for a webhook, for seconds. Both of these hold a seat (`seats`) as long as they last.

FlowSchemas say what a flow is and which level's seats it takes, as on the real server; a change of them counts for the
very next request. Who is exempt (administrators, probes of health) is counted and never waits. Streams hold a seat only
until they begin: how many are open at once has a bound of its own.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

from setpoint.objects.errors import TooManyRequests
from setpoint.objects.tree import Object
from setpoint.server.authorization.authorizer import MASTERS
from setpoint.server.context import Context, Services
from setpoint.server.exchange import Response, Stream
from setpoint.server.overload import objects
from setpoint.server.overload.flowschema import FlowSchema, flow_schema
from setpoint.server.overload.seats import Flow, Level, Pool, Tally, Waiter
from setpoint.server.overload.settings import Overload
from setpoint.server.overload.streams import Streams
from setpoint.server.timeouts import is_long_running
from setpoint.server.views import View

READ_ONLY, MUTATING = "readOnly", "mutating"

_READS = frozenset(("get", "list", "watch", "head"))
# How long one turn of the loop should take, in seconds, and how many requests go in during one.
_TURN_SECONDS = 0.002
_LEAST, _FIRST, _MOST = 1, 8, 16
# For how long after the requests of two users have met they take turns. Who has been alone since need not.
_SHARED_SECONDS = 1.0
# Flows that are remembered by what a request says. A request of another sort takes some microseconds more.
_REMEMBERED = 4096
_SCHEMA_HEADER, _LEVEL_HEADER = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"


class Gate:
    """The gate of one server. `enter` before a request's work, `wait` where that says so, `leave` after it."""

    def __init__(self, services: Services, settings: Overload) -> None:
        self._services = services
        self._settings = settings
        self._clock = services.clock
        self.pools = {
            READ_ONLY: Pool(READ_ONLY, settings.max_requests_inflight),
            MUTATING: Pool(MUTATING, settings.max_mutating_requests_inflight),
        }
        self.tallies: dict[tuple[str, str], Tally] = {}
        self.streams = Streams(settings.max_long_running)
        views, group, version = services.views, objects.GROUP, objects.VERSION
        self._schema_view: View[FlowSchema] = views.of(group, version, objects.SCHEMAS, flow_schema, self._note_change)
        self._level_view: View[Object] = views.of(group, version, objects.LEVELS, dict, self._note_change)
        self._stale = True
        self._schemas: Sequence[FlowSchema] = ()
        # The flows of those who are always exempt, by whether they read.
        self._exempt: Mapping[bool, Flow] | None = None
        self._level_uids: Mapping[str, str] = {}
        self._flows: dict[tuple[object, ...], Flow] = {}
        self._by_name: dict[tuple[str, str, str, bool], Flow] = {}
        # This turn of the loop: how many may still go in, of how many; when it began, and whether some had to wait.
        self._most = self._left = _FIRST
        self._turning = False
        self._turn_began = 0.0
        self._was_contended = False
        # Whose request came last; until when requests of several count as shared; whether one alone has come since.
        self._owner = ""
        self._shared_until = 0.0
        self._is_alone = False
        # The levels with queues, and all who wait in the order in which their time runs out.
        self._busy: dict[Level, None] = {}
        self._waiters: deque[Waiter] = deque()
        self._expiring: asyncio.Task[None] | None = None

    async def prepare(self) -> None:
        """Has the FlowSchemas at hand."""
        await self._read()

    def close(self) -> None:
        """Looks after nobody any more."""
        if self._expiring is not None:
            self._expiring.cancel()

    def enter(self, context: Context) -> Flow | None:
        """The flow of a request that may be served at once, to `leave` afterwards. None: it has to `wait`."""
        user, info = context.user, context.info
        if MASTERS in user.groups and self._exempt is not None:
            # What nothing else can be said of: the first FlowSchema is about all they do.
            flow = self._exempt[info.verb in _READS]
            context.headers = flow.headers
            flow.pool.executing += 1
            tally = flow.tally
            tally.executing += 1
            tally.dispatched += 1
            return flow
        if self._stale:
            return None
        found = self._find(context)
        context.headers = found.headers
        level = found.level
        if level is not None:
            if found.owner != self._owner:
                self._owner, self._is_alone = found.owner, False
                self._shared_until = self._clock.monotonic() + _SHARED_SECONDS
            if (
                not (self._is_alone or self._left > 0)
                or level.waiting
                or found.executing >= level.most_of_one
                or not (level.executing < level.nominal or level.has_seat)
            ):
                return None
            if (info.verb == "watch" or info.subresource) and is_long_running(info):
                self._check_streams(context, found)
            if not self._is_alone:
                self._left -= 1
                if not self._left:
                    self._next_turn()
        self._take_seat(found)
        return found

    async def wait(self, context: Context) -> Flow:
        """Returns when the request may be served. Raises TooManyRequests."""
        if self._stale:
            await self._read()
            flow = self.enter(context)
            if flow is not None:
                return flow
        flow = self._find(context)
        if flow.level is not None:
            if is_long_running(context.info):
                self._check_streams(context, flow)
            await self._wait(flow, flow.level)
        else:
            self._take_seat(flow)
        return flow

    def _note_change(self, _key: str, _made: object) -> None:
        """Somebody changed a FlowSchema or a level."""
        self._stale = True

    def _take_seat(self, flow: Flow) -> None:
        pool, level, tally = flow.pool, flow.level, flow.tally
        pool.executing += 1
        tally.executing += 1
        tally.dispatched += 1
        if level is not None:
            pool.seated += 1
            level.executing += 1
            flow.executing += 1

    def leave(self, flow: Flow) -> None:
        """The request was answered."""
        pool, level = flow.pool, flow.level
        pool.executing -= 1
        flow.tally.executing -= 1
        if level is not None:
            pool.seated -= 1
            level.executing -= 1
            flow.executing -= 1
            if self._busy:
                self._dispatch()

    def streamed(self, context: Context, response: Response, stream: Stream) -> Response:
        """An answer that is a stream, counted while it is open."""
        return response._replace(body=self.streams.counted(context.user.name, stream))

    # Waiting

    async def _wait(self, flow: Flow, level: Level) -> None:
        if level.is_full_for(flow):
            raise self._rejected(flow, "queue-full" if level.capacity > level.most else "concurrency-limit")
        loop = asyncio.get_running_loop()
        waiter = Waiter(flow, loop.create_future(), self._clock.monotonic() + self._settings.wait_seconds)
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
                self.leave(flow)
            raise
        if not seated:
            raise self._rejected(flow, "time-out")

    def _rejected(self, flow: Flow, reason: str) -> TooManyRequests:
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
            self._expiring = None

    def _next_turn(self) -> None:
        if not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """The loop has gone round: others may go in."""
        self._turning = False
        now = self._clock.monotonic()
        if self._was_contended:
            took = now - self._turn_began
            if took > _TURN_SECONDS:
                self._most = max(_LEAST, self._most // 2)
            elif took < _TURN_SECONDS / 2:
                self._most = min(_MOST, self._most * 2)
        self._turn_began = now
        self._is_alone = now > self._shared_until
        self._left = self._most
        if self._busy:
            self._dispatch()
        self._was_contended = bool(self._busy)

    def _dispatch(self) -> None:
        """Gives seats to those whose turn it is: one for each level, and again."""
        found = True
        while found and self._left > 0:
            found = False
            for level in tuple(self._busy):
                if not level.waiting:
                    del self._busy[level]
                elif self._left > 0 and (waiter := level.next()) is not None:
                    found = True
                    self._left -= 1
                    self._take_seat(waiter.flow)
                    waiter.seated.set_result(True)
        if self._left <= 0:
            self._next_turn()
        while self._waiters and self._waiters[0].seated.done():
            self._waiters.popleft()

    # Classifying

    def _check_streams(self, context: Context, flow: Flow) -> None:
        if self.streams.is_full(context.user.name):
            raise self._rejected(flow, "concurrency-limit")

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
            found = self._by_name[name] = Flow(pool, pool.levels.get(schema.level), tally, owner, headers)
        return found

    async def _read(self) -> None:
        """Takes over what the FlowSchemas and levels say now. Two of each are there even if somebody deleted them."""
        stored_schemas, stored_levels = await self._schema_view.current(), await self._level_view.current()
        self._stale = False
        levels = {tree["metadata"]["name"]: tree for tree in (*objects.levels()[:2], *stored_levels.values())}
        specs = {name: tree.get("spec") or {} for name, tree in levels.items()}
        limited = {name: spec.get("limited") or {} for name, spec in specs.items() if spec.get("type") == "Limited"}
        for pool in self.pools.values():
            pool.share_out(limited)
        self._level_uids = {name: tree["metadata"].get("uid", "") for name, tree in levels.items()}
        mandatory = map(flow_schema, objects.schemas()[:2])
        schemas = {schema.name: schema for schema in (*mandatory, *stored_schemas.values())}
        # One that points to a level that is not there is passed over.
        self._schemas = sorted(schema for schema in schemas.values() if schema.level in levels)
        self._flows.clear()
        self._by_name.clear()
        exempt = schemas[objects.EXEMPT]
        self._exempt = {reads: self._named(exempt, "", reads) for reads in (True, False)}
