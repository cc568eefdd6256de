"""Which objects of a collection a request means: those in its namespace that its selectors match."""

from typing import NamedTuple

from setpoint.objects import fields, labels, meta
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object
from setpoint.server.context import Context
from setpoint.server.resource import Resource
from setpoint.store.contract import Item


class Selected(NamedTuple):
    """Objects as they were at a revision, decoded and stored, side by side."""

    trees: list[Object]
    items: list[Item]
    revision: int


async def select(context: Context, resource: Resource) -> Selected:
    """Reads a collection. Raises BadRequest for a selector that cannot be understood."""
    label_selector = labels.parse(context.parameter("labelSelector"))
    field_selector = fields.parse(context.parameter("fieldSelector"))
    selectable = resource.strategy.selectable_fields
    for requirement in field_selector.requirements:
        if requirement.field not in ("metadata.name", "metadata.namespace") and requirement.field not in selectable:
            raise BadRequest(f"field label not supported: {requirement.field}")
    page = await context.services.store.range(resource.storage.scope(context.info.namespace))
    trees: list[Object] = []
    items: list[Item] = []
    for item in page.items:
        tree = resource.item(item)
        if not label_selector.matches(meta.labels(tree)):
            continue
        if field_selector.requirements:
            values = {"metadata.name": meta.name(tree), "metadata.namespace": meta.namespace(tree)}
            values |= {name: value(tree) for name, value in selectable.items()}
            if not field_selector.matches(values):
                continue
        trees.append(tree)
        items.append(item)
    return Selected(trees, items, page.revision)
