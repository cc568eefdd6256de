"""The audit policy: selects the requests to record and the level of detail.

As in kube-apiserver, the first rule that matches a request decides. The policy file has kube-apiserver's format
(`audit.k8s.io/v1`, kind `Policy`); every mistake is reported with its line.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from msgspec import Meta, Struct, field

from setpoint.objects import typedyaml
from setpoint.objects.names import dns1123_subdomain
from setpoint.objects.typedyaml import Mistake, Mistakes, ParsedFile
from setpoint.server.ports import User
from setpoint.server.requestinfo import RequestInfo

Level: TypeAlias = Literal["None", "Metadata", "Request", "RequestResponse"]
Stage: TypeAlias = Literal["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"]

NONE: Level = "None"
# Levels ordered by the amount of recorded data.
RANK: Mapping[Level, int] = {"None": 0, "Metadata": 1, "Request": 2, "RequestResponse": 3}

_ANY = "*"


class GroupResources(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The resources of one API group."""

    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def matches(self, info: RequestInfo) -> bool:
        if self.group not in (_ANY, info.group):
            return False
        if not self.resources:
            return True
        if self.resource_names and info.name not in self.resource_names:
            return False
        wanted = {_ANY, f"{info.resource}/{info.subresource}" if info.subresource else info.resource}
        wanted.add(f"{info.resource}/*")
        if info.subresource:
            wanted.add(f"*/{info.subresource}")
        return not wanted.isdisjoint(self.resources)


class AuditRule(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Selects requests and sets their audit level. An empty field matches every request."""

    level: Level
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    namespaces: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = field(default=(), name="nonResourceURLs")
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool | None = None

    def matches(self, user: User, info: RequestInfo) -> bool:
        if self.users and user.name not in self.users:
            return False
        if self.user_groups and not any(group in self.user_groups for group in user.groups):
            return False
        if self.verbs and info.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            if not info.is_resource or (self.namespaces and info.namespace not in self.namespaces):
                return False
            return not self.resources or any(each.matches(info) for each in self.resources)
        if self.non_resource_urls:
            return not info.is_resource and any(_path_matches(info.path, url) for url in self.non_resource_urls)
        return True


class Decision(NamedTuple):
    """The audit level and options for one request."""

    level: Level
    omit_stages: Collection[Stage]
    omit_managed_fields: bool


class AuditPolicy(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The audit rules, in order of precedence."""

    api_version: Literal["audit.k8s.io/v1"]
    kind: Literal["Policy"]
    metadata: dict[str, Any] = {}
    rules: Annotated[tuple[AuditRule, ...], Meta(min_length=1)]
    omit_stages: tuple[Stage, ...] = ()
    omit_managed_fields: bool = False

    def decide(self, user: User, info: RequestInfo) -> Decision:
        """Returns the audit level and options for a request of a user."""
        for rule in self.rules:
            if rule.matches(user, info):
                own = rule.omit_managed_fields
                return Decision(
                    rule.level,
                    {*self.omit_stages, *rule.omit_stages},
                    self.omit_managed_fields if own is None else own,
                )
        return Decision(NONE, self.omit_stages, self.omit_managed_fields)


def load_policy(text: str, file: str) -> AuditPolicy:
    """Reads a policy file. Raises Mistakes."""
    source = typedyaml.read(text, file)
    policy = typedyaml.convert({} if source.tree is None else source.tree, AuditPolicy, source.where)
    found = [mistake for index, rule in enumerate(policy.rules) for mistake in _check(rule, index, source)]
    if found:
        raise Mistakes(found)
    return policy


def everything(level: Level) -> AuditPolicy:
    """Returns a policy that records all requests at the same level."""
    return AuditPolicy(api_version="audit.k8s.io/v1", kind="Policy", rules=(AuditRule(level=level),))


def _check(rule: AuditRule, index: int, source: ParsedFile) -> list[Mistake]:
    """Returns the mistakes in a rule that its types do not catch."""
    found: list[tuple[typedyaml.Path, str]] = []
    here: typedyaml.Path = ("rules", index)
    if rule.non_resource_urls and (rule.resources or rule.namespaces):
        found.append(((*here, "nonResourceURLs"), "a rule cannot combine nonResourceURLs with resources or namespaces"))
    for position, url in enumerate(rule.non_resource_urls):
        if url != _ANY and not url.startswith("/"):
            found.append(((*here, "nonResourceURLs", position), f"{url} must begin with /"))
        if _ANY in url[:-1]:
            found.append(((*here, "nonResourceURLs", position), f"{url} may contain * only at its end"))
    for position, each in enumerate(rule.resources):
        place: typedyaml.Path = (*here, "resources", position)
        if each.group not in ("", _ANY) and dns1123_subdomain(each.group):
            found.append(((*place, "group"), f"{each.group} is not an API group: write the group without a version"))
        if each.resource_names and not each.resources:
            found.append(((*place, "resourceNames"), "resourceNames requires resources"))
    return [Mistake(source.where(path), typedyaml.path_text(path), message) for path, message in found]


def _path_matches(path: str, url: str) -> bool:
    return url in (_ANY, path) or (url.endswith(_ANY) and path.startswith(url.rstrip(_ANY)))
