"""The pods that a label selector selects, found by an index of the shared cache."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from setpoint.cache.entry import CachedObject
from setpoint.controller.context import Context
from setpoint.objects.labels import Selector
from setpoint.objects.tree import Object
from setpoint.system.pods.state import POD
from setpoint.system.selectors import selector_of
from setpoint.system.turns import in_turns

_INDEX = "namespace and label"


def _label_values(entry: CachedObject[Any]) -> Iterable[tuple[str, str, str]]:
    meta = entry.meta
    return [(meta.namespace, name, value) for name, value in (meta.labels or {}).items()]


async def pods_with_label(ctx: Context[Any], namespace: str, name: str, value: str) -> Sequence[CachedObject[Any]]:
    """Returns the entries of the pods of a namespace with a label. The result shows all own writes."""
    return await ctx.client.cache.by_index(POD, _INDEX, _label_values, ((namespace, name, value),), namespace)


async def selected_pods(ctx: Context[Any], owner: Object) -> list[Object]:
    """Returns the pods that `spec.selector` of an object selects. The index is used if a label has a fixed value."""
    namespace, selector = owner["metadata"]["namespace"], selector_of(owner)
    fixed = (owner["spec"].get("selector") or {}).get("matchLabels") or {}
    return await pods_matching(ctx, namespace, selector, fixed)


async def pods_matching(
    ctx: Context[Any], namespace: str, selector: Selector, fixed: Mapping[str, str] | None = None
) -> list[Object]:
    """Returns the pods of a namespace that a selector selects; `fixed` are labels that they must have, for the
    index."""
    if fixed:
        entries = await pods_with_label(ctx, namespace, *next(iter(fixed.items())))
    else:
        entries = (await ctx.client.cache.query(POD, namespace)).entries()
    return [each.object async for each in in_turns(ctx, entries) if selector.matches(each.meta.labels)]
