"""The client: every verb of the API on typed objects, on plain trees and on metadata alone.

    async with Client.connect() as client:
        await client.apply(Website(metadata=ObjectMeta(name="blog"), spec=WebsiteSpec(replicas=2)), field_manager="me")
        for pod in (await client.list("v1/Pod", "default", labels="app=blog")).items: ...

What it returns is the caller's own. What the server refuses is raised as the error of the API that it is
(`setpoint.objects.errors`); what never reached it, or never came back, as `TransportError`.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self, Unpack, cast, overload
from urllib.parse import quote

import msgspec

from setpoint.client import retry
from setpoint.client.discovery import APIResource
from setpoint.client.kinds import AnyObject, Kind, KindRef, Obj, R, kind_of, ref_of, tree_of
from setpoint.client.listing import PAGE, Listing, read_list
from setpoint.client.mapper import Mapper
from setpoint.client.options import Impersonation, ListOptions, Options, WatchOptions
from setpoint.client.patches import APPLY, Patch
from setpoint.client.selecting import FieldsArgument, LabelsArgument, fields_text, labels_text
from setpoint.client.transport import Answer, Call, Stream, Transport
from setpoint.client.warning import parse_warnings
from setpoint.client.watch import RawEvent, WatchEvent, raw_events, read_event
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Cause
from setpoint.objects.status import from_status
from setpoint.objects.tree import Object

JSON = "application/json"
_METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_log = logging.getLogger(__name__)

Query = list[tuple[str, str]]


class Client:
    """Talks to one API server over a transport."""

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock | None = None,
        options: Options | None = None,
        on_warning: Callable[[str], None] | None = None,
        mapper: Mapper | None = None,
    ) -> None:
        self.transport = transport
        self.clock = clock or SystemClock()
        self.options = options or Options()
        self.on_warning = on_warning or _WarnOnce()
        self.mapper = mapper or Mapper(self.send)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends what is under way, and every connection."""
        await self.transport.close()

    def with_options(
        self,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        field_validation: str | None = None,
        dry_run: bool | None = None,
        impersonate: Impersonation | None = None,
        cause: Cause | None = None,
    ) -> "Client":
        """The same client with other defaults. It shares the connections: close only one of them."""
        given: dict[str, Any] = {
            "namespace": namespace,
            "field_manager": field_manager,
            "field_validation": field_validation,
            "dry_run": dry_run,
            "impersonate": impersonate,
            "cause": cause,
        }
        options = self.options._replace(**{name: value for name, value in given.items() if value is not None})
        return Client(self.transport, clock=self.clock, options=options, on_warning=self.on_warning, mapper=self.mapper)

    # Requests

    async def send(self, call: Call) -> Answer:
        """Sends any request, and returns its answer. Raises the errors of the API, and TransportError."""
        answer = await retry.send(self.transport, self._with_headers(call), self.clock)
        self._hear(answer)
        if answer.status >= 400:
            raise _error(answer)
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        """Sends any request whose answer is read while it comes."""
        async with self.transport.stream(self._with_headers(call)) as stream:
            self._hear(stream.answer)
            if stream.answer.status >= 400:
                raise _error(stream.answer)
            yield stream

    def _with_headers(self, call: Call) -> Call:
        if self.options.impersonate is None and self.options.cause is None:
            return call
        return call._replace(headers={**call.headers, **self.options.headers()})

    def _hear(self, answer: Answer) -> None:
        if "warning" in answer.headers:
            for text in parse_warnings(answer.headers["warning"]):
                self.on_warning(text)

    async def resource(self, kind: Kind[Any]) -> APIResource:
        """The resource that serves a kind. Raises NoMatch."""
        return await self.mapper.resource(kind_of(kind).gvk)

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
        """A request to a resource or an object of it."""
        call = Call(method, "", query or (), _headers(accept, content_type if body else ""), body)
        for again in (False, True):
            path = await self._path(ref, name, namespace, subresource)
            try:
                return await self.send(call._replace(path=path))
            except NotFound as error:
                if again or not _is_no_page(error):
                    raise
                # There is no such resource any more: its definition may have changed.
                self.mapper.forget(ref.gvk)
        raise AssertionError("the second try returns or raises")

    async def _path(self, ref: KindRef, name: str, namespace: str, subresource: str = "") -> str:
        resource = await self.mapper.resource(ref.gvk)
        return resource.path(quote(namespace or self.options.namespace, safe=""), quote(name, safe=""), subresource)

    # Reading

    @overload
    async def get(
        self, kind: type[R], name: str, namespace: str = "", *, at: int | None = None, resource_version: str = ""
    ) -> R: ...
    @overload
    async def get(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str = "",
        *,
        at: int | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> Object: ...
    async def get(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        *,
        at: int | None = None,
        resource_version: str = "",
        subresource: str = "",
    ) -> Any:
        """One object. `at` asks our own server for the past; `resource_version`, for a state not older than that."""
        ref = kind_of(kind)
        query = _query(at=str(at) if at is not None else "", resourceVersion=resource_version)
        answer = await self._call(
            ref, "GET", name=name, namespace=namespace, subresource=subresource, query=query, accept=_accept(ref)
        )
        return ref.read(_decode(answer.body))

    @overload
    async def list(self, kind: type[R], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[R]: ...
    @overload
    async def list(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[ListOptions]
    ) -> Listing[Object]: ...
    async def list(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[Any]:
        """The objects of a kind; all of them, page by page, unless a limit is given."""
        ref = kind_of(kind)
        if how.get("limit"):
            return read_list(await self.raw_list(ref, namespace, **how), ref)
        found: list[Any] = []
        how = {**how, "limit": PAGE}
        while True:
            page = read_list(await self.raw_list(ref, namespace, **how), ref)
            found += page.items
            if not page.continue_:
                return page._replace(items=found)
            how = {**how, "continue_": page.continue_, "resource_version": "", "resource_version_match": ""}

    async def raw_list(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> bytes:
        """One page of a list, as the server sent it."""
        ref = kind_of(kind)
        limit, at = how.get("limit", 0), how.get("at")
        query = _query(
            labelSelector=labels_text(how.get("labels")),
            fieldSelector=fields_text(how.get("fields")),
            limit=str(limit) if limit else "",
            **{"continue": how.get("continue_", "")},
            resourceVersion=how.get("resource_version", ""),
            resourceVersionMatch=how.get("resource_version_match", ""),
            at=str(at) if at is not None else "",
        )
        accept = _METADATA_LIST if ref.metadata_only else JSON
        return (await self._call(ref, "GET", namespace=namespace, query=query, accept=accept)).body

    @overload
    def watch(
        self, kind: type[R], namespace: str = "", **how: Unpack[WatchOptions]
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent[R]]]: ...
    @overload
    def watch(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[WatchOptions]
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent[Object]]]: ...
    def watch(self, kind: Kind[Any], namespace: str = "", **how: Unpack[WatchOptions]) -> Any:
        """What happens to the objects of a kind, from a revision on, or from now."""
        return self._watch(kind_of(kind), namespace, how)

    @asynccontextmanager
    async def _watch(
        self, ref: KindRef, namespace: str, how: WatchOptions
    ) -> AsyncIterator[AsyncIterator[WatchEvent[Any]]]:
        async with self.raw_watch(ref, namespace, **how) as events:

            async def read() -> AsyncIterator[WatchEvent[Any]]:
                async for event in events:
                    yield read_event(event, ref)

            yield read()

    @asynccontextmanager
    async def raw_watch(
        self, kind: Kind[Any], namespace: str = "", **how: Unpack[WatchOptions]
    ) -> AsyncIterator[AsyncIterator[RawEvent]]:
        """The same with objects as the server sent them."""
        ref = kind_of(kind)
        initial, timeout = how.get("initial_events", False), how.get("timeout")
        query = _query(
            watch="true",
            labelSelector=labels_text(how.get("labels")),
            fieldSelector=fields_text(how.get("fields")),
            resourceVersion=how.get("resource_version", ""),
            allowWatchBookmarks="true" if how.get("bookmarks", True) or initial else "",
            sendInitialEvents="true" if initial else "",
            resourceVersionMatch="NotOlderThan" if initial else "",
            timeoutSeconds=str(max(int(timeout), 1)) if timeout is not None else "",
        )
        path = await self._path(ref, "", namespace)
        async with self.stream(Call("GET", path, query, _headers(_accept(ref)))) as stream:
            yield raw_events(stream)

    # Writing

    async def create(
        self,
        obj: Obj,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        dry_run: bool | None = None,
        field_manager: str = "",
        field_validation: str = "",
    ) -> Obj:
        """Makes an object, and returns it as the server has it. With a subresource, `name` says of which object."""
        ref, tree = ref_of(obj), tree_of(obj)
        namespace = namespace or _metadata(tree).get("namespace", "")
        query = self.options.write_query(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation
        )
        answer = await self._call(
            ref, "POST", name=name, namespace=namespace, subresource=subresource, query=query, body=_encode(tree)
        )
        return cast(Obj, ref.read(_decode(answer.body)))

    async def update(
        self,
        obj: Obj,
        *,
        subresource: str = "",
        dry_run: bool | None = None,
        field_manager: str = "",
        field_validation: str = "",
    ) -> Obj:
        """Puts an object in the place of what is there. If it has a resourceVersion, only of that version."""
        ref, tree = ref_of(obj), tree_of(obj)
        query = self.options.write_query(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation
        )
        answer = await self._call(ref, "PUT", **_place(tree), subresource=subresource, query=query, body=_encode(tree))
        return cast(Obj, ref.read(_decode(answer.body)))

    async def patch(
        self,
        target: Any,
        patch: Patch,
        name: str = "",
        namespace: str = "",
        *,
        subresource: str = "",
        dry_run: bool | None = None,
        field_manager: str = "",
        field_validation: str = "",
        force: bool = False,
    ) -> Any:
        """Changes part of an object, which is given itself or by its kind and name. An empty patch is sent too."""
        ref, name, namespace = _target(target, name, namespace)
        query = self.options.write_query(
            dry_run=dry_run, field_manager=field_manager, field_validation=field_validation, force=force
        )
        answer = await self._call(
            ref,
            "PATCH",
            name=name,
            namespace=namespace,
            subresource=subresource,
            query=query,
            body=patch.body,
            content_type=patch.content_type,
        )
        return ref.read(_decode(answer.body))

    async def apply(
        self,
        obj: Obj,
        *,
        field_manager: str = "",
        force: bool = False,
        subresource: str = "",
        dry_run: bool | None = None,
        field_validation: str = "",
    ) -> Obj:
        """Server-side apply: makes the object so, and its manager the owner of what it says. Raises ApplyConflict."""
        tree = tree_of(obj)
        if not (field_manager or self.options.field_manager):
            raise ValueError("an apply needs a field manager: give field_manager, here or to the client")
        body = _encode(_configuration(tree))
        found: Obj = await self.patch(
            obj,
            Patch(APPLY, body),
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            force=force,
        )
        return found

    async def delete(
        self,
        target: AnyObject | Kind[Any],
        name: str = "",
        namespace: str = "",
        *,
        propagation: str = "",
        grace_period: int | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool | None = None,
    ) -> Object:
        """Deletes an object, given itself or by its kind and name. Returns the object on its way out, or a Status."""
        ref, name, namespace = _target(target, name, namespace)
        body = self._delete_options(propagation, grace_period, uid, resource_version, dry_run)
        answer = await self._call(ref, "DELETE", name=name, namespace=namespace, body=body)
        return cast(Object, _decode(answer.body))

    async def delete_all(
        self,
        kind: Kind[Any],
        namespace: str = "",
        *,
        labels: LabelsArgument = None,
        fields: FieldsArgument = None,
        propagation: str = "",
        grace_period: int | None = None,
        dry_run: bool | None = None,
    ) -> None:
        """Deletes all objects of a kind that match."""
        query = _query(labelSelector=labels_text(labels), fieldSelector=fields_text(fields))
        body = self._delete_options(propagation, grace_period, "", "", dry_run)
        await self._call(kind_of(kind), "DELETE", namespace=namespace, query=query, body=body)

    def _delete_options(
        self, propagation: str, grace_period: int | None, uid: str, resource_version: str, dry_run: bool | None
    ) -> bytes:
        found: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if propagation:
            found["propagationPolicy"] = propagation
        if grace_period is not None:
            found["gracePeriodSeconds"] = grace_period
        conditions = {"uid": uid, "resourceVersion": resource_version}
        if conditions := {name: value for name, value in conditions.items() if value}:
            found["preconditions"] = conditions
        if self.options.dry_run if dry_run is None else dry_run:
            found["dryRun"] = ["All"]
        return _encode(found)


class _WarnOnce:
    """Logs what servers warn of, each text once; of very many, the first ones."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, text: str) -> None:
        if text not in self._seen and len(self._seen) < 1000:
            self._seen.add(text)
            _log.warning("the server warns: %s", text)


def _target(target: Any, name: str, namespace: str) -> tuple[KindRef, str, str]:
    """What a patch or a delete is for."""
    if isinstance(target, type | str | GroupVersionKind | KindRef):
        if not name:
            raise ValueError(f"which {kind_of(target)}? Give its name, or the object itself")
        return kind_of(target), name, namespace
    place = _place(tree_of(target))
    return ref_of(target), name or place["name"], namespace or place["namespace"]


def _place(tree: Object) -> dict[str, str]:
    metadata = _metadata(tree)
    if not metadata.get("name"):
        raise ValueError("the object has no name: only a new one may leave it to the server")
    return {"name": metadata["name"], "namespace": metadata.get("namespace", "")}


def _metadata(tree: Object) -> Mapping[str, Any]:
    metadata = tree.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _configuration(tree: Object) -> Object:
    """An object as a configuration: without what only a server says."""
    metadata = {
        name: value
        for name, value in _metadata(tree).items()
        if name not in ("managedFields", "resourceVersion", "creationTimestamp", "generation", "uid")
    }
    return {**tree, "metadata": metadata}


def _query(**values: str) -> Query:
    return [(name, value) for name, value in values.items() if value]


def _accept(ref: KindRef) -> str:
    return _METADATA_ONLY if ref.metadata_only else JSON


def _headers(accept: str, content_type: str = "") -> dict[str, str]:
    return {"accept": accept, "content-type": content_type} if content_type else {"accept": accept}


def _error(answer: Answer) -> APIError:
    try:
        status = _decode(answer.body)
    except msgspec.DecodeError:
        text = answer.body[:2000].decode("utf-8", "replace").strip()
        status = {"kind": "Status", "message": text} if text else None
    return from_status(status, answer.status)


def _is_no_page(error: NotFound) -> bool:
    """Whether a 404 is about the resource and not about the object."""
    return not error.name
