"""The verb of a request and the resource or plain path that the request names, parsed from the method and the path."""

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from setpoint.objects.gvk import GroupResource, GroupVersion

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PREFIXES = {"api": 3, "apis": 4}  # the minimum number of segments of a path that names a resource
# The number of slashes in the path of a subresource of a namespaced object, by the start of the path.
_BELOW = {"/api/": 7, "/apis": 8}
# The subresources of a namespace; every other segment after its name is a resource in the namespace.
_NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))
# Setpoint's own subresources of a namespace, in its own group.
OWN_GROUP = "setpoint.dev"
# Subresources without a time limit.
_LONG_RUNNING = frozenset(("attach", "exec", "proxy", "log", "portforward"))
# The subresource with a verb of its own, because a purge cannot be undone.
PURGE = "purge"
_OWN_NAMESPACE_SUBRESOURCES = frozenset(("history", PURGE, "summary", "why"))
# Setpoint's resource with lists below its path, which are named like objects.
TELEMETRY = "telemetry"
_TELEMETRY_LISTS = frozenset(("services", "traces", "metrics", "logs"))
# The verb of a request below these may depend on more than one segment.
_IRREGULAR = frozenset(("namespaces", TELEMETRY))
# Longer paths are not cached, so that the cache stays small.
_REMEMBERED = 256
# Creates a named tuple in half the time: every request has one.
_new = tuple.__new__


class RequestInfo(NamedTuple):
    """The parts of a request that authorization, the registry and the audit log use."""

    # A Kubernetes verb for resources, empty for methods without one; the method in lower case for everything else.
    verb: str
    path: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    subpath: tuple[str, ...] = ()  # the path after a subresource that accepts one (proxy)
    # True if the path has a prefix `namespaces/{namespace}/`. A path of a Namespace itself has none, though the request
    # is authorized in that namespace.
    in_namespace: bool = False

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)


def request_info(method: str, path: str, watch: str | None = None) -> RequestInfo:
    """Parses a percent-encoded path. `watch` is the query parameter of that name, None if absent.

    Most requests are for a collection, an object in a collection, or a subresource: the common part of such paths is
    cached.
    """
    if len(path) > _REMEMBERED:
        return _read(method, path, watch)
    above, _, last = path.rpartition("/")
    if path.count("/") == _BELOW.get(path[:5]):
        above, _, name = above.rpartition("/")
        found = _subresource(method, above, last)
    else:
        name = last
        found = _collection(method, above)
    if found is None or not name or "%" in name:
        return _remembered(method, path, watch)
    verb, _, _, group, version, namespace, resource, _, subresource, _, within = found
    return _new(RequestInfo, (verb, path, True, group, version, namespace, resource, name, subresource, (), within))


@lru_cache(maxsize=1024)
def _collection(method: str, path: str) -> RequestInfo | None:
    """Returns the info of a request for an object of a collection, without the object's name and path; None if the path
    is not a collection's, or if more than the name depends on the next segment."""
    found = _read(method, f"{path}/name", None)
    is_last = found.name == "name" and not found.subresource and not found.subpath
    return found if is_last and found.resource not in _IRREGULAR else None


@lru_cache(maxsize=1024)
def _subresource(method: str, path: str, subresource: str) -> RequestInfo | None:
    """Returns the same for a subresource of an object of a collection."""
    found = _read(method, f"{path}/name/{subresource}", None)
    return found if found.name == "name" and found.subresource == subresource and not found.subpath else None


def _read(method: str, path: str, watch: str | None) -> RequestInfo:
    # As on kube-apiserver, an escaped slash separates like any other.
    parts = (unquote(path) if "%" in path else path).strip("/").split("/")
    plain = RequestInfo(method.lower(), path)
    if len(parts) < _PREFIXES.get(parts[0], len(parts) + 1):
        return plain
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    verb = _VERBS.get(method, "")
    legacy_watch = rest[0] == "watch"
    if legacy_watch:
        rest = rest[1:]
        if not rest:
            return plain
        verb = "watch"

    namespace, in_namespace = "", False
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        in_namespace = len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES
        if in_namespace and group == OWN_GROUP and rest[2] in _OWN_NAMESPACE_SUBRESOURCES and len(rest) == 3:
            in_namespace = False
        if in_namespace:
            rest = rest[2:]
    resource, name, subresource, *tail = *rest, "", "", ""
    if subresource == PURGE and group == OWN_GROUP and verb == "create":
        verb = PURGE
    if group == OWN_GROUP and resource == TELEMETRY and name:
        # The path below a list continues without subresources, so that one right covers all of it.
        tail, subresource = [subresource, *tail], ""
        if verb == "get" and ((name in _TELEMETRY_LISTS and not tail[0]) or _collection_verb(verb, watch) == "watch"):
            verb = _collection_verb(verb, watch)
    if not name and verb in ("get", "delete"):
        verb = _collection_verb(verb, watch)
    return RequestInfo(
        verb,
        path,
        True,
        group,
        version,
        namespace,
        resource,
        name,
        subresource,
        tuple(part for part in tail if part),
        in_namespace,
    )


_remembered = lru_cache(maxsize=1024)(_read)


def _collection_verb(verb: str, watch: str | None) -> str:
    if verb == "delete":
        return "deletecollection"
    # As in Go, every value that is not false requests a watch.
    return "list" if watch is None or watch in ("", "false", "0", "False", "FALSE", "F", "f") else "watch"


def is_long_running(info: RequestInfo) -> bool:
    """Returns True if a request has no timeout, because the client decides on its duration."""
    return info.is_resource and (info.verb in ("watch", "proxy") or info.subresource in _LONG_RUNNING)
