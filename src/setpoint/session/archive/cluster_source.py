"""The current objects of any Kubernetes cluster as the source of an archive, read through its API.

The rights of the user are the limit: resources that the user may not list are skipped, and named in the notes of the
archive. All lists are read at one revision as far as the cluster permits. The objects wait in an unnamed temporary file
until all are read, because an archive is ordered by revision; memory holds one page, and one short record per object.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from setpoint.client.client import Client
from setpoint.client.discovery import APIResource, Discovered
from setpoint.client.list_result import PAGE, RawList, decode_raw
from setpoint.objects.errors import APIError, Expired, Forbidden, Gone, Unauthorized
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.provenance import Actor
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.past.archive.format import LogOf
from setpoint.server.registry import builtin_resources
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.storage import Encoding, Storage
from setpoint.session.archive.sources import Owner
from setpoint.store.contract import LogEntry, StoreError

# The verbs of every resource with stored objects. An aggregated API that computes its objects lacks some of them.
_STORED_VERBS = {"get", "list", "watch", "create", "delete"}
_DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
_NAMESPACES = ("", "namespaces")
# APIServices are not read: they belong to a server itself, and would refer to services that do not exist elsewhere.
_READ_APART = frozenset({_DEFINITIONS, _NAMESPACES, ("apiregistration.k8s.io", "apiservices")})
# The number of attempts to read a list whose continue token expires.
_ATTEMPTS = 3
_decode = msgspec.json.Decoder(dict).decode


class RecordingError(StoreError):
    """Raised for a cluster that cannot be recorded, with the reason."""


class ClusterSelection(NamedTuple):
    """The objects to record. Namespaces and definitions of the selected objects are always included."""

    # The namespaces; empty for all.
    namespaces: Sequence[str] = ()
    # The names of resources as `kubectl get` accepts them; empty for all.
    resources: Sequence[str] = ()
    # A label selector of the objects.
    labels: str = ""
    events: bool = False


class _Place(NamedTuple):
    """A resource to list, in the version to store, and the keys of its objects."""

    resource: APIResource
    storage: Storage

    @property
    def name(self) -> str:
        group = self.resource.gvk.group
        return f"{self.resource.plural}.{group}" if group else self.resource.plural


class _Kept(NamedTuple):
    """An object in the temporary file."""

    revision: int
    key: str
    start: int
    length: int
    time: float
    manager: str


class ClusterSource:
    """The current objects of a cluster. `namespace` is listed instead of all namespaces if the user may not list a
    resource in all of them.

    with ClusterSource(client, ClusterSelection(namespaces=["shop"]), "shop") as source:
        await write_archive(path, source, contents, clock)
    """

    def __init__(self, client: Client, selection: ClusterSelection, namespace: str) -> None:
        self._client, self._selection, self._namespace = client, selection, namespace
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._size = 0
        self._kept: dict[str, _Kept] = {}
        # The revision at which all lists are read.
        self._revision = 0
        self._is_read = False
        self._builtin: dict[tuple[str, str], Resource] = {}
        for each in builtin_resources.resources():
            self._builtin.setdefault((each.group, each.resource), each)
        # The definitions that the user may read, by group and plural; None if the user may not list them.
        self._definitions: dict[tuple[str, str], Object] | None = {}
        # The resources that were skipped, and the reasons, for the reader of the archive.
        self.notes: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    # The source of an archive

    async def bounds(self) -> tuple[int, int]:
        await self._read()
        current = max([self._revision, *(kept.revision for kept in self._kept.values())])
        return current, current

    async def entries(self) -> AsyncIterator[Sequence[LogEntry]]:
        await self._read()
        ordered = sorted(self._kept.values())
        for start in range(0, len(ordered), PAGE):
            yield [self._entry(kept) for kept in ordered[start : start + PAGE]]

    async def logs(self, owners: Sequence[Owner]) -> Sequence[LogOf]:
        return []

    async def output(self, log: LogOf, since: datetime | None) -> AsyncIterator[bytes]:
        return
        yield b""

    def _entry(self, kept: _Kept) -> LogEntry:
        self._file.seek(kept.start)
        value, actor = self._file.read(kept.length), Actor("", field_manager=kept.manager)
        return LogEntry(kept.revision, kept.key, value, 0, kept.revision, kept.time, actor, None)

    # Reading

    async def _read(self) -> None:
        if self._is_read:
            return
        self._is_read = True
        found = await self._client.mapper.discover()
        self.notes += [f"{version}: {error}" for version, error in found.failures.items()]
        await self._read_definitions()
        places = self._places(found)
        await self._read_namespaces()
        for place in places:
            await self._read_resource(place)
        if self._definitions is not None:
            names = {place.name for place in places}
            for (group, plural), definition in self._definitions.items():
                if not self._selection.resources or f"{plural}.{group}" in names:
                    self._keep(self._known(_DEFINITIONS), definition)
        if not self._kept:
            raise RecordingError("no object could be read: " + ("; ".join(self.notes) or "none matches the selection"))

    async def _read_definitions(self) -> None:
        definitions: dict[tuple[str, str], Object] = {}
        place = self._known(_DEFINITIONS)
        try:
            async for item in self._objects(place.resource.path(), ""):
                definitions[item["spec"]["group"], item["spec"]["names"]["plural"]] = self._typed(place, item)
        except Unauthorized:
            raise
        except APIError as error:
            self._note(place.name, error)
            self._definitions = None
        else:
            self._definitions = definitions

    async def _read_namespaces(self) -> None:
        place = self._known(_NAMESPACES)
        if not self._selection.namespaces:
            await self._read_resource(place, labels="")
            return
        for name in self._selection.namespaces:
            try:
                answer = await self._client.raw("GET", place.resource.path(name=name))
                self._keep(place, _decode(answer.body))
            except Unauthorized:
                raise
            except APIError as error:
                self.notes.append(f"namespace {name}: {error}")

    def _note(self, name: str, error: APIError) -> None:
        text = str(error)
        self.notes.append(text if text.startswith(name) else f"{name}: {text}")

    def _known(self, name: tuple[str, str]) -> _Place:
        """Returns a built-in resource that every cluster has."""
        builtin = self._builtin[name]
        gvk = GroupVersionKind(builtin.group, builtin.version, builtin.kind)
        return _Place(APIResource(gvk, builtin.resource, builtin.namespaced), builtin.storage)

    def _places(self, found: Discovered) -> list[_Place]:
        """Returns the selected resources, each in the version that is stored."""
        served = {(each.gvk.group_version, each.plural): each for each in found.resources}
        chosen = found.preferred()
        if self._selection.resources:
            chosen = []
            for name in self._selection.resources:
                each = found.named(name)
                if each is None:
                    raise RecordingError(f"the cluster has no resource {name!r}: see `kubectl api-resources`")
                chosen.append(each)
        places: dict[str, _Place] = {}
        for each in chosen:
            if (each.gvk.group, each.plural) in _READ_APART:
                continue
            place = self._place(each, served)
            if place is not None:
                places.setdefault(place.storage.prefix, place)
        return list(places.values())

    def _place(self, each: APIResource, served: Mapping[tuple[GroupVersion, str], APIResource]) -> _Place | None:
        builtin = self._builtin.get((each.gvk.group, each.plural))
        title = f"{each.plural}.{each.gvk.group}" if each.gvk.group else each.plural
        if builtin is not None:
            if each.plural == "events" and not self._selection.events:
                return None
            version = GroupVersion.parse(builtin.storage.api_version)
            stored = served.get((version, each.plural))
            if stored is None:
                self.notes.append(f"{title}: the cluster does not serve version {version}, which Setpoint stores")
            return _Place(stored, builtin.storage) if stored and set(stored.verbs) >= _STORED_VERBS else None
        definition = (self._definitions or {}).get((each.gvk.group, each.plural))
        if definition is None and (self._definitions is not None or not set(each.verbs) >= _STORED_VERBS):
            if "list" in each.verbs:
                self.notes.append(f"{title}: skipped, because an aggregated API server has these objects")
            return None
        if definition is not None:
            names = [version["name"] for version in definition["spec"]["versions"] if version.get("storage")]
            each = served.get((GroupVersion(each.gvk.group, names[0]), each.plural), each) if names else each
        gvk = each.gvk
        return _Place(each, Storage(gvk.group, each.plural, each.namespaced, gvk.api_version, gvk.kind))

    async def _read_resource(self, place: _Place, labels: str | None = None) -> None:
        labels = self._selection.labels if labels is None else labels
        namespaces = self._selection.namespaces if place.resource.namespaced else ()
        try:
            for namespace in namespaces or ("",):
                await self._read_list(place, namespace, labels)
        except Unauthorized:
            raise
        except Forbidden as error:
            if namespaces or not place.resource.namespaced:
                self._note(place.name, error)
            else:
                await self._read_own_namespace(place, labels)
        except APIError as error:
            self._note(place.name, error)

    async def _read_own_namespace(self, place: _Place, labels: str) -> None:
        """Lists a resource in the namespace of the user, after the list of all namespaces was refused."""
        try:
            await self._read_list(place, self._namespace, labels)
            self.notes.append(f"{place.name}: only those in the namespace {self._namespace} may be listed")
        except APIError as error:
            self._note(place.name, error)

    async def _read_list(self, place: _Place, namespace: str, labels: str) -> None:
        async for item in self._objects(place.resource.path(namespace), labels):
            self._keep(place, self._typed(place, item))

    async def _objects(self, path: str, labels: str) -> AsyncIterator[Object]:
        """Yields the objects of a list, page by page. If the continue token expires, begins again at the current
        revision, and yields some objects again."""
        for attempt in range(_ATTEMPTS):
            try:
                continued = ""
                while True:
                    page = await self._page(path, labels, continued, exact=not attempt)
                    for item in page.items or ():
                        yield _decode(item)
                    continued = page.metadata.continue_
                    if not continued:
                        return
            except (Expired, Gone):
                if attempt + 1 == _ATTEMPTS:
                    raise

    async def _page(self, path: str, labels: str, continued: str, *, exact: bool) -> RawList:
        query = [("limit", str(PAGE))]
        if labels:
            query.append(("labelSelector", labels))
        if continued:
            return await self._list(path, [*query, ("continue", continued)])
        if exact and self._revision:
            at = [("resourceVersion", str(self._revision)), ("resourceVersionMatch", "Exact")]
            try:
                return await self._list(path, [*query, *at])
            except (Unauthorized, Expired, Gone):
                raise
            except APIError:
                pass  # a resource with a store of its own, such as events, or a user without the right to the past
        page = await self._list(path, query)
        self._revision = self._revision or _number(page.metadata.resource_version)
        return page

    async def _list(self, path: str, query: Sequence[tuple[str, str]]) -> RawList:
        answer = await self._client.raw("GET", path, query=query)
        return decode_raw(answer.body)

    def _typed(self, place: _Place, item: Object) -> Object:
        """Returns an object of a list with its kind: servers omit the kinds of built-in objects."""
        return {"apiVersion": place.storage.api_version, "kind": place.storage.kind, **item}

    def _keep(self, place: _Place, tree: Object) -> None:
        metadata = tree["metadata"]
        key = place.storage.key(metadata.get("namespace", ""), metadata["name"])
        value = Encoding(tree["apiVersion"], tree["kind"]).encode(tree)
        time, manager = _last_write(metadata)
        self._file.seek(self._size)
        self._file.write(value)
        revision = _number(metadata["resourceVersion"])
        self._kept[key] = _Kept(revision, key, self._size, len(value), time, manager)
        self._size += len(value)


def _number(resource_version: str) -> int:
    if not resource_version.isdecimal():
        raise RecordingError(f"the resource version {resource_version!r} of the cluster is not a number")
    return int(resource_version)


def _last_write(metadata: Object) -> tuple[float, str]:
    """Returns the time and the field manager of the last write that the object tells."""
    created = metadata.get("creationTimestamp") or "1970-01-01T00:00:00Z"
    return max(_writes(metadata), default=(parse_time(created).timestamp(), ""))


def _writes(metadata: Object) -> Iterator[tuple[float, str]]:
    for each in metadata.get("managedFields") or ():
        if each.get("time"):
            yield parse_time(each["time"]).timestamp(), each.get("manager", "")
