"""The compiled rules of a role: authorization by lookup instead of list scans.

A rule keeps its lists as sets, and a role indexes its rules by resource, so that a check examines only the rules that
may match. The compiled size is linear in the size of the role.
"""

from collections.abc import Iterator, Sequence

from setpoint.objects.tree import Object

ANY = "*"


class PolicyRule:
    """One compiled rule. `verbs` and `groups` are None for all, `names` is None for any name."""

    __slots__ = ("_prefixes", "_urls", "groups", "names", "resources", "tree", "verbs")

    def __init__(self, tree: Object) -> None:
        self.tree = tree
        self.verbs = _some(tree.get("verbs"))
        self.groups = _some(tree.get("apiGroups"))
        self.resources = frozenset(tree.get("resources") or ())
        self.names = frozenset(tree.get("resourceNames") or ()) or None
        urls = tree.get("nonResourceURLs") or ()
        self._urls = frozenset(urls)
        self._prefixes = tuple(url.rstrip(ANY) for url in urls if url.endswith(ANY))

    def allows_verb(self, verb: str) -> bool:
        return self.verbs is None or verb in self.verbs

    def allows_group(self, group: str) -> bool:
        return self.groups is None or group in self.groups

    def allows_path(self, path: str) -> bool:
        return path in self._urls or path.startswith(self._prefixes)


def _some(listed: Sequence[str] | None) -> frozenset[str] | None:
    found = frozenset(listed or ())
    return None if ANY in found else found


class RoleRules:
    """The compiled rules of one role."""

    __slots__ = ("_by_resource", "_of_paths", "all")

    def __init__(self, trees: Sequence[Object]) -> None:
        self.all = [PolicyRule(tree) for tree in trees]
        self._by_resource: dict[str, list[PolicyRule]] = {}
        self._of_paths: list[PolicyRule] = []
        for rule in self.all:
            for resource in rule.resources:
                self._by_resource.setdefault(resource, []).append(rule)
            if rule.tree.get("nonResourceURLs"):
                self._of_paths.append(rule)

    def for_resource(self, verb: str, group: str, resource: str, subresource: str) -> Iterator[PolicyRule]:
        """Yields the rules that allow the action, at least for some object names."""
        known = self._by_resource
        found = known.get(f"{resource}/{subresource}" if subresource else resource)
        if found is not None:
            yield from _allowing(found, verb, group)
        if (found := known.get(ANY)) is not None:
            yield from _allowing(found, verb, group)
        if subresource and (found := known.get(f"*/{subresource}")) is not None:
            yield from _allowing(found, verb, group)

    def allow_path(self, verb: str, path: str) -> bool:
        return any(rule.allows_verb(verb) and rule.allows_path(path) for rule in self._of_paths)


def _allowing(rules: Sequence[PolicyRule], verb: str, group: str) -> Iterator[PolicyRule]:
    for rule in rules:
        if rule.allows_verb(verb) and rule.allows_group(group):
            yield rule
