"""Validates a built-in object with the empty lists and maps that its client sent.

Decoding drops most of them, because they are not stored. kube-apiserver drops them when it stores the object, and its
errors show `[]` for an empty list and `null` for an absent one.
"""

import re
from collections.abc import Callable, Collection
from operator import is_
from typing import cast

from setpoint.merge.typed.list import ListType
from setpoint.merge.typed.map import MapType
from setpoint.merge.typed.node import Type
from setpoint.objects.times import FRACTION, has_fraction
from setpoint.objects.tree import Json, Object, copy
from setpoint.schema import builtin
from setpoint.schema.validation import Verdict
from setpoint.server.registry.kinds.core.pod.disabled_fields import drop_disabled_pod_fields
from setpoint.server.registry.kinds.gotypes.empty_lists import struct_inside
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context

_DROPPED = re.compile(rb"\[\s*\]|\{\s*\}|" + FRACTION.pattern.encode())
_SHOWN_SELECTORS = ("nodeSelector", "scopeSelector")
# The lists and maps of metadata.
_METADATA = ("labels", "annotations", "ownerReferences", "finalizers", "managedFields")
# The field that a subresource writes.
_PARTS = {"ephemeralcontainers": ("spec", "ephemeralContainers")}
# Fields of features that are off, which kinds drop before validation.
_DISABLED = ("derivedAttributes",)


def as_sent(
    context: Context,
    resource: Resource,
    tree: Object,
    old: Object | None,
    subresource: str,
    found: Verdict,
    check: Callable[[Object], Verdict],
) -> Verdict:
    """Returns the verdict about an object as sent. `found` is the verdict about the decoded object, which is invalid or
    of a kind that validates empty fields."""
    if resource.is_custom or context.sent_object is None:
        return found
    sent = _sent(context.sent_object(), resource, subresource)
    whole: Object = copy(tree)
    if not _put_empty(whole, sent, resource.definition, resource.strategy.without_default):
        return found
    if resource.strategy.pod_spec:
        drop_disabled_pod_fields(whole, old, resource.strategy.pod_spec)
    again = check(whole)
    return again if again.errors or resource.strategy.validates_empty else found


def with_empty_items(context: Context, resource: Resource, tree: Object, subresource: str) -> Object:
    """Returns an object with the empty lists and maps, and the fractions of seconds, as sent in items of lists with one
    owner. Whoever writes them owns the list: kube-apiserver compares such lists as Go values, in which an absent list
    is not an empty one. Returns the same object if there are none."""
    body = context.request.body
    if resource.is_custom or context.sent_object is None or subresource not in ("", "status"):
        return tree
    if not _DROPPED.search(body):
        return tree
    sent = context.sent_object()
    return cast(Object, _with_empty(tree, sent, resource.shape.type, False, False)) if type(sent) is dict else tree


def _with_empty(value: Json, sent: Json, kind: Type, is_whole: bool, is_item: bool) -> Json:
    """`is_whole` is True inside a list or map with one owner, `is_item` inside a list there."""
    if isinstance(kind, ListType) and type(value) is list and type(sent) is list and len(value) == len(sent):
        is_whole = is_whole or kind.atomic
        items = [
            _with_empty(own, item, kind.element, is_whole, is_whole) for own, item in zip(value, sent, strict=True)
        ]
        return value if all(map(is_, items, value)) else items
    if not isinstance(kind, MapType) or type(value) is not dict or type(sent) is not dict:
        return value
    found: dict[str, Json] = {}
    for name, given in sent.items():
        declared = kind.fields.get(name)
        inner = kind.element if declared is None else declared[1]
        if inner is None:
            continue
        if name not in value:
            if is_item and (given == [] or (given == {} and isinstance(inner, MapType) and not inner.fields)):
                found[name] = given
        elif type(given) is dict or type(given) is list:
            if (new := _with_empty(value[name], given, inner, is_whole or kind.atomic, is_item)) is not value[name]:
                found[name] = new
        elif is_item and given != value[name] and has_fraction(given):
            found[name] = given
    return {**value, **found} if found else value


def is_change(context: Context, resource: Resource) -> bool:
    """Returns True if the object as sent has values that count as a change, although they are not stored."""
    sent = None if context.sent_object is None else context.sent_object()
    return type(sent) is dict and resource.strategy.is_change(sent)


def self_link(context: Context) -> str:
    """Returns the selfLink of the object as sent, which decoding drops; empty if there is none."""
    tree = None if context.sent_object is None else context.sent_object()
    metadata = tree.get("metadata") if type(tree) is dict else None
    return str(metadata.get("selfLink") or "") if type(metadata) is dict else ""


def put_empty_lists(context: Context, resource: Resource, tree: Object) -> None:
    """Writes the empty lists that the client sent, in place, where the stored form has `null`. Only an update that
    deletes its object shows them: kube-apiserver answers with the object as sent."""
    sent = None if resource.is_custom or context.sent_object is None else context.sent_object()
    _put_lists(tree, sent)


def _put_lists(value: Json, sent: Json) -> None:
    if type(value) is dict and type(sent) is dict:
        for name, given in sent.items():
            if given == [] and value.get(name, given) is None:
                value[name] = []
            else:
                _put_lists(value.get(name), given)
    elif type(value) is list and type(sent) is list and len(value) == len(sent):
        for own, item in zip(value, sent, strict=True):
            _put_lists(own, item)


def _sent(tree: Json, resource: Resource, subresource: str) -> Object:
    """Returns the fields of an object that the endpoint writes."""
    strategy = resource.strategy
    writes_status = subresource in strategy.status_endpoints
    if subresource in _PARTS and type(tree) is dict:
        outer, inner = _PARTS[subresource]
        return {outer: {inner: tree[outer].get(inner)}} if type(tree.get(outer)) is dict else {}
    if type(tree) is not dict or (subresource and not writes_status):
        return {}
    has_status = "status" in resource.subresources and not (strategy.creates_with_status and not subresource)
    status = strategy.status_fields if has_status else ()
    return {name: value for name, value in tree.items() if name != "metadata" and (name in status) is writes_status}


def _put_empty(tree: Object, sent: Object, definition: str, without_default: Collection[str]) -> bool:
    """Adds the empty lists and maps, in place; returns False if there are none. `definition` is that of the tree, or
    empty if the tree is a map."""
    found = False
    places = builtin.definition(definition).get("properties") if definition else None
    for name, value in sent.items():
        mine = tree.get(name)
        if name.endswith("elector") and name not in _SHOWN_SELECTORS:
            # Errors show label selectors in the form of their JSON, which omits empty fields.
            continue
        if name == "metadata" and type(value) is dict:
            # Those of a template; the table of definitions has no fields of metadata.
            value = {field: part for field, part in value.items() if field in _METADATA}
        if places is not None and (name not in places or name in _DISABLED):
            continue
        inner, _ = struct_inside(places[name]) if places is not None else ("", "")
        if inner.endswith(".LabelSelector"):
            continue  # as above, under another name
        if value == [] or value == {}:
            if mine is None or name in without_default:
                tree[name] = value
                found = True
        elif type(value) is dict and type(mine) is dict:
            found = _put_empty(mine, value, inner, without_default) or found
        elif type(value) is list and type(mine) is list and len(mine) == len(value):
            for own, item in zip(mine, value, strict=True):
                if type(own) is dict and type(item) is dict:
                    found = _put_empty(own, item, inner, without_default) or found
    return found
