"""The default roles and bindings as objects, read from `default_policy.txt` on demand."""

import importlib.resources
from collections.abc import Iterator, Sequence

from setpoint.objects import meta
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.aggregation import aggregate
from setpoint.server.access.authorization.roles import GROUP, VERSION

LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
# Abbreviations for common sets of verbs.
_VERBS = {
    "READ": ("get", "list", "watch"),
    "WRITE": ("create", "delete", "deletecollection", "patch", "update"),
}
_SUBJECTS = {"user": "User", "group": "Group", "serviceaccount": "ServiceAccount"}


def default_policy() -> list[Object]:
    """Returns all default objects without system fields such as the UID. Aggregated roles include their rules."""
    text = importlib.resources.files(__package__).joinpath("default_policy.txt").read_text()
    found: list[Object] = []
    for paragraph in text.split("\n\n"):
        lines = [line.split() for line in paragraph.splitlines() if not line.startswith("#")]
        if lines:
            found += _objects(lines)
    # Only aggregated roles, and roles with labels to select, affect the aggregated rules.
    parts = [tree for tree in found if "aggregationRule" in tree or len(tree["metadata"]["labels"]) > len(LABELS)]
    gathered = {meta.name(tree): tree["rules"] for tree in aggregate(parts)}
    for tree in parts:
        tree["rules"] = gathered.get(meta.name(tree), tree["rules"])
    return found


def _objects(lines: Sequence[Sequence[str]]) -> Iterator[Object]:
    (kind, full_name), *rest = lines
    namespace, name = full_name.split("/", 1) if "/" in full_name else ("", full_name)
    if kind == "rolebinding":
        (_, role), (_, *subjects) = rest
        yield _binding("RoleBinding", namespace, name, "Role", role, subjects)
        return
    tree = _object("Role" if namespace else "ClusterRole", namespace, name)
    rules: list[Object] = []
    for line in rest:
        if "|" in line:
            rules.append(_rule(" ".join(line)))
        elif line[0] == "label":
            tree["metadata"]["labels"] |= {f"{GROUP}/{label}": "true" for label in line[1:]}
        elif line[0] == "gather":
            tree["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {f"{GROUP}/{line[1]}": "true"}}]}
        elif line[0] == "bind":
            yield _binding("ClusterRoleBinding", "", name, "ClusterRole", name, line[1:])
    tree["rules"] = rules or None
    yield tree


def _object(kind: str, namespace: str, name: str) -> Object:
    metadata: Object = {"name": name, "labels": dict(LABELS), "annotations": {AUTOUPDATE: "true"}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": metadata}


def _rule(line: str) -> Object:
    """Reads a rule from `groups | resources | verbs | names`, or from `paths | verbs`."""
    of, *rest = (part.split() for part in line.split(" | "))
    resources, words, names = [(), *rest, ()] if len(rest) == 1 else [*rest, ()][:3]
    verbs = sorted(verb for word in words for verb in _VERBS.get(word, (word,)))
    if not resources:
        return {"verbs": verbs, "nonResourceURLs": of}
    groups = ["" if group == "core" else group for group in of]
    rule: Object = {"verbs": verbs, "apiGroups": groups, "resources": resources}
    return {**rule, "resourceNames": names} if names else rule


def _binding(kind: str, namespace: str, name: str, role_kind: str, role: str, subjects: Sequence[str]) -> Object:
    tree = _object(kind, namespace, name)
    tree["roleRef"] = {"apiGroup": GROUP, "kind": role_kind, "name": role}
    if subjects:
        tree["subjects"] = [_subject(subject) for subject in subjects]
    return tree


def _subject(text: str) -> Object:
    kind, name = text.split(":", 1)
    if kind == "serviceaccount":
        namespace, name = name.split("/")
        return {"kind": _SUBJECTS[kind], "name": name, "namespace": namespace}
    return {"kind": _SUBJECTS[kind], "apiGroup": GROUP, "name": name}
