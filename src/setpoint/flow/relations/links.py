"""The references of one object to others, in its owner references and spec. A pure function of any JSON."""

from collections.abc import Iterator
from typing import NamedTuple

from setpoint.flow.paths import path
from setpoint.flow.relations.link_rules import LinkRule, LinkRules, relation_rules
from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupKind
from setpoint.objects.labels import Selector, from_labels, from_object
from setpoint.objects.tree import Json

OWNED_BY = "owned by"
_OWNERS = path("metadata.ownerReferences[*]")


class Ref(NamedTuple):
    """The identity of an object, independent of the version. Cluster-scoped objects have an empty namespace.

    Ref("apps", "Deployment", "default", "web")
    """

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


class Link(NamedTuple):
    """A reference of an object to another one, or a selection of objects of a kind.

    for link in links_of(deployment):
        print(link.verb, link.target, link.at)
    """

    verb: str
    target: Ref
    # The path of the reference: `spec.volumes[*].secret`.
    at: str
    # The UID of an owner, which distinguishes objects of the same name.
    uid: str = ""
    controller: bool = False
    # The selector; then the target has no name.
    selector: Selector | None = None


def ref_of(tree: Json) -> Ref:
    """Returns the identity of an object, with empty parts for missing fields.

    ref_of({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "web-0"}})
    """
    return Ref(
        *_group_kind(_text(tree, "apiVersion"), _text(tree, "kind")),
        path("metadata.namespace").text_at(tree),
        path("metadata.name").text_at(tree),
    )


def links_of(tree: Json, rules: LinkRules | None = None) -> list[Link]:
    """Returns the references of an object, each once per relation. Never raises, for any object.

    for link in links_of(deployment):
        print(link.verb, link.target, link.at)
    """
    rules = rules or relation_rules()
    me = ref_of(tree)
    found = list(_owners(tree, me, rules))
    for rule in rules.links.get(GroupKind(me.group, me.kind), ()):
        for node in rule.path.find(tree):
            target = _target(rule, node, me, rules)
            if target is None:
                continue
            if not rule.selector:
                if target.name:
                    found.append(Link(rule.verb, target, rule.path.text))
            elif (selector := _selector(rule, node)) is not None:
                found.append(Link(rule.verb, target._replace(name=""), rule.path.text, selector=selector))
    return list(dict.fromkeys(found))


def _owners(tree: Json, me: Ref, rules: LinkRules) -> Iterator[Link]:
    for reference in _OWNERS.find(tree):
        kind, name = _text(reference, "kind"), _text(reference, "name")
        if kind and name:
            owner = _placed(_group_kind(_text(reference, "apiVersion"), kind), me.namespace, name, rules)
            controls = isinstance(reference, dict) and reference.get("controller") is True
            yield Link(OWNED_BY, owner, _OWNERS.text, _text(reference, "uid"), controls)


def _target(rule: LinkRule, node: Json, me: Ref, rules: LinkRules) -> Ref | None:
    if rule.to is not None:
        kind = (rule.to.group, rule.to.kind)
    else:
        named = rule.kind.text_at(node) if rule.kind else ""
        group = rule.group.text_at(node) if rule.group else ""
        kind = _group_kind(group, named) if rule.group_is_version else (group, named)
        if not named:
            return None
    namespace = rule.namespace.text_at(node) if rule.namespace else ""
    name = rule.name.text_at(node) if not rule.selector else ""
    return _placed(kind, namespace or me.namespace, name, rules)


def _placed(kind: tuple[str, str], namespace: str, name: str, rules: LinkRules) -> Ref:
    return Ref(*kind, "" if GroupKind(*kind) in rules.cluster else namespace, name)


def _selector(rule: LinkRule, node: Json) -> Selector | None:
    """Returns the selector of a value; None for an invalid or empty one."""
    if rule.selector == "labels":
        # An empty map selects no pods: the endpoints of such a Service are managed elsewhere.
        if not isinstance(node, dict) or not node or not all(isinstance(value, str) for value in node.values()):
            return None
        return from_labels(node)
    try:
        return from_object(node)
    except BadRequest:
        return None


def _group_kind(api_version: str, kind: str) -> tuple[str, str]:
    group, slash, _ = api_version.partition("/")
    return group if slash else "", kind


def _text(tree: Json, name: str) -> str:
    value = tree.get(name) if isinstance(tree, dict) else None
    return value if isinstance(value, str) else ""
