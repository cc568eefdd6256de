"""A thin etcd client over gRPC: several endpoints with failover, TLS, a login that renews itself, deadlines.

aetcd brings the generated stubs; its own client knows one endpoint, no TLS, logs in once and does not resume, so the
calls are made here. A call goes to one endpoint until that fails, then to the next, with a growing pause after each
round.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
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
from setpoint.store.etcd.wire import Message

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
_DEFRAGMENT_TIMEOUT = 600.0  # seconds; it takes as long as writing the database anew
_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),  # what may be repeated is decided here
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 5_000),  # in spite of its name, how long one attempt to connect may take
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A peer that vanished without a word is noticed within these two (etcd allows a ping every 5 s).
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.use_local_subchannel_pool", 1),  # no state shared with other channels of the process
]


class Lost(Exception):
    """A call failed after it may have been done. Never leaves this package."""

    def __init__(self, cause: AioRpcError) -> None:
        super().__init__(cause.details())
        self.cause = cause


class OutOfRange(Exception):
    """The revision asked for is compacted, or not yet there. Never leaves this package."""

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

    def __init__(self, address: str, config: EtcdConfig) -> None:
        self.address = address
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
        self.compact = kv.Compact
        self.grant = lease.LeaseGrant
        self.authenticate = AuthStub(self.channel).Authenticate
        self.watch = WatchStub(self.channel).Watch
        self.members = ClusterStub(self.channel).MemberList
        self.defragment = MaintenanceStub(self.channel).Defragment


class WatchStream:
    """One open etcd watch. It ends with an error; whoever reads it opens another one and goes on from where it was."""

    def __init__(self, call: Any, client: "EtcdClient", member: _Member, token: str | None) -> None:
        self._call = call
        self._client = client
        self._member = member
        self._token = token

    async def ask(self, request: Message) -> None:
        try:
            with self._client.closing():
                await self._call.write(request)
        except grpc.aio.UsageError as error:  # the stream ended before the request was written
            self.close()
            raise Lost(_failure(grpc.StatusCode.UNAVAILABLE, str(error))) from error
        except BaseException:
            self.close()
            raise

    async def read(self) -> Message:
        """The next response. Raises Lost when the stream is gone."""
        try:
            with self._client.closing():
                response = await self._call.read()
        except AioRpcError as error:
            self._client.note(self._member, self._token, error)
            raise Lost(error) from error
        if response is grpc.aio.EOF:
            ended = _failure(await self._call.code(), await self._call.details())
            self._client.note(self._member, self._token, ended)
            raise Lost(ended)
        return response

    def close(self) -> None:
        self._call.cancel()
        self._client.streams.discard(self)


class EtcdClient:
    """Calls to one cluster. Belongs to the event loop it was made in."""

    def __init__(self, config: EtcdConfig, clock: Clock, ids: Ids) -> None:
        self.config = config
        self.where = ", ".join(config.endpoints)
        self.streams: set[WatchStream] = set()
        self._clock = clock
        self._ids = ids
        self._members = [_Member(address, config) for address in config.endpoints]
        self._current = 0
        self._token: str | None = None
        self._logging_in = asyncio.Lock()
        self._closed = False

    def deadline(self) -> float:
        """The moment, in monotonic seconds, at which an operation that begins now has lost its patience."""
        return self._clock.monotonic() + self.config.patience

    def pauses(self) -> Pauses:
        return Pauses(self._clock, self._ids)

    async def txn(self, request: Message, *, once: bool, deadline: float | None = None) -> Message:
        """A transaction. With `once` it raises Lost when it may have been done; otherwise it is repeated then."""
        return await self._call(lambda member: member.txn, request, once=once, deadline=deadline)

    async def compact(self, revision: int, *, physical: bool = False) -> None:
        """Compacts etcd, with `physical` until the entries are removed from its database. Raises OutOfRange if it was
        already, or if there is no such revision yet."""
        await self._call(lambda member: member.compact, pb.CompactionRequest(revision=revision, physical=physical))

    async def defragment(self) -> None:
        """Writes the database of every member anew, one member after the other: each is blocked meanwhile. Raises
        StoreError if a member could not be reached; those before it are done."""
        listed = (await self._call(lambda member: member.members, pb.MemberListRequest())).members
        known = {member.address: member for member in self._members}
        members = list(known.values())
        if len(listed) != len(known):  # not every member is among our endpoints
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
        """A new lease that ends after so many seconds."""
        response = await self._call(lambda member: member.grant, pb.LeaseGrantRequest(TTL=ttl))
        return int(response.ID)

    async def watch(self, start: bytes, end: bytes, revision: int) -> WatchStream:
        """Follows a range of keys from a revision on. Raises Lost when the endpoint is gone; the next call takes
        another one."""
        self._check_open()
        member, token = self._members[self._current], None
        create = pb.WatchCreateRequest(
            key=start, range_end=end, start_revision=revision, prev_kv=True, progress_notify=True, fragment=True
        )
        try:
            token = await self._login(member)
            # A member that lost its leader ends the stream instead of letting it go silent.
            stream = WatchStream(member.watch(metadata=(*_metadata(token), ("hasleader", "true"))), self, member, token)
            self.streams.add(stream)
            await stream.ask(pb.WatchRequest(create_request=create))
        except AioRpcError as error:
            self.note(member, token, error)
            raise Lost(error) from error
        return stream

    def note(self, member: _Member, token: str | None, error: AioRpcError) -> None:
        """Draws the lesson of a failure: another endpoint, another login. Raises StoreError if nothing can help."""
        kind = kind_of(error)
        if kind is Kind.STALE_LOGIN:
            if token == self._token:
                self._token = None
        elif kind is Kind.REFUSED:
            raise refusal(member.address, error)
        elif self._members[self._current] is member:
            self._current = (self._current + 1) % len(self._members)

    def watch_refused(self, reason: str, again: bool) -> None:
        """A watch was cancelled by etcd. It says "permission denied" also of a login it has forgotten, so that is
        renewed once; after that it is meant."""
        if "permission denied" in reason and (again or self.config.user is None):
            raise refusal(self.where, _failure(grpc.StatusCode.PERMISSION_DENIED, reason))
        self._token = None

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Tells the end of a call by our own closing from the end of the task that made it: both come as cancelled."""
        try:
            yield
        except grpc.aio.UsageError:
            self._check_open()  # what one gets for using a closed channel
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise Closed("the store is closed") from None
            raise

    async def close(self) -> None:
        """Ends all watches, and waits a while for the calls that are under way."""
        self._closed = True
        for stream in list(self.streams):
            stream.close()
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
            member, token = self._members[self._current], None
            try:
                token = await self._login(member)
                with self.closing():
                    return await method(member)(request, timeout=self.config.request_timeout, metadata=_metadata(token))
            except AioRpcError as error:
                kind = kind_of(error)
                if kind in (Kind.COMPACTED, Kind.FUTURE):
                    raise OutOfRange(kind is Kind.COMPACTED) from error
                self.note(member, token, error)
                if once and kind is Kind.LOST:
                    raise Lost(error) from error
                attempts += 1
                if attempts % len(self._members) == 0:
                    if self._clock.monotonic() >= deadline:
                        raise unreachable(self.where, error) from error
                    await pauses.wait()

    async def _login(self, member: _Member) -> str | None:
        """The token that proves who we are. All members know it, until they forget it."""
        if self.config.user is None:
            return None
        async with self._logging_in:
            if self._token is None:
                request = pb.AuthenticateRequest(name=self.config.user, password=self.config.password or "")
                answer = await member.authenticate(request, timeout=self.config.request_timeout)
                self._token = answer.token
            return self._token


def _metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("token", token),)


def _failure(code: grpc.StatusCode, details: str) -> AioRpcError:
    return AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details)
