"""A client that records its reads and writes: for `why`, and so that later reads show its writes."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, KindRef
from setpoint.client.options import Options
from setpoint.client.patches import APPLY
from setpoint.client.requests import JSON, Query
from setpoint.client.transport import Answer, TransportError
from setpoint.controller.expectations import Expectations
from setpoint.controller.request import Request
from setpoint.controller.run_record import Access, Read, Write
from setpoint.objects.errors import APIError, Forbidden, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.schema.types.resource import Resource


class ObjectMetadata(msgspec.Struct, rename="camel"):
    """The key, UID and resource version of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Head(msgspec.Struct):
    metadata: ObjectMetadata = msgspec.field(default_factory=ObjectMetadata)


class _ListHead(_Head):
    # The items are not decoded.
    items: list[msgspec.Raw] = msgspec.field(default_factory=list)


_read_head = msgspec.json.Decoder(_Head).decode
_read_list_head = msgspec.json.Decoder(_ListHead).decode


def metadata_of(obj: AnyObject) -> ObjectMetadata:
    """Returns the key, UID and resource version of an object."""
    if isinstance(obj, Resource):
        meta = obj.metadata
        return ObjectMetadata(meta.name, meta.namespace, meta.uid, meta.resource_version)
    return msgspec.convert(obj.get("metadata") or {}, ObjectMetadata)


class RunRecorder(Protocol):
    """The reconcile, as seen by its clients."""

    request: Request
    # Record a read, an API access, and a write or a write that was skipped as unnecessary.
    record_read: Callable[[Read], None]
    record_access: Callable[[Access], None]
    record_write: Callable[[Write], None]

    def record_own_write(self, before: str, after: str) -> None:
        """Records a write of the reconciled object that did not touch its status, conditional on the version before."""

    def missing_right(self, kind: KindRef, resource: str, verb: str) -> str:
        """Returns the remedy for a request that the server forbids."""


class RecordingClient(Client):
    """The client of a reconcile without the cache, `ctx.api`.

    live = await ctx.api.get(Website, request.name, request.namespace)
    """

    def __init__(
        self,
        client: Client,
        options: Options,
        recorder: RunRecorder,
        expectations: Expectations,
        primary: GroupVersionKind | None = None,
    ) -> None:
        # Shares all attributes of the other client, including its connections.
        self.__dict__.update(client.__dict__)
        self.options = options
        self._recorder = recorder
        self._expectations = expectations
        self._primary = primary

    async def _call(
        self,
        ref: KindRef,
        method: str,
        *,
        name: str = "",
        namespace: str = "",
        subresource: str = "",
        query: Query | None = None,
        body: bytes = b"",
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Answer:
        """Sends a request, and records reads and writes."""
        sent = super()._call(
            ref,
            method,
            name=name,
            namespace=namespace,
            subresource=subresource,
            query=query,
            body=body,
            content_type=content_type,
            accept=accept,
        )
        namespace = namespace or self.options.namespace
        key = f"{namespace}/{name}" if namespace and name else name
        verb = _verb(method, name, content_type)
        is_dry_run = any(option == "dryRun" for option, _ in query or ())
        self._recorder.record_access(Access(ref.gvk, subresource, verb))
        if method == "GET":
            try:
                return await (sent if subresource else self._recorded_read(sent, ref.gvk, key, namespace, query))
            except Forbidden as error:
                self._explain(error, ref, subresource, verb)
                raise
        if is_dry_run:
            return await sent
        try:
            answer = await sent
        except (TransportError, APIError) as error:
            self._explain(error, ref, subresource, verb)
            if _is_uncertain(error):
                self._expectations.mark_uncertain(self._recorder.request, ref.gvk, key)
            raise
        self._record(ref.gvk, verb, key, subresource, body, answer)
        return answer

    def _explain(self, error: Exception, ref: KindRef, subresource: str, verb: str) -> None:
        """Adds the remedy to the error of a forbidden request."""
        resource = self.mapper.known.get(ref.gvk)
        if isinstance(error, Forbidden) and resource is not None:
            name = f"{resource.plural}/{subresource}" if subresource else resource.plural
            error.add_note(self._recorder.missing_right(ref, name, verb))

    async def _recorded_read(
        self, sent: Awaitable[Answer], kind: GroupVersionKind, key: str, namespace: str, query: Query | None
    ) -> Answer:
        try:
            answer = await sent
        except NotFound:
            self._recorder.record_read(Read(kind, key, "", True))
            raise
        self._recorder.record_read(_read_of(kind, key, namespace, query, answer))
        return answer

    def _record(
        self, kind: GroupVersionKind, verb: str, key: str, subresource: str, body: bytes, answer: Answer
    ) -> None:
        request, expectations = self._recorder.request, self._expectations
        try:
            meta = _read_head(answer.body).metadata
        except msgspec.MsgspecError:
            meta = ObjectMetadata()
        if expectations.uncertain:
            expectations.mark_certain(request, kind, key)
        if verb == "create":
            key = meta.key or key
        if kind == self._primary and key == ObjectMetadata(request.name, request.namespace).key:
            before = _version_in(body)
            if before and before != meta.resource_version:
                if subresource == "status":
                    expectations.record_report(kind, key, before, meta.resource_version)
                else:
                    self._recorder.record_own_write(before, meta.resource_version)
        self._recorder.record_write(Write(verb, kind, key, subresource, meta.resource_version))


def _read_of(kind: GroupVersionKind, key: str, namespace: str, query: Query | None, answer: Answer) -> Read:
    """Returns the record of a read from the server."""
    try:
        head = _read_list_head(answer.body)
    except msgspec.MsgspecError:
        head = _ListHead()
    selector = "" if key else next((value for option, value in query or () if option == "labelSelector"), "")
    return Read(kind, key, head.metadata.resource_version, True, namespace, selector, len(head.items))


def _verb(method: str, name: str, content_type: str) -> str:
    if method == "GET":
        return "get" if name else "list"
    if method == "PATCH":
        return "apply" if content_type == APPLY else "patch"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return "create" if method == "POST" else "update"


def _is_uncertain(error: TransportError | APIError) -> bool:
    """Returns True if a failed request may have changed data anyway, or shows that the cache is behind."""
    if isinstance(error, TransportError):
        return error.sent
    return error.code >= 500 or error.code == 409


def _version_in(body: bytes) -> str:
    """Returns the resource version that a write was conditional on; empty for an unconditional write."""
    try:
        return _read_head(body).metadata.resource_version
    except msgspec.MsgspecError:
        return ""
