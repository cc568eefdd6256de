"""Discovery: reads the resources of a server from the aggregated documents, or on older servers from one document for
each version."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from setpoint.client.transport import Answer, Call
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object

AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
TIMEOUT_SECONDS = 32.0


class APIResource(NamedTuple):
    """A resource that the server serves."""

    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""
    subresources: tuple[str, ...] = ()

    @property
    def group_version(self) -> GroupVersion:
        return self.gvk.group_version

    def belongs_to(self, text: str) -> bool:
        """Returns True if the text is empty, the group, a prefix of the group, or version and group."""
        group, version = self.gvk.group, self.gvk.version
        names = (group, f"{version}.{group}", version if not group else "")
        return not text or text in names or group.startswith(f"{text}.")

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Returns the URL path of the resource, of an object, or of a subresource. Names must be percent-encoded
        already."""
        gvk = self.gvk
        start = f"/apis/{gvk.group}/{gvk.version}" if gvk.group else f"/api/{gvk.version}"
        scope = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        tail = f"/{name}" if name else ""
        return f"{start}{scope}/{self.plural}{tail}" + (f"/{subresource}" if subresource else "")


class Discovered(NamedTuple):
    """The resources of a server, and the versions that could not be read."""

    resources: list[APIResource]
    # The reasons, by version. A version fails if its aggregated API server does not answer.
    failures: dict[GroupVersion, APIError]

    def preferred(self) -> list[APIResource]:
        """Returns each resource in one version: the one that the server prefers."""
        found: dict[tuple[str, str], APIResource] = {}
        for each in self.resources:
            found.setdefault((each.gvk.group, each.plural), each)
        return list(found.values())

    def namespaced(self) -> list[APIResource]:
        """Returns the namespaced resources, each in the preferred version."""
        return [each for each in self.preferred() if each.namespaced]

    def named(self, name: str) -> APIResource | None:
        """Returns the resource of a name that `kubectl get` accepts: the plural, the singular, a short name or the
        kind, optionally followed by the group, or by version and group. Returns None for an unknown name."""
        word, _, rest = name.partition(".")
        word = word.lower()
        matches = [each for each in self.resources if each.belongs_to(rest)]
        for each in matches:
            if word in (each.plural, each.singular, each.gvk.kind.lower()):
                return each
        return next((each for each in matches if word in each.short_names), None)


class Group(NamedTuple):
    """An API group: its versions, the preferred one first, and the resources of each version that was read."""

    name: str
    versions: tuple[str, ...]
    resources: dict[str, tuple[APIResource, ...]]


def root_calls() -> tuple[Call, Call]:
    """Returns the first requests of discovery: the core group, and all other groups."""
    headers = {"accept": AGGREGATED}
    return Call("GET", "/api", (), headers, timeout=TIMEOUT_SECONDS), Call(
        "GET", "/apis", (), headers, timeout=TIMEOUT_SECONDS
    )


def version_call(version: GroupVersion) -> Call:
    """Returns the request for the resources of one version."""
    path = f"/apis/{version}" if version.group else f"/api/{version}"
    return Call("GET", path, (), {"accept": "application/json"}, timeout=TIMEOUT_SECONDS)


def group_call(name: str) -> Call:
    """Returns the request for the versions of one group."""
    headers = {"accept": "application/json"}
    return Call("GET", f"/apis/{name}" if name else "/api", (), headers, timeout=TIMEOUT_SECONDS)


def is_aggregated(answer: Answer) -> bool:
    """Returns True if the answer is an aggregated document, which contains the resources."""
    return "as=APIGroupDiscoveryList" in answer.headers.get("content-type", "")


def aggregated_groups(answer: Answer) -> list[Group]:
    """Returns the groups of an aggregated document."""
    found = []
    for item in _items(msgspec.json.decode(answer.body), "items"):
        name = item.get("metadata", {}).get("name", "")
        resources: dict[str, tuple[APIResource, ...]] = {}
        versions: list[str] = []
        for version in _items(item, "versions"):
            gv = GroupVersion(name, version.get("version", ""))
            versions.append(gv.version)
            # The server could not read the resources of a stale version, so the version is asked for on demand.
            if version.get("freshness") != "Stale":
                resources[gv.version] = tuple(_aggregated(gv, each) for each in _items(version, "resources"))
        found.append(Group(name, tuple(versions), resources))
    return found


def _aggregated(gv: GroupVersion, item: Object) -> APIResource:
    kind = item.get("responseKind") or {}
    gvk = GroupVersionKind(kind.get("group") or gv.group, kind.get("version") or gv.version, kind.get("kind") or "")
    return APIResource(
        gvk,
        item.get("resource", ""),
        item.get("scope") == "Namespaced",
        tuple(item.get("verbs") or ()),
        tuple(item.get("shortNames") or ()),
        tuple(item.get("categories") or ()),
        item.get("singularResource", ""),
        tuple(each.get("subresource", "") for each in _items(item, "subresources")),
    )


def group_versions(answer: Answer) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the groups and their versions of a document without resources: `/api`, `/apis` or a single group."""
    tree = msgspec.json.decode(answer.body)
    if tree.get("kind") == "APIVersions":
        return [("", tuple(tree.get("versions") or ()))]
    groups = _items(tree, "groups") if tree.get("kind") == "APIGroupList" else [tree]
    found = []
    for group in groups:
        preferred = (group.get("preferredVersion") or {}).get("version", "")
        versions = [version.get("version", "") for version in _items(group, "versions")]
        versions.sort(key=lambda version: version != preferred)
        found.append((group.get("name", ""), tuple(versions)))
    return found


def version_resources(gv: GroupVersion, answer: Answer) -> tuple[APIResource, ...]:
    """Returns the resources in the document of one version."""
    items = _items(msgspec.json.decode(answer.body), "resources")
    below: dict[str, list[str]] = {}
    for item in items:
        plural, slash, subresource = item.get("name", "").partition("/")
        if slash:
            below.setdefault(plural, []).append(subresource)
    return tuple(
        APIResource(
            GroupVersionKind(item.get("group") or gv.group, item.get("version") or gv.version, item.get("kind", "")),
            item["name"],
            bool(item.get("namespaced")),
            tuple(item.get("verbs") or ()),
            tuple(item.get("shortNames") or ()),
            tuple(item.get("categories") or ()),
            item.get("singularName", ""),
            tuple(below.get(item["name"], ())),
        )
        for item in items
        if "/" not in item.get("name", "/")
    )


def _items(tree: Any, name: str) -> Iterable[Any]:
    return (tree.get(name) or ()) if isinstance(tree, dict) else ()
