"""The compiled label selectors of objects. A selector is compiled once; most objects never change theirs."""

from functools import lru_cache

import msgspec

from setpoint.objects.labels import Selector, from_object
from setpoint.objects.tree import Object

_encode = msgspec.json.Encoder(order="sorted").encode


def selector_of(obj: Object) -> Selector:
    """Returns the selector in `spec.selector` of an object; a missing one matches no object."""
    return _compiled(_encode(obj["spec"].get("selector")))


@lru_cache(maxsize=4096)
def _compiled(selector: bytes) -> Selector:
    return from_object(msgspec.json.decode(selector))


def selector_text(selector: Object | None) -> str:
    """Returns a label selector as Go prints one."""
    if selector is None:
        return "nil"
    labels = "".join(f"{name}: {value}," for name, value in sorted((selector.get("matchLabels") or {}).items()))
    rules = "".join(
        f"LabelSelectorRequirement{{Key:{each['key']},Operator:{each['operator']},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}},}}"
    )
