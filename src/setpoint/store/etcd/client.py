"""A thin etcd client over gRPC: several endpoints with failover, TLS, a login that renews itself, deadlines.

aetcd brings the generated stubs; its own client knows one endpoint, no TLS, logs in once and does not resume, so the
calls are made here. A call goes to one endpoint until that fails, then to the next, with a growing pause after each
round.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from aetcd.rpc import rpc_pb2 as pb
from aetcd.rpc.rpc_pb2_grpc import AuthStub, KVStub, LeaseStub, WatchStub
from grpc.aio import AioRpcError

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.store.contract import Closed
from setpoint.store.etcd.config import EtcdConfig
from setpoint.store.etcd.failures import Kind, kind_of, refusal, unreachable
from setpoint.store.etcd.wire import Message

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
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

    def reset(self) -> None:
        self._pause = FIRST_PAUSE


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


class WatchStream:
    """One open etcd watch. It ends with an error; whoever reads it opens another one and goes on from where it was."""

    def __init__(self, call: Any, client: "EtcdClient", member: _Member) -> None:
        self._call = call
        self._client = client
        self._member = member

    async def read(self) -> Message:
        """The next response. Raises Lost when the stream is gone."""
        try:
            response = await self._call.read()
        except AioRpcError as error:
            await self._client.note(self._member, error)
            raise Lost(error) from error
        if response is grpc.aio.EOF:
            ended = AioRpcError(
                await self._call.code(), grpc.aio.Metadata(), grpc.aio.Metadata(), await self._call.details()
            )
            await self._client.note(self._member, ended)
            raise Lost(ended)
        return response

    def close(self) -> None:
        self._call.cancel()


class EtcdClient:
    """Calls to one cluster. Belongs to the event loop it was made in."""

    def __init__(self, config: EtcdConfig, clock: Clock, ids: Ids) -> None:
        self.config = config
        self.where = ", ".join(config.endpoints)
        self._clock = clock
        self._ids = ids
        self._members = [_Member(address, config) for address in config.endpoints]
        self._current = 0
        self._token: str | None = None
        self._closed = False

    def deadline(self) -> float:
        """The moment, in monotonic seconds, at which an operation that begins now has lost its patience."""
        return self._clock.monotonic() + self.config.patience

    def pauses(self) -> Pauses:
        return Pauses(self._clock, self._ids)

    async def txn(self, request: Message, *, once: bool, deadline: float | None = None) -> Message:
        """A transaction. With `once` it raises Lost when it may have been done; otherwise it is repeated then."""
        return await self._call(lambda member: member.txn, request, once=once, deadline=deadline)

    async def compact(self, revision: int) -> None:
        """Compacts etcd. Raises OutOfRange if it was already, or if there is no such revision yet."""
        await self._call(lambda member: member.compact, pb.CompactionRequest(revision=revision), once=False)

    async def grant(self, ttl: int) -> int:
        """A new lease that ends after so many seconds."""
        response = await self._call(lambda member: member.grant, pb.LeaseGrantRequest(TTL=ttl), once=False)
        return int(response.ID)

    async def watch(self, start: bytes, end: bytes, revision: int) -> WatchStream:
        """Follows a range of keys from a revision on. Raises Lost when the endpoint is gone; the next call takes
        another one."""
        if self._closed:
            raise Closed("the store is closed")
        member = self._members[self._current]
        create = pb.WatchCreateRequest(
            key=start, range_end=end, start_revision=revision, prev_kv=True, progress_notify=True, fragment=True
        )
        try:
            # A member that lost its leader ends the stream instead of letting it go silent.
            call = member.watch(metadata=(*await self._login(member), ("hasleader", "true")))
            await call.write(pb.WatchRequest(create_request=create))
        except AioRpcError as error:
            await self.note(member, error)
            raise Lost(error) from error
        except grpc.aio.UsageError as error:  # the stream ended before the request was written
            raise Lost(AioRpcError(grpc.StatusCode.UNAVAILABLE, None, None, str(error))) from error
        return WatchStream(call, self, member)

    async def note(self, member: _Member, error: AioRpcError) -> None:
        """Draws the lesson of a failure: another endpoint, another login. Raises StoreError if nothing can help."""
        kind = kind_of(error)
        if kind is Kind.STALE_LOGIN:
            self._token = None
        elif kind is Kind.REFUSED:
            raise refusal(member.address, error)
        elif self._members[self._current] is member:
            self._current = (self._current + 1) % len(self._members)

    async def close(self) -> None:
        self._closed = True
        for member in self._members:
            await member.channel.close()

    async def _call(
        self,
        method: Callable[[_Member], Callable[..., Awaitable[Message]]],
        request: Message,
        *,
        once: bool,
        deadline: float | None = None,
    ) -> Message:
        if deadline is None:
            deadline = self.deadline()
        pauses, attempts = self.pauses(), 0
        while True:
            if self._closed:
                raise Closed("the store is closed")
            member = self._members[self._current]
            try:
                metadata = await self._login(member)
                return await method(member)(request, timeout=self.config.request_timeout, metadata=metadata)
            except AioRpcError as error:
                kind = kind_of(error)
                if kind in (Kind.COMPACTED, Kind.FUTURE):
                    raise OutOfRange(kind is Kind.COMPACTED) from error
                if self._closed:
                    raise Closed("the store is closed") from error
                await self.note(member, error)
                if once and kind is Kind.LOST:
                    raise Lost(error) from error
                attempts += 1
                if attempts % len(self._members) == 0:
                    if self._clock.monotonic() >= deadline:
                        raise unreachable(self.where, error) from error
                    await pauses.wait()

    async def _login(self, member: _Member) -> tuple[tuple[str, str], ...]:
        """What a call carries to prove who we are. Tokens are known to all members, until they forget them."""
        if self.config.user is None:
            return ()
        if self._token is None:
            request = pb.AuthenticateRequest(name=self.config.user, password=self.config.password or "")
            self._token = (await member.authenticate(request, timeout=self.config.request_timeout)).token
        return (("token", self._token),)
