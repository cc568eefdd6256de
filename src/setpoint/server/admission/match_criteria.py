"""Which writes a webhook or a policy is about: rules of operations on resources, and selectors of what they touch.

`Criteria` are read once from a webhook, or from the `matchConstraints` and `matchResources` of policies. What they say
of an operation is the resource in whose version the object is to be shown: the operation's own, or, where other
versions count too (`matchPolicy: Equivalent`), the first of those that share its storage which a rule names.
"""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects import labels, meta
from setpoint.objects.errors import InternalError, NotFound
from setpoint.objects.gvk import GroupResource
from setpoint.objects.labels import Selector
from setpoint.objects.tree import Object, copy
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.conversion.pending import Held, Wanted
from setpoint.server.registry.conversion.review import ConversionFailed
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context, Services

_REGISTRATION = "admissionregistration.k8s.io"
# Neither webhooks nor policies are asked about these: who broke them could not be mended any more.
_REVIEWS = frozenset(
    (
        GroupResource("authentication.k8s.io", "selfsubjectreviews"),
        GroupResource("authentication.k8s.io", "tokenreviews"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"),
        GroupResource("authorization.k8s.io", "subjectaccessreviews"),
    )
)
_NAMESPACES = GroupResource("", "namespaces")


def is_exempt(resource: Resource) -> bool:
    """Whether no webhook and no policy is ever asked about a resource."""
    return resource.group == _REGISTRATION or resource.group_resource in _REVIEWS


class Rule(NamedTuple):
    """Operations on resources. `*` stands for every one; no names stand for all names."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    # Each a resource and a subresource, which is empty for the resource itself.
    resources: Sequence[tuple[str, str]]
    scope: str = "*"
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tree: Object) -> "Rule":
        """Reads a rule as it stands in a webhook or a policy."""
        pairs = (name.partition("/") for name in tree.get("resources") or ())
        return cls(
            frozenset(tree.get("operations") or ()),
            frozenset(tree.get("apiGroups") or ()),
            frozenset(tree.get("apiVersions") or ()),
            tuple((resource, subresource) for resource, _, subresource in pairs),
            tree.get("scope") or "*",
            frozenset(tree.get("resourceNames") or ()),
        )

    def covers(self, resource: Resource, verb: str, subresource: str) -> bool:
        """Whether the rule is about such operations, whatever their object is called."""
        return (
            (verb in self.operations or "*" in self.operations)
            and (resource.group in self.groups or "*" in self.groups)
            and (resource.version in self.versions or "*" in self.versions)
            and (self.scope == "*" or (self.scope == "Namespaced") == resource.namespaced)
            and any(name in (resource.resource, "*") and below in (subresource, "*") for name, below in self.resources)
        )


class Criteria:
    """Which operations something is about."""

    def __init__(
        self,
        rules: Sequence[Rule],
        *,
        excluded: Sequence[Rule] = (),
        equivalent: bool = True,
        namespace_selector: Selector,
        object_selector: Selector,
        everything: bool = False,
    ) -> None:
        self._rules = rules
        self._excluded = excluded
        self._equivalent = equivalent
        self._namespaces = namespace_selector
        self._objects = object_selector
        # Whether there are no rules because all resources are meant.
        self._everything = everything

    @classmethod
    def of_webhook(cls, hook: Object) -> "Criteria":
        """Those of a webhook."""
        return cls(
            [Rule.of(rule) for rule in hook.get("rules") or ()],
            equivalent=hook.get("matchPolicy") == "Equivalent",
            namespace_selector=labels.from_object(hook.get("namespaceSelector") or {}),
            object_selector=labels.from_object(hook.get("objectSelector") or {}),
        )

    @classmethod
    def of_match_resources(cls, match: Object) -> "Criteria":
        """Those of a policy, or of one of its bindings."""
        rules = [Rule.of(rule) for rule in match.get("resourceRules") or ()]
        return cls(
            rules,
            excluded=[Rule.of(rule) for rule in match.get("excludeResourceRules") or ()],
            equivalent=match.get("matchPolicy") == "Equivalent",
            namespace_selector=labels.from_object(match.get("namespaceSelector") or {}),
            object_selector=labels.from_object(match.get("objectSelector") or {}),
            everything=not rules,
        )

    def may_match(self, resource: Resource, verb: str, subresource: str) -> bool:
        """Whether some such operation can match: depends on nothing else, so that it can be asked once."""
        if self._everything:
            return True
        return any(
            rule.covers(candidate, verb, subresource)
            for rule in self._rules
            for candidate in (resource, *self._equivalents(resource, subresource))
        )

    async def match(self, context: Context, operation: Operation) -> Resource | None:
        """The resource in whose version the object is to be shown; None where the operation does not match.

        Raises NotFound where it would depend on a namespace that does not exist."""
        if self._find(self._excluded, operation) is not None:
            return None
        found = operation.resource if self._everything else self._find(self._rules, operation)
        if found is None or not self._selects_object(operation):
            return None
        if not await self._selects_namespace(context.services, operation):
            return None
        operation.held = await at_hand(operation, found) if found.fetch is not None else ()
        return found

    def _find(self, rules: Sequence[Rule], operation: Operation) -> Resource | None:
        own = operation.resource
        if not rules:
            return None
        if any(_applies(rule, own, operation) for rule in rules):
            return own
        others = self._equivalents(own, operation.subresource)
        return next((other for rule in rules for other in others if _applies(rule, other, operation)), None)

    def _equivalents(self, resource: Resource, subresource: str) -> list[Resource]:
        """The other versions, and groups, that the same objects are served in."""
        if not self._equivalent or len(resource.family) < 2:
            return []
        return [
            member
            for member in resource.family.values()
            if member.gvr != resource.gvr and (not subresource or subresource in member.subresources)
        ]

    def _selects_object(self, operation: Operation) -> bool:
        selector = self._objects
        if selector.is_everything:
            return True
        shown = (operation.object, operation.old)
        return any(selector.matches(meta.labels(tree)) for tree in shown if tree is not None and "metadata" in tree)

    async def _selects_namespace(self, services: Services, operation: Operation) -> bool:
        selector = self._namespaces
        if selector.is_everything:
            return True
        resource = operation.resource
        is_namespace = resource.group_resource == _NAMESPACES
        if is_namespace and not operation.subresource and operation.verb in (CREATE, UPDATE):
            # It is judged by what it is about to be.
            return selector.matches(meta.labels(operation.object or {"metadata": {}}))
        if not resource.namespaced and not is_namespace:
            return True
        namespace = await namespace_of(services, operation)
        return selector.matches(meta.labels(namespace))


async def namespace_of(services: Services, operation: Operation) -> Object:
    """The namespace that an operation takes place in, or that it is about. Shared: read it only. Raises NotFound."""
    name = operation.namespace or operation.name
    found = (await services.namespaces.current()).get(f"{services.namespaces.prefix}{name}")
    if found is None:
        raise NotFound.of(_NAMESPACES, name)
    return found


async def at_hand(operation: Operation, target: Resource) -> Held:
    """Has the objects of an operation converted, so that `in_version` can show them. Raises InternalError."""
    resource = operation.resource
    if target is resource or resource.fetch is None:
        return ()
    own, other = resource.api_version, target.api_version
    trees = [tree for tree in (operation.object, operation.old) if tree is not None and tree.get("apiVersion") == own]
    try:
        return await resource.fetch([Wanted(tree, own, other) for tree in trees])
    except ConversionFailed as error:
        raise InternalError.of(error.message) from None


def in_version(operation: Operation, tree: Object | None, target: Resource) -> Object | None:
    """The object of an operation, or its old one, as the resource that `match` gave shows it. Read it only: it is the
    operation's own where nothing had to be converted."""
    resource = operation.resource
    if tree is None or target is resource or tree.get("apiVersion") != resource.api_version:
        # What a subresource shows (a Scale, an Eviction) is the same for every version of its object.
        return tree
    return resource.to(target, copy(tree))


def _applies(rule: Rule, resource: Resource, operation: Operation) -> bool:
    named = not rule.names or operation.name in rule.names
    return named and rule.covers(resource, operation.verb, operation.subresource)
