"""The policies that are in force: live views of the policies and their bindings, put together once for each change.

A policy is read when the first request meets it, and stays as it was read until it is written again. Which policies may
concern the writes of a resource is found out once for each resource and operation. Where there are no policies, nothing
of CEL is loaded.
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
# The configurations of webhooks are nothing that policies depend on: these do judge them.
_JUDGED = frozenset(("validatingwebhookconfigurations", "mutatingwebhookconfigurations"))


def is_beyond_policies(resource: Resource) -> bool:
    """Whether policies are never asked about a resource: themselves, lest they lock everybody out, and reviews."""
    return is_exempt(resource) and resource.resource not in _JUDGED


class Selective(Protocol):
    """What a source needs to know of a policy."""

    name: str
    criteria: Criteria


class Binding:
    """What puts a policy to work."""

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


class Source(Generic[P]):
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
        """The policies that may have something to say of an operation, by name, with their bindings, by name."""
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
