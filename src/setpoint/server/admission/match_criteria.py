"""Match criteria of webhooks and policies: rules for operations on resources, and selectors for namespaces and objects.

`Criteria` are read from a webhook, or from the `matchConstraints` and `matchResources` of policies. The result of a
match is the resource in whose version the object is presented: the operation's own resource or, with `matchPolicy:
Equivalent`, the first resource with the same storage that a rule names.
"""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects import labels, meta
from setpoint.objects.errors import InternalError, NotFound
from setpoint.objects.gvk import GroupResource
from setpoint.objects.labels import Selector
from setpoint.objects.tree import Object, copy
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.conversion.pending import ConvertedObjects, RequiredConversion
from setpoint.server.registry.conversion.review import ConversionFailed
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context, Services

_REGISTRATION = "admissionregistration.k8s.io"
# Never sent to webhooks and policies; otherwise a broken webhook or policy could make its own repair impossible.
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
    """Returns True if webhooks and policies never apply to the resource."""
    return resource.group == _REGISTRATION or resource.group_resource in _REVIEWS


class RuleWithOperations(NamedTuple):
    """Operations on resources. `*` matches all; an empty set of names matches all names."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    # Pairs of resource and subresource; the subresource is empty for the resource itself.
    resources: Sequence[tuple[str, str]]
    scope: str = "*"
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tree: Object) -> "RuleWithOperations":
        """Reads a rule of a webhook or policy."""
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
        """Returns True if the rule matches the operation, ignoring the name of the object."""
        return (
            (verb in self.operations or "*" in self.operations)
            and (resource.group in self.groups or "*" in self.groups)
            and (resource.version in self.versions or "*" in self.versions)
            and (self.scope == "*" or (self.scope == "Namespaced") == resource.namespaced)
            and any(name in (resource.resource, "*") and below in (subresource, "*") for name, below in self.resources)
        )


class Criteria:
    """The operations that a webhook, function or policy applies to."""

    def __init__(
        self,
        rules: Sequence[RuleWithOperations],
        *,
        excluded: Sequence[RuleWithOperations] = (),
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
        # True if the absence of rules selects all resources.
        self._everything = everything

    @classmethod
    def of_webhook(cls, hook: Object) -> "Criteria":
        """Reads the criteria of a webhook."""
        return cls(
            [RuleWithOperations.of(rule) for rule in hook.get("rules") or ()],
            equivalent=hook.get("matchPolicy") == "Equivalent",
            namespace_selector=labels.from_object(hook.get("namespaceSelector") or {}),
            object_selector=labels.from_object(hook.get("objectSelector") or {}),
        )

    @classmethod
    def of_match_resources(cls, match: Object) -> "Criteria":
        """Reads the criteria of a policy or policy binding."""
        rules = [RuleWithOperations.of(rule) for rule in match.get("resourceRules") or ()]
        return cls(
            rules,
            excluded=[RuleWithOperations.of(rule) for rule in match.get("excludeResourceRules") or ()],
            equivalent=match.get("matchPolicy") == "Equivalent",
            namespace_selector=labels.from_object(match.get("namespaceSelector") or {}),
            object_selector=labels.from_object(match.get("objectSelector") or {}),
            everything=not rules,
        )

    def may_match(self, resource: Resource, verb: str, subresource: str) -> bool:
        """Returns True if an operation of this kind can match. Depends on the arguments only, so callers can cache the
        result."""
        if self._everything:
            return True
        return any(
            rule.covers(candidate, verb, subresource)
            for rule in self._rules
            for candidate in (resource, *self._equivalents(resource, subresource))
        )

    async def match(self, context: Context, operation: Operation) -> Resource | None:
        """Returns the resource in whose version the object is presented, or None if the operation does not match.
        Raises NotFound if the match depends on a namespace that does not exist."""
        if self._find(self._excluded, operation) is not None:
            return None
        found = operation.resource if self._everything else self._find(self._rules, operation)
        if found is None or not self._selects_object(operation):
            return None
        if not await self._selects_namespace(context.services, operation):
            return None
        operation.converted = await convert_objects(operation, found) if found.fetch is not None else ()
        return found

    def _find(self, rules: Sequence[RuleWithOperations], operation: Operation) -> Resource | None:
        own = operation.resource
        if not rules:
            return None
        if any(_applies(rule, own, operation) for rule in rules):
            return own
        others = self._equivalents(own, operation.subresource)
        return next((other for rule in rules for other in others if _applies(rule, other, operation)), None)

    def _equivalents(self, resource: Resource, subresource: str) -> list[Resource]:
        """Returns the other versions and groups that serve the same objects."""
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
            # A Namespace object is matched by its new labels.
            return selector.matches(meta.labels(operation.object or {"metadata": {}}))
        if not resource.namespaced and not is_namespace:
            return True
        namespace = await namespace_of(services, operation)
        return selector.matches(meta.labels(namespace))


async def namespace_of(services: Services, operation: Operation) -> Object:
    """Returns the namespace of an operation, or the namespace that the operation is about. Shared: do not modify.
    Raises NotFound."""
    name = operation.namespace or operation.name
    found = (await services.namespaces.current()).get(f"{services.namespaces.prefix}{name}")
    if found is None:
        raise NotFound.of(_NAMESPACES, name)
    return found


async def convert_objects(operation: Operation, target: Resource) -> ConvertedObjects:
    """Converts the objects of an operation, so that `in_version` can present them. Raises InternalError."""
    resource = operation.resource
    if target is resource or resource.fetch is None:
        return ()
    own, other = resource.api_version, target.api_version
    trees = [tree for tree in (operation.object, operation.old) if tree is not None and tree.get("apiVersion") == own]
    try:
        return await resource.fetch([RequiredConversion(tree, own, other) for tree in trees])
    except ConversionFailed as error:
        raise InternalError.of(error.message) from None


def in_version(operation: Operation, tree: Object | None, target: Resource) -> Object | None:
    """Returns the new or old object of an operation in the version of the matched resource. Do not modify: without a
    conversion, this is the operation's own object."""
    resource = operation.resource
    if tree is None or target is resource or tree.get("apiVersion") != resource.api_version:
        # The object of a subresource (Scale, Eviction) is the same in every version.
        return tree
    return resource.to(target, copy(tree))


def _applies(rule: RuleWithOperations, resource: Resource, operation: Operation) -> bool:
    named = not rule.names or operation.name in rule.names
    return named and rule.covers(resource, operation.verb, operation.subresource)
