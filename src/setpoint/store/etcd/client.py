"""A thin etcd client over gRPC: several endpoints with failover, TLS, a login that renews itself, deadlines.

aetcd provides the generated stubs; its own client supports one endpoint without TLS, logs in once and does not resume,
so this module makes the calls. A call goes to one endpoint until that fails, then to the next, with a growing pause
after each round, and as long as etcd has a quorum.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc
from aetcd.rpc import rpc_pb2 as pb
from aetcd.rpc.rpc_pb2_grpc import AuthStub, ClusterStub, KVStub, LeaseStub, MaintenanceStub, WatchStub
from grpc.aio import AioRpcError

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.store.contract import Closed, StoreError
from setpoint.store.etcd.config import EtcdConfig
from setpoint.store.etcd.failures import Kind, kind_of, refusal, unreachable
from setpoint.store.etcd.quorum import Quorum
from setpoint.store.etcd.small_calls import CallFailed, CallTimedOut, SmallCalls
from setpoint.store.etcd.wire import Message

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
_DEFRAGMENT_TIMEOUT = 600.0  # seconds; etcd rewrites its whole database
_NO_QUORUM, _NO_ANSWER = "no member answers a read that needs a quorum", "the member does not answer"
_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # this module decides which calls may be repeated
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 5_000),  # despite the name, the time limit of one connection attempt
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A peer that vanished without closing the connection is noticed within these two (etcd allows a ping every 5 s).
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.use_local_subchannel_pool", 1),  # no state shared with other channels of the process
]


class ResponseLost(Exception):
    """A call failed, and etcd may have applied the request or not. Never leaves this package."""

    def __init__(self, cause: AioRpcError) -> None:
        super().__init__(cause.details())
        self.cause = cause


class OutOfRange(Exception):
    """The requested revision is compacted, or does not exist yet. Never leaves this package."""

    def __init__(self, compacted: bool) -> None:
        super().__init__()
        self.compacted = compacted


class Pauses:
    """Growing pauses with jitter, by the injected clock."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._pause = FIRST_PAUSE

    async def wait(self) -> None:
        await self._clock.sleep(self._pause * (0.5 + self._ids.random() / 2))
        self._pause = min(LONGEST_PAUSE, self._pause * 2)


class _Member:
    """One endpoint: its channel and stubs."""

    def __init__(self, address: str, config: EtcdConfig, position: int = 0) -> None:
        self.address = address
        # The position among the configured endpoints.
        self.position = position
        options = list(_OPTIONS)
        if config.tls is None:
            self.channel: Any = grpc.aio.insecure_channel(address, options=options)
        else:
            tls = config.tls
            if tls.server_name:
                options.append(("grpc.ssl_target_name_override", tls.server_name))
            credentials = grpc.ssl_channel_credentials(tls.ca, tls.key, tls.certificate)
            self.channel = grpc.aio.secure_channel(address, credentials, options=options)
        kv, lease = KVStub(self.channel), LeaseStub(self.channel)
        self.txn = kv.Txn
        self.range = kv.Range
        self.small_txns = SmallCalls(address, "/etcdserverpb.KV/Txn", config)
        self.compact = kv.Compact
        self.grant = lease.LeaseGrant
        self.authenticate = AuthStub(self.channel).Authenticate
        self.watch = WatchStub(self.channel).Watch
        self.members = ClusterStub(self.channel).MemberList
        self.defragment = MaintenanceStub(self.channel).Defragment


class WatchStream:
    """One open etcd watch. The stream ends with an error; the reader then opens another one at its position."""

    def __init__(self, call: Any, client: "EtcdClient", member: _Member, token: str | None) -> None:
        self._call = call
        self._client = client
        self._member = member
        self._token = token
        self._is_dropped = False

    @property
    def member(self) -> int:
        """The position of the member that sends the events."""
        return self._member.position

    async def send(self, request: Message) -> None:
        try:
            with self._client.closing():
                await self._call.write(request)
        except grpc.aio.UsageError as error:  # the stream ended before the request was written
            self.close()
            raise ResponseLost(_failure(grpc.StatusCode.UNAVAILABLE, str(error))) from error
        except BaseException:
            self.close()
            raise

    async def read(self) -> Message:
        """Returns the next response. Raises ResponseLost when the stream has ended."""
        try:
            with self._client.closing():
                response = await self._call.read()
        except AioRpcError as error:
            self._client.note(self._member, self._token, error)
            raise ResponseLost(error) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._is_dropped or task is None or task.cancelling():
                raise
            silent = _failure(grpc.StatusCode.UNAVAILABLE, _NO_ANSWER)
            self._client.note(self._member, self._token, silent)
            raise ResponseLost(silent) from None
        if response is grpc.aio.EOF:
            ended = _failure(await self._call.code(), await self._call.details())
            self._client.note(self._member, self._token, ended)
            raise ResponseLost(ended)
        return response

    def drop(self) -> None:
        """Makes the reader open another stream, because the member does not answer."""
        self._is_dropped = True
        self._call.cancel()

    def close(self) -> None:
        self._call.cancel()
        self._client.streams.discard(self)


class EtcdClient:
    """Calls to one cluster. Belongs to the event loop that created the client."""

    def __init__(self, config: EtcdConfig, clock: Clock, ids: Ids) -> None:
        self.config = config
        self.where = ", ".join(config.endpoints)
        self.streams: set[WatchStream] = set()
        self._clock = clock
        self._ids = ids
        self._members = [_Member(address, config, place) for place, address in enumerate(config.endpoints)]
        self._current = 0
        self._token: str | None = None
        self._logging_in = asyncio.Lock()
        self._closed = False
        self.quorum = Quorum(self._probes, self._drop_streams, config.outage, clock)

    def deadline(self) -> float:
        """Returns the monotonic time, in seconds, at which an operation that begins now times out."""
        return self._clock.monotonic() + self.config.patience

    def pauses(self) -> Pauses:
        return Pauses(self._clock, self._ids)

    async def txn(self, request: Message, *, once: bool, deadline: float | None = None) -> Message:
        """Runs a transaction. If etcd may have applied a failed request, raises ResponseLost with `once`, and otherwise
        retries."""
        return await self._call(lambda member: member.txn, request, once=once, deadline=deadline)

    async def small_read(self, request: Message) -> Message:
        """Runs a transaction without writes whose response is small. Costs less than `txn`, which answers if this
        fails."""
        self._check_open()
        member = self._members[self._current]
        if self.quorum.is_lost or (self._token is None and self.config.user is not None):
            return await self.txn(request, once=False)
        try:
            return pb.TxnResponse.FromString(await member.small_txns.call(request.SerializeToString(), self._token))
        except CallTimedOut as error:
            if not await self.quorum.check():
                raise self._without_quorum() from error
        except CallFailed:
            pass
        return await self.txn(request, once=False)

    async def compact(self, revision: int, *, physical: bool = False) -> None:
        """Compacts etcd, with `physical` until the entries are removed from its database. Raises OutOfRange if the
        revision is compacted already or does not exist yet."""
        await self._call(lambda member: member.compact, pb.CompactionRequest(revision=revision, physical=physical))

    async def defragment(self) -> None:
        """Rewrites the database of every member, one member after the other: each is blocked meanwhile. Raises
        StoreError if a member could not be reached; the members before that one are done."""
        listed = (await self._call(lambda member: member.members, pb.MemberListRequest())).members
        known = {member.address: member for member in self._members}
        members = list(known.values())
        if len(listed) != len(known):  # some members are not among the configured endpoints
            addresses = [each.clientURLs[0].partition("://")[2] for each in listed if each.clientURLs]
            members = [known.get(address) or _Member(address, self.config) for address in addresses]
        try:
            for member in members:
                try:
                    token = await self._login(member)
                    with self.closing():
                        await member.defragment(
                            pb.DefragmentRequest(), timeout=_DEFRAGMENT_TIMEOUT, metadata=_metadata(token)
                        )
                except AioRpcError as error:
                    raise StoreError(
                        f"the past was compacted, but the etcd member {member.address} was not defragmented, and its "
                        f"file may still hold purged values: {error.details()}; run etcdctl defrag for it"
                    ) from error
        finally:
            for member in members:
                if member not in self._members:
                    await member.channel.close(0)

    async def grant(self, ttl: int) -> int:
        """Creates a lease that expires after `ttl` seconds, and returns its id."""
        response = await self._call(lambda member: member.grant, pb.LeaseGrantRequest(TTL=ttl))
        return int(response.ID)

    async def watch(self, start: bytes, end: bytes, revision: int) -> WatchStream:
        """Watches a range of keys from a revision on. Raises ResponseLost if the endpoint fails; the next call uses
        another."""
        self._check_open()
        member, token = self._members[self._current], None
        create = pb.WatchCreateRequest(
            key=start, range_end=end, start_revision=revision, prev_kv=True, progress_notify=True, fragment=True
        )
        try:
            token = await self._login(member)
            # A member that lost its leader ends the stream instead of staying silent.
            stream = WatchStream(member.watch(metadata=(*_metadata(token), ("hasleader", "true"))), self, member, token)
            self.streams.add(stream)
            await stream.send(pb.WatchRequest(create_request=create))
        except AioRpcError as error:
            self.note(member, token, error)
            raise ResponseLost(error) from error
        return stream

    def note(self, member: _Member, token: str | None, error: AioRpcError) -> None:
        """Reacts to a failure: selects another endpoint or drops the login. Raises StoreError if no retry helps."""
        kind = kind_of(error)
        if kind is Kind.STALE_LOGIN:
            if token == self._token:
                self._token = None
        elif kind is Kind.REFUSED:
            raise refusal(member.address, error)
        elif self._members[self._current] is member:
            self._current = (self._current + 1) % len(self._members)

    def watch_refused(self, reason: str, again: bool) -> None:
        """Handles a watch that etcd cancelled. etcd reports "permission denied" also for an expired login, so the login
        is renewed once; a second refusal is raised."""
        if "permission denied" in reason and (again or self.config.user is None):
            raise refusal(self.where, _failure(grpc.StatusCode.PERMISSION_DENIED, reason))
        self._token = None

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Raises Closed for a call that ended because this client was closed. Both that and a cancelled task appear as
        CancelledError."""
        try:
            yield
        except grpc.aio.UsageError:
            self._check_open()  # raised by gRPC for a closed channel
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise Closed("the store is closed") from None
            raise

    async def close(self) -> None:
        """Ends all watches, and waits up to the request timeout for the running calls."""
        self._closed = True
        await self.quorum.close()
        for stream in list(self.streams):
            stream.close()
        for member in self._members:
            member.small_txns.close()
        await asyncio.gather(*(member.channel.close(self.config.request_timeout) for member in self._members))

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the store is closed")

    async def _call(
        self,
        method: Callable[[_Member], Callable[..., Awaitable[Message]]],
        request: Message,
        *,
        once: bool = False,
        deadline: float | None = None,
    ) -> Message:
        if deadline is None:
            deadline = self.deadline()
        pauses, attempts = self.pauses(), 0
        while True:
            self._check_open()
            if self.quorum.is_lost:
                # Bounds the rate of callers that try again at once.
                await self._clock.sleep(FIRST_PAUSE)
                raise self._without_quorum()
            member, token = self._members[self._current], None
            try:
                token = await self._login(member)
                return await self._answer(member, method(member), request, token)
            except AioRpcError as error:
                kind = kind_of(error)
                if kind in (Kind.COMPACTED, Kind.FUTURE):
                    raise OutOfRange(kind is Kind.COMPACTED) from error
                self.note(member, token, error)
                if once and kind is Kind.LOST:
                    raise ResponseLost(error) from error
                attempts += 1
                if attempts % len(self._members) == 0:
                    if self._clock.monotonic() >= deadline or not await self.quorum.check():
                        raise unreachable(self.where, error) from error
                    await pauses.wait()

    async def _answer(
        self, member: _Member, method: Callable[..., Any], request: Message, token: str | None
    ) -> Message:
        """Calls a method of a member and returns the answer. Raises AioRpcError, also for a call that was ended because
        the member does not answer."""
        call = method(request, timeout=self.config.request_timeout, metadata=_metadata(token))
        is_ended = False
        self.quorum.begin(call, member.position)
        try:
            with self.closing():
                try:
                    answer = await call
                finally:
                    is_ended = self.quorum.end(call)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if is_ended and task is not None and not task.cancelling():
                text = _NO_QUORUM if self.quorum.is_lost else _NO_ANSWER
                raise _failure(grpc.StatusCode.UNAVAILABLE, text) from None
            raise
        self.quorum.answered()
        return answer

    def _drop_streams(self, silent: frozenset[int]) -> None:
        for stream in [each for each in self.streams if each.member in silent]:
            stream.drop()

    def _without_quorum(self) -> StoreError:
        return unreachable(self.where, _failure(grpc.StatusCode.UNAVAILABLE, _NO_QUORUM))

    def _probes(self, seconds: float) -> Sequence[Awaitable[bool]]:
        return [self._probe(member, seconds) for member in self._members]

    async def _probe(self, member: _Member, seconds: float) -> bool:
        """Reads a key that always exists, linearizably. Returns True if etcd answered, also with a refusal."""
        request = pb.RangeRequest(key=f"{self.config.root}/epoch".encode(), count_only=True)
        try:
            await member.range(request, timeout=seconds, metadata=_metadata(self._token))
        except AioRpcError as error:
            return kind_of(error) not in (Kind.UNSENT, Kind.LOST)
        except grpc.aio.UsageError:  # the client is closed
            return False
        return True

    async def _login(self, member: _Member) -> str | None:
        """Returns the login token, or None without a user. Every member accepts the token until its expiry."""
        if self.config.user is None:
            return None
        async with self._logging_in:
            if self._token is None:
                request = pb.AuthenticateRequest(name=self.config.user, password=self.config.password or "")
                self._token = (await self._answer(member, member.authenticate, request, None)).token
            return self._token


def _metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("token", token),)


def _failure(code: grpc.StatusCode, details: str) -> AioRpcError:
    return AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)
