"""An index of all roles and bindings of a server, always up to date.

The index uses live views, so a new binding takes effect for the next request. The cost of an update is proportional to
the changed object: a binding is indexed by each of its subjects, a role is compiled once and referenced by name. A
binding may exist before its role is created and after its role is deleted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from setpoint.objects import meta
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.policy_rules import RoleRules

if TYPE_CHECKING:
    from setpoint.server.ports import User
    from setpoint.server.registry.indexes import View
    from setpoint.server.request.context import Services

GROUP, VERSION = "rbac.authorization.k8s.io", "v1"
# The namespace of a Role, empty for a ClusterRole, and its name.
RoleName: TypeAlias = tuple[str, str]


class Subject(NamedTuple):
    """A subject of a binding. A service account is represented by its user name; a subject that matches no user is
    dropped."""

    is_group: bool
    name: str
    shown: str

    def applies_to(self, user: "User") -> bool:
        return self.name in user.groups if self.is_group else self.name == user.name


class Binding(NamedTuple):
    """A RoleBinding, or a ClusterRoleBinding, which has no namespace."""

    namespace: str
    name: str
    role: RoleName
    subjects: Sequence[Subject]
    # The positions of the users and groups of a binding with many subjects by name: such a binding is not indexed.
    users: Mapping[str, int] = {}
    groups: Mapping[str, int] = {}

    @property
    def is_large(self) -> bool:
        """True for a binding with so many subjects that indexing each of them would block the event loop."""
        return len(self.subjects) > _MANY_SUBJECTS

    def source(self, user: "User") -> str:
        """Describes the binding as the reason of an allowed request."""
        subject = self._subject_of(user)
        to = subject.shown if subject else ""
        of = f"{'Role' if self.role[0] else 'ClusterRole'} {quote(self.role[1])}"
        if self.namespace:
            return f"RoleBinding {quote(f'{self.name}/{self.namespace}')} of {of} to {to}"
        return f"ClusterRoleBinding {quote(self.name)} of {of} to {to}"

    def _subject_of(self, user: "User") -> Subject | None:
        """Returns the first subject that applies to the user."""
        if not self.is_large:
            return next((found for found in self.subjects if found.applies_to(user)), None)
        positions = [self.users.get(user.name), *map(self.groups.get, user.groups)]
        found = [position for position in positions if position is not None]
        return self.subjects[min(found)] if found else None


# A binding with more subjects is large.
_MANY_SUBJECTS = 1000
# The bindings of one subject, by role and by object key: a role that is bound twice is evaluated once.
_Bound: TypeAlias = dict[RoleName, dict[str, Binding]]


class _Scope:
    """The bindings of the cluster or of one namespace, by subject; large bindings by object key."""

    __slots__ = ("groups", "large", "users")

    def __init__(self) -> None:
        self.users: dict[str, _Bound] = {}
        self.groups: dict[str, _Bound] = {}
        self.large: dict[str, Binding] = {}

    @property
    def is_empty(self) -> bool:
        return not self.users and not self.groups and not self.large

    def file(self, key: str, binding: Binding) -> None:
        if binding.is_large:
            self.large[key] = binding
            return
        for subject in binding.subjects:
            of = self.groups if subject.is_group else self.users
            of.setdefault(subject.name, {}).setdefault(binding.role, {})[key] = binding

    def remove(self, key: str, binding: Binding) -> None:
        if binding.is_large:
            self.large.pop(key, None)
            return
        for subject in binding.subjects:
            of = self.groups if subject.is_group else self.users
            bound = of.get(subject.name)
            same = bound.get(binding.role) if bound is not None else None
            if bound is None or same is None:
                continue  # the binding names the subject twice
            same.pop(key, None)
            if not same:
                del bound[binding.role]
            if not bound:
                del of[subject.name]

    def of(self, user: "User") -> Iterator[_Bound]:
        if (bound := self.users.get(user.name)) is not None:
            yield bound
        for group in user.groups:
            if (bound := self.groups.get(group)) is not None:
                yield bound
        for key, binding in self.large.items():
            if user.name in binding.users or any(group in binding.groups for group in user.groups):
                yield {binding.role: {key: binding}}


class Granted(NamedTuple):
    """A role bound to a user, with its rules, or None if the role does not exist."""

    role: RoleName
    rules: RoleRules | None
    binding: Binding


class Roles:
    """The index. Call `load` before any lookup."""

    def __init__(self) -> None:
        # Incremented when a role or binding changes.
        self.generation = 0
        self._services: Services
        self._views: Sequence[View[RoleRules] | View[Binding]] = ()
        self._is_loaded = False
        self._rules: dict[RoleName, RoleRules] = {}
        self._bindings: dict[str, Binding] = {}
        self._scopes: dict[str, _Scope] = {}

    def attach(self, services: "Services") -> None:
        """Sets the server whose roles are indexed."""
        self._services = services

    async def load(self) -> None:
        """Reads all roles and bindings on the first call."""
        if self._is_loaded:
            return
        if not self._views:
            of = self._services.views.of
            self._views = (
                of(GROUP, VERSION, "clusterroles", _rules, self._cluster_role_changed),
                of(GROUP, VERSION, "roles", _rules, self._role_changed),
                of(GROUP, VERSION, "clusterrolebindings", _binding, self._binding_changed),
                of(GROUP, VERSION, "rolebindings", _binding, self._binding_changed),
            )
        for view in self._views:
            await view.current()
        self._is_loaded = True

    def rules(self, role: RoleName) -> RoleRules | None:
        """Returns the rules of a role, or None."""
        return self._rules.get(role)

    def granted(self, user: "User", namespace: str) -> Iterator[Granted]:
        """Yields all roles of a user in the cluster, then those in the namespace if one is given."""
        for scope in (self._scopes.get(""), self._scopes.get(namespace) if namespace else None):
            if scope is None:
                continue
            for bound in scope.of(user):
                for role, bindings in bound.items():
                    yield Granted(role, self._rules.get(role), next(iter(bindings.values())))

    def rules_of(self, user: "User", namespace: str) -> tuple[list[Object], list[RoleName]]:
        """Returns all rules of a user in their original form, and the bound roles that do not exist."""
        found: list[Object] = []
        missing: dict[RoleName, None] = {}
        for role, rules, _ in self.granted(user, namespace):
            if rules is None:
                missing[role] = None
            else:
                found += [rule.tree for rule in rules.all]
        return found, list(missing)

    def _cluster_role_changed(self, key: str, rules: RoleRules | None) -> None:
        self._put(("", key.rpartition("/")[2]), rules)

    def _role_changed(self, key: str, rules: RoleRules | None) -> None:
        namespace, name = key.rsplit("/", 2)[1:]
        self._put((namespace, name), rules)

    def _put(self, role: RoleName, rules: RoleRules | None) -> None:
        self.generation += 1
        if rules is None:
            self._rules.pop(role, None)
        else:
            self._rules[role] = rules

    def _binding_changed(self, key: str, binding: Binding | None) -> None:
        self.generation += 1
        old = self._bindings.pop(key, None)
        if old is not None and (scope := self._scopes.get(old.namespace)) is not None:
            scope.remove(key, old)
            if scope.is_empty:
                del self._scopes[old.namespace]
        if binding is not None:
            self._bindings[key] = binding
            self._scopes.setdefault(binding.namespace, _Scope()).file(key, binding)


def _rules(tree: Object) -> RoleRules:
    return RoleRules(tree.get("rules") or ())


def _binding(tree: Object) -> Binding:
    namespace = meta.namespace(tree)
    found = (_subject(subject, namespace) for subject in tree.get("subjects") or ())
    role = role_name(tree.get("roleRef") or {}, namespace)
    subjects = tuple(subject for subject in found if subject is not None)
    binding = Binding(namespace, meta.name(tree), role, subjects)
    if not binding.is_large:
        return binding
    users: dict[str, int] = {}
    groups: dict[str, int] = {}
    for position, subject in enumerate(subjects):
        (groups if subject.is_group else users).setdefault(subject.name, position)
    return binding._replace(users=users, groups=groups)


def role_name(reference: Mapping[str, str], namespace: str) -> RoleName:
    """Returns the role that a `roleRef` in a namespace refers to."""
    return namespace if reference.get("kind") == "Role" else "", reference.get("name", "")


def _subject(subject: Mapping[str, str], namespace: str) -> Subject | None:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind in ("User", "Group"):
        return Subject(kind == "Group", name, f"{kind} {quote(name)}")
    where = subject.get("namespace") or namespace
    if kind != "ServiceAccount" or not where:
        return None
    return Subject(False, f"system:serviceaccount:{where}:{name}", f"{kind} {quote(f'{name}/{where}')}")
