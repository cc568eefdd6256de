"""The items of a list by their elements: unique ones, and those with a duplicate element."""

from setpoint.merge.typed.list import ListType
from setpoint.merge.typed.map import MapType
from setpoint.merge.types import Types
from setpoint.objects.tree import Object
from setpoint.schema.builtin import definition

SCHEMA: Object = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["n"],
            "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "integer"}}},
        }
    },
}


def test_items_with_the_same_element_are_told_apart_from_unique_ones() -> None:
    kind = Types(definition).custom_resource(SCHEMA)
    assert isinstance(kind, MapType)
    items = kind.fields["items"][1]
    assert isinstance(items, ListType)
    one, two, again = {"n": "1", "v": 1}, {"n": "2"}, {"n": "1", "v": 2}
    first, second = 'k:{"n":"1"}', 'k:{"n":"2"}'
    assert items._index([]) == ({}, {})
    assert items._index([one]) == ({first: one}, {})
    assert items._index([one, two]) == ({first: one, second: two}, {})
    assert items._index([one, two, again]) == ({second: two}, {first: [one, again]})
    assert items._index([one, again]) == ({}, {first: [one, again]})
