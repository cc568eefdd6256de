"""Whatever a user sends, the rules answer: with an object, or with what is wrong with it."""

import random
from typing import Any

import pytest
from tests.server.kinds.objects import bases, place_of
from tests.server.kinds.recorded import NOW
from tests.server.kinds.writes import PLURALS, Place, Writes

from setpoint.objects.tree import copy
from setpoint.schema import builtin
from setpoint.server.registry.kinds import strategy_for
from setpoint.server.registry.kinds.gotypes.roundtrip import normalize

_BASES = bases()
_TEXTS = ("", "a", "A b", "Always", "None", "x.y/z", "10.0.0.1", "LoadBalancer", "NodePort", "::1", "eA==", "/a/../b")
_SCALARS = {
    "Quantity": ("1Gi", 1, "0", "-1", "1.5m"),
    "IntOrString": ("80", 80, "x", 0, ""),
    "Time": ("2024-01-01T00:00:00Z",),
    "MicroTime": ("2024-01-01T00:00:00.000001Z",),
}
_KEYS = ("a", "cpu", "memory", "storage", "x y", "hugepages-2Mi", "example.com/gpu")


class _Chance:
    """Makes values that have the right types and nothing else to recommend them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, place: Any, depth: int = 0) -> Any:
        choice = self.random.choice
        if "$ref" in place:
            name = place["$ref"].removeprefix("#/definitions/")
            short, schema = name.rpartition(".")[2], builtin.definition(name)
            return self.struct(schema, depth) if "properties" in schema else choice(_SCALARS.get(short, ({"a": 1},)))
        kind = place.get("type")
        if kind == "array":
            return [self.value(place["items"], depth + 1) for _ in range(self.random.randint(0, 3))]
        if "additionalProperties" in place:
            names = self.random.sample(_KEYS, self.random.randint(0, 3))
            return {name: self.value(place["additionalProperties"], depth + 1) for name in names}
        if kind == "integer":
            return choice((0, 1, -1, 80, 70000, 2**31 - 1))
        if place.get("format") == "byte":
            return choice(("", "eA=="))
        return self.random.random() < 0.5 if kind == "boolean" else choice(_TEXTS)

    def struct(self, schema: Any, depth: int) -> Any:
        if depth > 7:
            return {}
        names = list(schema["properties"])
        chosen = self.random.sample(names, min(len(names), self.random.randint(0, 6)))
        return {name: self.value(schema["properties"][name], depth + 1) for name in chosen}


def _body(chance: _Chance, place: Place) -> Any:
    body = chance.struct(builtin.definition(place.definition), 0)
    base = copy(_BASES[place.kind])
    for name in chance.random.sample(sorted(base), chance.random.randint(0, len(base))):
        body[name] = base[name]
    body["metadata"] = {"name": "a"}
    return body


@pytest.mark.parametrize("kind", sorted(PLURALS.values()))
def test_random_objects_are_accepted_or_refused_but_never_break_the_rules(kind: str) -> None:
    chance, place = _Chance(7), place_of(kind)
    strategy = strategy_for("", kind)
    assert strategy is not None
    writes = Writes()
    assert writes.create(place, _BASES[kind]).errors == []
    for turn in range(150):
        body = _body(chance, place)
        normalize(copy(body), place.definition)
        written = Writes().create(place, body)
        again = copy(written.tree)
        assert normalize(again, place.definition) == []
        assert again == written.tree
        assert all(str(error) for error in written.errors)
        writes.update(place, body)
        if "status" in written.tree:
            writes.update(place._replace(subresource="status"), body)
        assert len([column.cell(written.tree, NOW) for column in strategy.columns]) == len(strategy.columns)
        assert all(type(field(written.tree)) is str for field in strategy.selectable_fields.values()), turn
