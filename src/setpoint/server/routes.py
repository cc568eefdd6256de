"""The routing table: the served resources, scopes, subresources and verbs, and the function that serves each.

A request reaches a verb only through a row of this table. A request without a row is authorized by its path, as on
kube-apiserver, and then rejected: with 405 if other verbs are served at the same path, with 404 otherwise. The rows of
a resource follow from its declaration: its scope, its verbs and its subresources. Setpoint's own endpoints in the group
`setpoint.dev` are rows as well.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from setpoint.objects.errors import APIError, BadRequest, MethodNotAllowed, NotFound
from setpoint.objects.gvk import GroupResource
from setpoint.server.dashboard.login_endpoint import create_login
from setpoint.server.history import forks
from setpoint.server.history.object_history import GROUP, VERSION, history
from setpoint.server.history.ownership import ownership
from setpoint.server.history.purge import purge
from setpoint.server.history.revision_log import revisions
from setpoint.server.registry.registry import Registry
from setpoint.server.registry.resource import CREATE_ONLY, Resource
from setpoint.server.request.extension import Endpoint, ObjectEndpoint, OwnVerb, Verb
from setpoint.server.requestinfo import TELEMETRY, RequestInfo
from setpoint.server.telemetry import verbs as telemetry
from setpoint.server.verbs import usage_metrics
from setpoint.server.verbs.component_statuses import get_component_status, list_component_statuses
from setpoint.server.verbs.create import create
from setpoint.server.verbs.delete import delete, delete_collection
from setpoint.server.verbs.get import get
from setpoint.server.verbs.list import list_objects
from setpoint.server.verbs.patch import patch
from setpoint.server.verbs.pods import bind
from setpoint.server.verbs.reviews import review
from setpoint.server.verbs.subresources import SUBRESOURCES
from setpoint.server.verbs.update import update
from setpoint.server.verbs.watch import watch


class PathForm(NamedTuple):
    """A form of path: with or without a namespace, with or without a name, and the subresource."""

    in_namespace: bool
    named: bool
    subresource: str = ""


VERBS: Mapping[str, Verb] = {
    "create": create,
    "get": get,
    "list": list_objects,
    "watch": watch,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}
# The verbs of a collection, and those of a named object. The oldest clients watch one object by its name.
_OF_COLLECTIONS = frozenset(("create", "list", "watch", "deletecollection"))
_OF_OBJECTS = frozenset(("get", "update", "patch", "delete", "watch"))
# The verbs that need the name of an object.
_NAMING = frozenset(("update", "patch"))
# The verbs that read a collection across all namespaces.
_ACROSS_NAMESPACES = frozenset(("list", "watch"))
# The subresource that is followed by a path of its own.
_WITH_PATH = "proxy"
# The subresources of custom resources below which a path may continue, without a meaning.
_ENDING = frozenset(("status", "scale"))
# Cluster-scoped collections of `setpoint.dev` that are computed from the log.
_OWN_COLLECTIONS: Mapping[str, Mapping[str, OwnVerb]] = {
    "revisions": {"list": revisions},
    "ownership": {"watch": ownership},
    "dashboardlogins": {"create": create_login},
}
# The paths of forks: the collection, one fork, and the API of a fork, which continues with a path.
_FORKS: Mapping[PathForm, Mapping[str, OwnVerb]] = {
    PathForm(False, False): forks.OF_COLLECTION,
    PathForm(False, True): forks.OF_FORK,
    PathForm(False, True, forks.PROXY): forks.OF_PROXY,
}
# The collection of telemetry; its lists and their records, which are named like objects, have the same verbs.
_TELEMETRY: Mapping[PathForm, Mapping[str, OwnVerb]] = {
    PathForm(False, False): {verb: telemetry.VERBS[verb] for verb in ("list", "watch")},
    PathForm(False, True): {"get": telemetry.VERBS["get"]},
}
# Endpoints of `setpoint.dev` below an object of any stored resource; the resource is named `PLURAL.GROUP`.
_BELOW_OBJECTS: Mapping[str, Mapping[str, Verb]] = {"history": {"get": history}, "purge": {"purge": purge}}


# The key of the endpoints below objects among the documents of a registry.
_BELOW = "endpoints below objects"


class Row(NamedTuple):
    """One row of the table, in the form that the rights matrix of the tests uses."""

    group: str
    version: str
    resource: str
    place: PathForm
    verb: str


class Route(NamedTuple):
    """The resource of a request, and the function that answers."""

    resource: Resource
    verb: Verb


class HandlerRoute(NamedTuple):
    """The function that answers a request without a stored resource."""

    answer: OwnVerb


def find(registry: Registry, info: RequestInfo) -> Route | HandlerRoute | None:
    """Returns the route of a request, or None if the path is unknown and answered with a plain page.

    Raises NotFound for unknown paths of built-in groups and MethodNotAllowed for unknown verbs of known paths.
    """
    verb, _, _, group, version, _, plural, name, subresource, rest, in_namespace = info
    place = (group, version, plural, in_namespace, bool(name), subresource, verb)
    known: Route | None = None if rest else registry.routes.get(place)
    if known is not None:
        return known
    if group == GROUP and version == VERSION and (own := _find_own(registry, info)) is not None:
        return own
    resource = registry.resource(group, version, plural)
    if resource is None:
        if group in registry.builtin_groups or group == GROUP:
            raise NotFound.resource()
        return None
    rows = resource.routes or _fill(resource)
    # As on kube-apiserver, a path that continues below a subresource of a custom resource is that subresource.
    if not rest or subresource == _WITH_PATH or (resource.is_custom and subresource in _ENDING):
        found: Route | None = rows.get(place[3:])
        if found is not None:
            if not rest:
                registry.routes[place] = found
            return found
    if resource.is_custom and info.verb == "create" and info.name and not info.subresource:
        # As on kube-apiserver, the path of an object of a custom resource accepts a create as well.
        found = rows.get((info.in_namespace, False, "", "create"))
        if found is not None:
            return found
    error = _refusal(resource, info)
    if error is not None:
        raise error
    return None


def rows(registry: Registry) -> Iterator[Row]:
    """Yields all rows of the table."""
    for resource in registry:
        for in_namespace, named, subresource, verb in resource.routes or _fill(resource):
            place = PathForm(in_namespace, named, subresource)
            yield Row(resource.group, resource.version, resource.resource, place, verb)
    for name, verbs in _OWN_COLLECTIONS.items():
        for verb in verbs:
            yield Row(GROUP, VERSION, name, PathForm(in_namespace=False, named=False), verb)
    for name, places in ((forks.FORKS.resource, _FORKS), (TELEMETRY, _TELEMETRY)):
        for place, verbs in places.items():
            for verb in verbs:
                yield Row(GROUP, VERSION, name, place, verb)
    for each in registry.endpoints:
        if isinstance(each, Endpoint):
            for in_namespace in {False, each.in_namespaces}:
                place = PathForm(in_namespace, each.is_named, each.subresource)
                yield from (Row(GROUP, VERSION, each.resource, place, verb) for verb in each.answers)
    for resource in registry.group_resources.values():
        if resource.verbs == CREATE_ONLY:
            continue
        for subresource, below in _below(registry, resource.kind).items():
            for verb in below:
                place = PathForm(resource.namespaced, True, subresource)
                yield Row(GROUP, VERSION, str(resource.group_resource), place, verb)


def _fill(resource: Resource) -> Mapping[tuple[bool, bool, str, str], Route]:
    """Creates the rows of a resource and caches them on the resource."""
    found: dict[tuple[bool, bool, str, str], Verb] = {}
    scope = resource.namespaced
    if resource.verbs == CREATE_ONLY:
        found[scope, False, "", "create"] = bind if resource.kind == "Binding" else review
    else:
        for name in resource.verbs:
            if name in _OF_COLLECTIONS:
                found[scope, False, "", name] = VERBS[name]
            if name in _OF_OBJECTS:
                found[scope, True, "", name] = VERBS[name]
            if scope and name in _ACROSS_NAMESPACES:
                found[False, False, "", name] = VERBS[name]
    if resource.kind == "ComponentStatus" and not resource.group:
        found[False, True, "", "get"] = get_component_status
        found[False, False, "", "list"] = list_component_statuses
    if resource.is_replaceable:
        read = usage_metrics.VERBS[resource.resource]
        found = {place: read[place[3]] for place in found}
    for subresource in resource.subresources.values():
        own = SUBRESOURCES.get(subresource.name, {})
        for name in subresource.verbs:
            found[scope, True, subresource.name, name] = subresource.answers.get(name) or own.get(name) or VERBS[name]
    resource.routes.update({place: Route(resource, verb) for place, verb in found.items()})
    return resource.routes


def _refusal(resource: Resource, info: RequestInfo) -> APIError | None:
    """Returns the error for a path or verb that a resource does not have; None if the answer is a plain page."""
    in_scope = info.in_namespace == resource.namespaced
    if resource.is_custom and not resource.is_replaceable:
        across = not info.in_namespace and not info.name and info.verb in _ACROSS_NAMESPACES
        goes_on = info.subpath and info.subresource in resource.subresources and info.subresource not in _ENDING
        if (not in_scope and not across) or goes_on:
            return None
        if info.subresource and info.subresource not in resource.subresources:
            return NotFound.of(resource.group_resource, info.name)
        if not info.subresource and not info.name and info.verb in _NAMING:
            return BadRequest("name must be provided")
        return MethodNotAllowed.of(resource.group_resource, info.verb)
    place = (info.in_namespace, bool(info.name), info.subresource)
    if not info.subpath and any(row[:3] == place for row in resource.routes):
        return MethodNotAllowed.method()
    return NotFound.resource()


def _find_own(registry: Registry, info: RequestInfo) -> Route | HandlerRoute | None:
    """Returns the route of an endpoint of `setpoint.dev`, or None for any other path."""
    if info.resource == forks.FORKS.resource and (not info.subpath or info.subresource == forks.PROXY):
        return _own_handler(_FORKS.get(PathForm(info.in_namespace, bool(info.name), info.subresource)), info)
    if info.resource == TELEMETRY:
        return _own_handler(None if info.in_namespace else telemetry.VERBS, info)
    for each in registry.endpoints:
        if isinstance(each, Endpoint) and _is_at(each, info):
            return _own_handler(each.answers, info)
    if info.subpath:
        return None
    resource = registry.group_resources.get(GroupResource.parse(info.resource)) if info.name else None
    below = _below(registry, resource.kind if resource is not None else "").get(info.subresource)
    if info.name and below is not None:
        if resource is None or resource.namespaced != info.in_namespace or resource.verbs == CREATE_ONLY:
            raise NotFound.resource()
        verb = below.get(info.verb)
        if verb is None:
            raise MethodNotAllowed.method()
        return Route(resource.in_storage_version, verb)
    verbs = None if info.in_namespace or info.name else _OWN_COLLECTIONS.get(info.resource)
    return _own_handler(verbs, info)


def _is_at(endpoint: Endpoint, info: RequestInfo) -> bool:
    """Returns True if a path is that of an endpoint."""
    return (
        (endpoint.resource, endpoint.is_named, endpoint.subresource)
        == (info.resource, bool(info.name), info.subresource)
        and (endpoint.in_namespaces or not info.in_namespace)
        and (endpoint.continues or not info.subpath)
    )


def _below(registry: Registry, kind: str) -> Mapping[str, Mapping[str, Verb]]:
    """Returns the verbs of the endpoints below the objects of a kind, by name."""
    known: Mapping[str, Mapping[str, Verb]] | None = registry.documents.get((_BELOW, kind))
    if known is None:
        own = (each for each in registry.endpoints if isinstance(each, ObjectEndpoint) and each.serves(kind))
        known = {**_BELOW_OBJECTS, **{each.name: each.answers for each in own}}
        registry.documents[_BELOW, kind] = known
    return known


def _own_handler(verbs: Mapping[str, OwnVerb] | None, info: RequestInfo) -> HandlerRoute | None:
    """Returns the route to one of the verbs of a path, or None for a path without verbs."""
    if verbs is None:
        return None
    own = verbs.get(info.verb)
    if own is None:
        raise MethodNotAllowed.method()
    return HandlerRoute(own)
