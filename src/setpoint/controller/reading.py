"""The client of a reconcile: it reads from the cache what the controller has declared, and writes to the server.

What it reads is never older than what reconciles of the same request wrote; it notes what was looked up, so that the
request runs again when that changes; it does not send what would change nothing. A kind that was not declared is read
from the server, and its changes bring nobody back: declare it (`reads=[...]`) where they should.

What comes from the cache is shared and cannot be changed: `obj.edit()`, or `thaw(tree)`, makes a copy that can.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Unpack, cast, overload

import msgspec

from setpoint.cache.cache import Cache, NotCached
from setpoint.cache.held import Held
from setpoint.cache.informer import Informer
from setpoint.client.client import JSON, Client, Query
from setpoint.client.kinds import Kind, KindRef, Obj, R, kind_of, ref_of, tree_of
from setpoint.client.listing import Listing
from setpoint.client.options import ListOptions, Options
from setpoint.client.patches import APPLY
from setpoint.client.selecting import fields_text, labels_text
from setpoint.client.transport import Answer, TransportError
from setpoint.controller.difference import parse_path, value_at
from setpoint.controller.expectations import Expectations
from setpoint.controller.request import Request
from setpoint.controller.run import Write
from setpoint.controller.tracking import Look
from setpoint.merge.equality import equal
from setpoint.objects import fields as field_selectors
from setpoint.objects import labels as label_selectors
from setpoint.objects.clock import timeout
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupResource, GroupVersionKind
from setpoint.objects.tree import Object

# How long a read waits for the cache to catch up with our own writes before it asks the server.
FRESH_SECONDS = 5.0
# How many applied configurations are remembered.
MOST_APPLIED = 20_000
# What only the server can answer.
_LIVE = ("limit", "continue_", "resource_version", "resource_version_match", "at")

_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None


class _Details(msgspec.Struct):
    uid: str = ""


class _Head(msgspec.Struct):
    """What says how a write ended: the metadata of the object, or the details of a Status."""

    kind: str = ""
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    details: _Details = msgspec.field(default_factory=_Details)


_read_head = msgspec.json.Decoder(_Head).decode


class Applied:
    """The configurations that were applied, and the versions that came of it: the same again to the same version
    changes nothing."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[int, str]] = {}

    def is_known(self, place: tuple[object, ...], body: bytes, version: str) -> bool:
        return self._known.get(place) == (hash(body), version)

    def learn(self, place: tuple[object, ...], body: bytes, version: str) -> None:
        self._known.pop(place, None)
        if len(self._known) >= MOST_APPLIED:
            del self._known[next(iter(self._known))]
        self._known[place] = hash(body), version


class Reader(Protocol):
    """The reconcile, as its client knows it."""

    request: Request

    def looked(self, look: Look) -> None:
        """Something was looked up."""

    def wrote(self, write: Write) -> None:
        """Something was written, or not, because it was so already."""

    def undeclared(self, kind: KindRef) -> None:
        """A kind was read that the controller has not declared."""


class ReconcileClient(Client):
    """The client that a reconcile is given, as `ctx.client`."""

    def __init__(
        self,
        client: Client,
        options: Options,
        *,
        cache: Cache,
        expectations: Expectations,
        applied: Applied,
        reader: Reader,
        primary: GroupVersionKind | None = None,
        cluster: str = "",
    ) -> None:
        super().__init__(
            client.transport, clock=client.clock, options=options, on_warning=client.on_warning, mapper=client.mapper
        )
        self._cache = cache
        self._expectations = expectations
        self._applied = applied
        self._reader = reader
        self._primary = primary
        self._cluster = cluster

    def with_options(self, **given: Any) -> "ReconcileClient":
        """The same client with other defaults."""
        return ReconcileClient(
            self,
            super().with_options(**given).options,
            cache=self._cache,
            expectations=self._expectations,
            applied=self._applied,
            reader=self._reader,
            primary=self._primary,
            cluster=self._cluster,
        )

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
        """One object, from the cache where the kind is declared. Raises NotFound."""
        ref = kind_of(kind)
        if at is None and not resource_version and not subresource:
            found = await self._cached(ref, name, namespace or self.options.namespace)
            if found is not None:
                return found
        return await super().get(
            ref, name, namespace, at=at, resource_version=resource_version, subresource=subresource
        )

    async def find(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """The same, but None where there is no such object."""
        try:
            return await self.get(kind, name, namespace)
        except NotFound:
            return None

    async def _cached(self, ref: KindRef, name: str, namespace: str) -> Any:
        """An object of the cache. None: only the server can tell. Raises NotFound where the cache knows that."""
        key = f"{namespace}/{name}" if namespace else name
        informer = self._whole(ref, namespace)
        if informer is None:
            return self._from_part(ref, key)
        if not informer.synced:
            await informer.wait_synced()
        if ref.gvk != self._primary or key != _key(self._reader.request):
            self._reader.looked(Look(self._cluster, ref.gvk, key))
        if not await self._fresh(informer, ref, key):
            return await self._ask_for(ref, name, namespace, key)
        held = informer.store.get(key)
        if held is None or self._expectations.is_gone(ref.gvk, held):
            raise NotFound.of(await self._resource(ref), name)
        return held.object

    def _from_part(self, ref: KindRef, key: str) -> Any:
        """An object of a cache that has only some of a kind: what it has is right, what it has not may still be."""
        for informer in self._parts(ref):
            held = informer.store.get(key)
            if held is not None and not self._expectations.version_of(ref.gvk, key):
                self._reader.looked(Look(self._cluster, ref.gvk, key))
                return held.object
        self._reader.undeclared(ref)
        return None

    async def _ask_for(self, ref: KindRef, name: str, namespace: str, key: str) -> Any:
        """The object as the server has it now."""
        request, kind = self._reader.request, ref.gvk
        try:
            found = await super().get(ref, name, namespace)
        except NotFound:
            self._expectations.asked(request, kind, key, ())
            raise
        self._expectations.asked(request, kind, key, [(key, _head_of(tree_of(found)).resource_version)])
        return found

    @overload
    async def list(self, kind: type[R], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[R]: ...
    @overload
    async def list(
        self, kind: GroupVersionKind | str | KindRef, namespace: str = "", **how: Unpack[ListOptions]
    ) -> Listing[Object]: ...
    async def list(self, kind: Kind[Any], namespace: str = "", **how: Unpack[ListOptions]) -> Listing[Any]:
        """The objects of a kind, from the cache where it is declared."""
        ref = kind_of(kind)
        namespace = namespace or self.options.namespace
        informer = self._whole(ref, namespace)
        if informer is None:
            self._reader.undeclared(ref)
        if informer is None or any(how.get(option) for option in _LIVE):
            return await super().list(ref, namespace, **how)
        if not informer.synced:
            await informer.wait_synced()
        selector = label_selectors.parse(labels_text(how.get("labels")))
        self._reader.looked(Look(self._cluster, ref.gvk, "", namespace, None if selector.is_everything else selector))
        if not await self._fresh(informer, ref, None):
            found = await super().list(ref, namespace, **how)
            placed = [_head_of(tree_of(obj)) for obj in found.items]
            self._expectations.asked(
                self._reader.request, ref.gvk, None, [(_key(meta), meta.resource_version) for meta in placed]
            )
            return found
        helds: Iterable[Held[Any]] = informer.store.in_namespace(namespace) if namespace else informer.store.all()
        matches = _matcher(selector, fields_text(how.get("fields")))
        gone = self._expectations.is_gone
        items = [held.object for held in helds if matches(held) and not gone(ref.gvk, held)]
        return Listing(items, informer.resource_version)

    async def _fresh(self, informer: Informer[Any], ref: KindRef, key: str | None) -> bool:
        """Has the cache catch up with our own writes. False: only the server knows."""
        request, kind, expectations = self._reader.request, ref.gvk, self._expectations
        if expectations.is_unsure(request, kind, key):
            return False
        wanted = expectations.version_of_kind(request, kind) if key is None else expectations.version_of(kind, key)
        if not wanted:
            return True
        reached = informer.resource_version
        if not reached.isdecimal() or int(reached) < wanted:
            try:
                async with timeout(self.clock, FRESH_SECONDS):
                    await informer.wait_for(str(wanted))
            except TimeoutError:
                _log.warning("the cache of %s does not come to version %s: the server is asked", ref, wanted)
                return False
        expectations.reached(request, kind, key, wanted)
        return True

    def _whole(self, ref: KindRef, namespace: str) -> Informer[Any] | None:
        """The informer that has all of a kind, in a namespace or everywhere."""
        try:
            return self._cache.informer(ref, namespace or self.options.namespace)
        except NotCached:
            return None

    def _parts(self, ref: KindRef) -> Iterable[Informer[Any]]:
        """The informers that have some objects of a kind."""
        return [informer for informer in self._cache.informers if informer.scope.kind == ref]

    async def _resource(self, ref: KindRef) -> GroupResource:
        resource = await self.mapper.resource(ref.gvk)
        return GroupResource(ref.gvk.group, resource.plural)

    # Writing

    async def update(
        self,
        obj: Obj,
        *,
        subresource: str = "",
        dry_run: bool | None = None,
        field_manager: str = "",
        field_validation: str = "",
    ) -> Obj:
        """Puts an object in the place of what is there, unless it is the same."""
        ref, tree = ref_of(obj), tree_of(obj)
        head = _head_of(tree)
        held = self._known(ref, head)
        if held is not None and head.resource_version == held.meta.resource_version:
            before, after = tree_of(held.object), tree
            if equal(before.get("status"), after.get("status")) if subresource == "status" else equal(before, after):
                self._reader.wrote(Write("update", ref.gvk, _key(head), subresource, head.resource_version, True))
                return obj
        return await super().update(
            obj,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
        )

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
        """Server-side apply. What was applied before, to what has not changed since, is not sent again."""
        ref, tree = ref_of(obj), tree_of(obj)
        head = _head_of(tree)
        body = _encode(tree)
        place = (self._cluster, ref.gvk, _key(head), subresource, field_manager or self.options.field_manager)
        held = self._known(ref, head)
        if held is not None and self._applied.is_known(place, body, held.meta.resource_version):
            self._reader.wrote(Write("apply", ref.gvk, _key(head), subresource, held.meta.resource_version, True))
            return cast(Obj, ref.read(thaw(tree_of(held.object))))
        found = await super().apply(
            obj,
            field_manager=field_manager,
            force=force,
            subresource=subresource,
            dry_run=dry_run,
            field_validation=field_validation,
        )
        if not dry_run and not self.options.dry_run:
            self._applied.learn(place, body, _head_of(tree_of(found)).resource_version)
        return found

    def _known(self, ref: KindRef, head: _Meta) -> Held[Any] | None:
        """An object as the cache has it, if it has it and it is no older than what we wrote."""
        key = _key(head)
        whole = self._whole(ref, head.namespace)
        for informer in (whole,) if whole is not None else self._parts(ref):
            held = informer.store.get(key)
            if held is not None and not self._expectations.is_gone(ref.gvk, held):
                wanted = self._expectations.version_of(ref.gvk, key)
                version = held.meta.resource_version
                return held if not wanted or (version.isdecimal() and int(version) >= wanted) else None
        return None

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
        """Every request: those that change something are noted."""
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
        if method == "GET" or any(option == "dryRun" for option, _ in query or ()):
            return await sent
        namespace = namespace or self.options.namespace
        key = f"{namespace}/{name}" if namespace and name else name
        try:
            answer = await sent
        except (TransportError, APIError) as error:
            if _may_be_done(error):
                self._expectations.unsure(self._reader.request, ref.gvk, key)
            raise
        self._note(ref.gvk, _verb(method, name, content_type), key, subresource, body, answer)
        return answer

    def _note(self, kind: GroupVersionKind, verb: str, key: str, subresource: str, body: bytes, answer: Answer) -> None:
        request, expectations = self._reader.request, self._expectations
        if verb == "deletecollection":
            expectations.unsure(request, kind, "")
            self._reader.wrote(Write(verb, kind, key))
            return
        try:
            head = _read_head(answer.body)
        except msgspec.MsgspecError:
            head = _Head()
        meta = head.metadata
        if verb == "delete" and (head.kind == "Status" or not meta.deletion_timestamp):
            expectations.deleted(kind, key, head.details.uid or meta.uid)
        elif head.kind == kind.kind and meta.resource_version:
            key = _key(meta)
            expectations.wrote(request, kind, key, meta.resource_version)
            if subresource == "status" and kind == self._primary and key == _key(request):
                before = _version_in(body)
                if before and before != meta.resource_version:
                    expectations.reported(kind, key, before, meta.resource_version)
        self._reader.wrote(Write(verb, kind, key, subresource, meta.resource_version))


def _verb(method: str, name: str, content_type: str) -> str:
    if method == "PATCH":
        return "apply" if content_type == APPLY else "patch"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    return "create" if method == "POST" else "update"


def _may_be_done(error: TransportError | APIError) -> bool:
    """Whether a request that failed may have changed something all the same."""
    return error.sent if isinstance(error, TransportError) else error.code >= 500


def _version_in(body: bytes) -> str:
    """The version that a write was conditional on; empty where it was not."""
    try:
        return _read_head(body).metadata.resource_version
    except msgspec.MsgspecError:
        return ""


def _head_of(tree: Object) -> _Meta:
    return msgspec.convert(tree.get("metadata") or {}, _Meta)


def _key(place: "_Meta | Request") -> str:
    return f"{place.namespace}/{place.name}" if place.namespace else place.name


def _matcher(selector: label_selectors.Selector, fields: str) -> Callable[[Held[Any]], bool]:
    """Whether an object is asked for. A field that it does not have counts as empty, as on a server."""
    if not fields:
        return lambda held: selector.matches(held.meta.labels)
    wanted = [(parse_path(field), value, equals) for field, value, equals in field_selectors.parse(fields).requirements]

    def matches(held: Held[Any]) -> bool:
        if not selector.matches(held.meta.labels):
            return False
        tree = tree_of(held.object)
        return all((_text(value_at(tree, path)) == value) is equals for path, value, equals in wanted)

    return matches


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
