"""The active policies: live views of policies and bindings, joined once for each change.

A policy is read when the first request matches, and cached until rewritten. The policies that may match a resource and
operation are determined once. Without policies, no CEL code is imported.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.server.admission.match_criteria import Criteria, is_exempt
from setpoint.server.ports import Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Services

GROUP, VERSION = "admissionregistration.k8s.io", "v1"
# Policies apply to webhook configurations, because policies do not depend on them.
_JUDGED = frozenset(("validatingwebhookconfigurations", "mutatingwebhookconfigurations"))


def is_beyond_policies(resource: Resource) -> bool:
    """Returns True if policies never apply to a resource: to policies themselves, which could lock out all users, and
    to reviews."""
    return is_exempt(resource) and resource.resource not in _JUDGED


class Selective(Protocol):
    """The attributes of a policy that the index uses."""

    name: str
    criteria: Criteria


class Binding:
    """A policy binding."""

    def __init__(self, tree: Object) -> None:
        spec: Object = tree.get("spec") or {}
        self.name = meta.name(tree)
        self.policy_name: str = spec.get("policyName") or ""
        self.param_ref: Object | None = spec.get("paramRef")
        self.actions: list[str] = spec.get("validationActions") or []
        self.criteria = Criteria.of_match_resources(spec.get("matchResources") or {})


P = TypeVar("P", bound=Selective)


class Hook(NamedTuple, Generic[P]):
    """A policy with its bindings."""

    policy: P
    bindings: Sequence[Binding]


class PolicySource(Generic[P]):
    """The policies of one kind."""

    def __init__(self, services: Services, policies: str, bindings: str, make: Callable[[Object], P]) -> None:
        self.policies = services.views.of(GROUP, VERSION, policies, lambda tree: tree)
        self._bindings = services.views.of(GROUP, VERSION, bindings, Binding)
        self._make = make
        self._made: dict[str, tuple[Object, P]] = {}
        self._generation = -1, -1
        self._hooks: Sequence[Hook[P]] = ()
        self._relevant: WeakKeyDictionary[Resource, dict[tuple[str, str], Sequence[Hook[P]]]] = WeakKeyDictionary()

    async def hooks(self, operation: Operation) -> Sequence[Hook[P]]:
        """Returns the policies that may match an operation, with their bindings, both sorted by name."""
        policies = await self.policies.current()
        if not policies:
            return ()
        bindings = await self._bindings.current()
        generation = self.policies.generation, self._bindings.generation
        if generation != self._generation:
            self._generation = generation
            self._hooks = self._joined(policies, bindings.values())
            self._relevant.clear()
        relevant = self._relevant.setdefault(operation.resource, {})
        wanted = operation.verb, operation.subresource
        found = relevant.get(wanted)
        if found is None:
            found = relevant[wanted] = [
                Hook(policy, [binding for binding in bindings if _may_match(binding.criteria, operation)])
                for policy, bindings in self._hooks
                if _may_match(policy.criteria, operation)
            ]
        return found

    def _joined(self, policies: Mapping[str, Object], bindings: Iterable[Binding]) -> list[Hook[P]]:
        by_policy: dict[str, list[Binding]] = {}
        for binding in sorted(bindings, key=lambda found: found.name):
            by_policy.setdefault(binding.policy_name, []).append(binding)
        known, self._made = self._made, {}
        for key, tree in policies.items():
            if meta.name(tree) in by_policy:
                before = known.get(key)
                self._made[key] = (tree, self._make(tree)) if before is None or before[0] is not tree else before
        ordered = sorted((policy for _, policy in self._made.values()), key=lambda found: found.name)
        return [Hook(policy, by_policy[policy.name]) for policy in ordered]


def _may_match(criteria: Criteria, operation: Operation) -> bool:
    return criteria.may_match(operation.resource, operation.verb, operation.subresource)
