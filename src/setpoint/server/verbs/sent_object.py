"""Validates a built-in object with the empty lists and maps that its client sent.

Decoding drops most of them, because they are not stored. kube-apiserver drops them when it stores the object, and its
errors show `[]` for an empty list and `null` for an absent one.
"""

from collections.abc import Callable

from setpoint.objects.tree import Json, Object, copy
from setpoint.schema import builtin
from setpoint.schema.validation import Verdict
from setpoint.server.registry.kinds.gotypes.empty_lists import struct_inside
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context

_SHOWN_SELECTORS = ("nodeSelector", "scopeSelector")
# Fields of features that are off, which kinds drop before validation.
_DISABLED = ("derivedAttributes",)


def as_sent(
    context: Context,
    resource: Resource,
    tree: Object,
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
    if not _put_empty(whole, sent, resource.definition):
        return found
    again = check(whole)
    return again if again.errors or resource.strategy.validates_empty else found


def self_link(context: Context) -> str:
    """Returns the selfLink of the object as sent, which decoding drops; empty if there is none."""
    tree = None if context.sent_object is None else context.sent_object()
    metadata = tree.get("metadata") if type(tree) is dict else None
    return str(metadata.get("selfLink") or "") if type(metadata) is dict else ""


def _sent(tree: Json, resource: Resource, subresource: str) -> Object:
    """Returns the fields of an object that the endpoint writes."""
    strategy = resource.strategy
    writes_status = subresource in strategy.status_endpoints
    if type(tree) is not dict or (subresource and not writes_status):
        return {}
    has_status = "status" in resource.subresources and not (strategy.creates_with_status and not subresource)
    status = strategy.status_fields if has_status else ()
    return {name: value for name, value in tree.items() if name != "metadata" and (name in status) is writes_status}


def _put_empty(tree: Object, sent: Object, definition: str) -> bool:
    """Adds the empty lists and maps, in place; returns False if there are none. `definition` is that of the tree, or
    empty if the tree is a map."""
    found = False
    places = builtin.definition(definition).get("properties") if definition else None
    for name, value in sent.items():
        mine = tree.get(name)
        if name.endswith("elector") and name not in _SHOWN_SELECTORS:
            # Errors show label selectors in the form of their JSON, which omits empty fields.
            continue
        if places is not None and (name not in places or name in _DISABLED):
            continue
        inner, _ = struct_inside(places[name]) if places is not None else ("", "")
        if inner.endswith(".LabelSelector"):
            continue  # as above, under another name
        if value == [] or value == {}:
            if mine is None:
                tree[name] = value
                found = True
        elif type(value) is dict and type(mine) is dict:
            found = _put_empty(mine, value, inner) or found
        elif type(value) is list and type(mine) is list and len(mine) == len(value):
            for own, item in zip(mine, value, strict=True):
                if type(own) is dict and type(item) is dict:
                    found = _put_empty(own, item, inner) or found
    return found
