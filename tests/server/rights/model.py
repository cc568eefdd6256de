"""RBAC and the rights to the past, written down from the documentation. Nothing of the server is imported here.

A request needs rights: one that its path and method say, and for some requests more. A user has rules, in the whole
cluster or in one namespace. A request is allowed if the rules cover all the rights it needs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

OWN = "setpoint.dev"
METHODS = {
    "create": "POST",
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
    "purge": "POST",
}
ALL = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
# Resources of setpoint.dev that are computed, and not stored.
COMPUTED = (
    "revisions",
    "ownership",
    "forks",
    "dashboardlogins",
    "summaries",
    "telemetry",
    "controllers",
    "timeline",
    "runs",
)
# Endpoints below objects that show no more than the object itself.
OF_OBJECT = ("summary", "environment", "probes", "attempts", "samples")
COLLECTION = ("create", "deletecollection", "list", "watch")
# Subresources that a GET opens a conversation with.
CONVERSATIONS = ("attach", "exec", "portforward")
# Questions about oneself: whoever is authenticated may ask them.
EVERYBODY = {
    ("create", "authentication.k8s.io", "selfsubjectreviews"),
    ("create", "authorization.k8s.io", "selfsubjectaccessreviews"),
    ("create", "authorization.k8s.io", "selfsubjectrulesreviews"),
}


class Row(NamedTuple):
    """One sort of request: a verb of a resource, or of what lies below its objects, at one sort of path."""

    group: str
    version: str
    resource: str
    in_namespace: bool
    named: bool
    subresource: str
    verb: str

    def path(self, namespace: str, name: str) -> str:
        """Returns the path of a request in a namespace for an object of a name."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.verb == "watch" and self.named:
            parts.append("watch")
        if self.in_namespace:
            parts += ["namespaces", namespace]
        parts.append(self.resource)
        if self.named:
            parts.append(name)
        if self.subresource:
            parts.append(self.subresource)
        return "/" + "/".join(parts)

    @property
    def method(self) -> str:
        return METHODS[self.verb]

    @property
    def query(self) -> dict[str, str]:
        return {"watch": "true"} if self.verb == "watch" and not self.named else {}


class Right(NamedTuple):
    """What a request needs to be allowed: a verb on a resource, in a namespace or (empty) in the whole cluster."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str


class Rule(NamedTuple):
    """A rule of a role, as bound to a user: in one namespace or (empty) in the whole cluster."""

    verbs: str
    groups: tuple[str, ...]
    resources: str
    namespace: str = ""

    def covers(self, right: Right) -> bool:
        if self.namespace not in ("", right.namespace):
            return False
        plain, _, below = right.resource.partition("/")
        resources = {"*", right.resource, f"*/{below}"} if below else {"*", plain}
        return (
            bool({"*", right.verb} & set(self.verbs.split()))
            and bool({"*", right.group} & set(self.groups))
            and bool(resources & set(self.resources.split()))
        )


def rows(table: Mapping[str, Any]) -> Iterator[Row]:
    """Reads the matrix."""
    for group_version, resources in table["resources"].items():
        group, _, version = group_version.rpartition("/")
        for resource, (scope, verbs, *subresources) in resources.items():
            namespaced = scope == "Namespaced"
            for verb in ALL if verbs == "all" else verbs.split():
                if verb in COLLECTION:
                    yield Row(group, version, resource, namespaced, False, "", verb)
                if verb not in COLLECTION or (verb == "watch" and group_version_is_stored(group, resource)):
                    yield Row(group, version, resource, namespaced, True, "", verb)
                if namespaced and verb in ("list", "watch"):
                    yield Row(group, version, resource, False, False, "", verb)
            for subresource, below in (subresources[0] if subresources else {}).items():
                for verb in below.split():
                    yield Row(group, version, resource, namespaced, True, subresource, verb)
            if verbs != "create" and group_version_is_stored(group, resource):
                plural = f"{resource}.{group}" if group else resource
                for subresource, verb in table["below"].items():
                    yield Row(OWN, "v1", plural, namespaced, True, subresource, verb)
                for subresource, named in table["details"].items():
                    if resource in named:
                        yield Row(OWN, "v1", plural, namespaced, True, subresource, "get")


def group_version_is_stored(group: str, resource: str) -> bool:
    """Tells whether objects of a resource are stored; the others are computed."""
    return (group, resource) not in {(OWN, each) for each in COMPUTED}


def rights(row: Row, namespace: str, name: str, *, at: bool) -> list[Right]:
    """Returns all rights that a request of a row needs."""
    where = namespace if row.in_namespace else ""
    # A Namespace is authorized in itself.
    if row.resource == "namespaces" and row.named:
        where = name
    resource = f"{row.resource}/{row.subresource}" if row.subresource else row.resource
    named = name if row.named else ""
    if row.group == OWN and row.subresource in OF_OBJECT:
        plural, _, group = row.resource.partition(".")
        return [Right("get", group, plural, where, named)]
    found = [Right(row.verb, row.group, resource, where, named)]
    if row.verb == "get" and row.subresource in CONVERSATIONS:
        found.append(Right("create", row.group, resource, where, named))
    if row.group == OWN and row.subresource in ("history", "why"):
        plural, _, group = row.resource.partition(".")
        found[0] = found[0]._replace(resource=f"{row.resource}/history")
        found.append(Right("get", group, plural, where, named))
    if at:
        plural = f"{row.resource}.{row.group}" if row.group else row.resource
        found.append(Right("get", OWN, f"{plural}/history", where, named))
    return found


def is_allowed(rules: Iterable[Rule], wanted: Iterable[Right], *, authenticated: bool) -> bool:
    """Tells whether rules cover all rights."""
    rules = list(rules)
    return all(
        any(rule.covers(right) for rule in rules)
        or (authenticated and (right.verb, right.group, right.resource) in EVERYBODY)
        for right in wanted
    )
