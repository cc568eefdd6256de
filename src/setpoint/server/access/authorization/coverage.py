"""Checks if a user's rules cover the rules that the user wants to grant, and describes the missing permissions."""

from collections.abc import Iterator, Sequence
from itertools import product

from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.policy_rules import RoleRules

# The maximum number of single permissions to compare, larger than in any realistic role.
LIMIT = 100_000
_SHOWN = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}


class TooManyRights(Exception):  # noqa: N818 - an outcome
    """The rules grant more single permissions than can be compared."""


def not_covered(owned: RoleRules, wanted: Sequence[Object]) -> list[Object]:
    """Returns the single permissions in `wanted` that `owned` does not grant, each as a separate rule. Raises
    TooManyRights."""
    if sum(map(_size, wanted)) > LIMIT:
        raise TooManyRights
    return [right for rule in wanted for right in rights(rule) if not _covers(owned, right)]


def _size(rule: Object) -> int:
    def length(name: str) -> int:
        return len(rule.get(name) or ())

    of_resources = length("apiGroups") * length("resources") * max(1, length("resourceNames"))
    return (of_resources + length("nonResourceURLs")) * length("verbs")


def rights(rule: Object) -> Iterator[Object]:
    """Yields the single permissions of a rule: one group, resource, verb and at most one name; or one path and verb."""
    groups, resources, verbs = rule.get("apiGroups") or (), rule.get("resources") or (), rule.get("verbs") or ()
    names = rule.get("resourceNames") or ()
    for group, resource, verb in product(groups, resources, verbs):
        right: Object = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
        if names:
            for name in names:
                yield {**right, "resourceNames": [name]}
        else:
            yield right
    for url, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"verbs": [verb], "nonResourceURLs": [url]}


def _covers(owned: RoleRules, right: Object) -> bool:
    (verb,) = right["verbs"]
    if "nonResourceURLs" in right:
        return owned.allow_path(verb, right["nonResourceURLs"][0])
    resource, _, subresource = right["resources"][0].partition("/")
    name = right.get("resourceNames", (None,))[0]
    found = owned.for_resource(verb, right["apiGroups"][0], resource, subresource)
    return any(rule.names is None or name in rule.names for rule in found)


def described(missing: Sequence[Object]) -> str:
    """Formats single permissions as kube-apiserver does, one line each. Permissions that differ only in their verbs
    share a line."""
    together: dict[tuple[str, str, str | None], Object] = {}
    texts: set[str] = set()
    for right in missing:
        if "nonResourceURLs" in right:
            texts.add(_text(right))
            continue
        name = right.get("resourceNames", (None,))[0]
        key = (right["apiGroups"][0], right["resources"][0], name)
        known = together.setdefault(key, {**right, "verbs": []})
        known["verbs"] += right["verbs"]
    texts.update(map(_text, together.values()))
    return "\n".join(sorted(texts))


def _text(rule: Object) -> str:
    return f"{{{', '.join(f'{shown}:{quoted(rule[name])}' for name, shown in _SHOWN.items() if rule.get(name))}}}"


def quoted(texts: Sequence[str]) -> str:
    """Formats a list of strings in Go's notation."""
    return f"[{' '.join(map(quote, texts))}]"
