"""FlowSchemas as rules: matches requests to a schema and to one of its flows."""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects.tree import Object
from setpoint.server.ports import User
from setpoint.server.requestinfo import RequestInfo

_ACCOUNTS = "system:serviceaccount:"


class FlowSchema(NamedTuple):
    """A FlowSchema. In sorted order, the first schema that matches a request applies."""

    precedence: int
    name: str
    uid: str
    level: str
    method: str
    rules: Sequence[Object]

    def matches(self, user: User, info: RequestInfo) -> bool:
        return any(_rule_matches(rule, user, info) for rule in self.rules)

    def distinguisher(self, user: User, info: RequestInfo) -> str:
        """Returns the flow distinguisher: requests of a schema with equal distinguishers share a queue."""
        return user.name if self.method == "ByUser" else info.namespace if self.method == "ByNamespace" else ""


def flow_schema(tree: Object) -> FlowSchema:
    """Reads a stored FlowSchema."""
    spec, metadata = tree.get("spec") or {}, tree["metadata"]
    return FlowSchema(
        precedence=spec.get("matchingPrecedence") or 1000,
        name=metadata["name"],
        uid=metadata.get("uid") or "",
        level=(spec.get("priorityLevelConfiguration") or {}).get("name") or "",
        method=(spec.get("distinguisherMethod") or {}).get("type") or "",
        rules=tuple(spec.get("rules") or ()),
    )


def _rule_matches(rule: Object, user: User, info: RequestInfo) -> bool:
    if not any(_subject_matches(subject, user) for subject in rule.get("subjects") or ()):
        return False
    if info.is_resource:
        return any(_resource_matches(item, info) for item in rule.get("resourceRules") or ())
    return any(_url_matches(item, info) for item in rule.get("nonResourceRules") or ())


def _subject_matches(subject: Object, user: User) -> bool:
    match subject.get("kind"):
        case "User":
            return subject["user"]["name"] in ("*", user.name)
        case "Group":
            name = subject["group"]["name"]
            return name == "*" or name in user.groups
        case "ServiceAccount":
            account = subject["serviceAccount"]
            space = f"{_ACCOUNTS}{account['namespace']}:"
            return user.name.startswith(space) and account["name"] in ("*", user.name.removeprefix(space))
    return False


def _has(values: Sequence[str], wanted: str) -> bool:
    return "*" in values or wanted in values


def _resource_matches(rule: Object, info: RequestInfo) -> bool:
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if not (
        _has(rule.get("verbs") or (), info.verb)
        and _has(rule.get("resources") or (), resource)
        and _has(rule.get("apiGroups") or (), info.group)
    ):
        return False
    return _has(rule.get("namespaces") or (), info.namespace) if info.namespace else bool(rule.get("clusterScope"))


def _url_matches(rule: Object, info: RequestInfo) -> bool:
    if not _has(rule.get("verbs") or (), info.verb):
        return False
    # A path also covers everything below, with or without a trailing star.
    return any(
        url in ("*", info.path) or info.path.startswith(f"{url.removesuffix('*').rstrip('/')}/")
        for url in rule.get("nonResourceURLs") or ()
    )
