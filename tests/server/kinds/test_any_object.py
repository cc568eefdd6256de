"""The rules take any object of their kind, however much of it is missing, empty or doubled, without failing."""

import json
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.kinds import judged

from setpoint.objects.tree import Json, Object, copy

OBJECTS = [(table, name) for table, found in judged.TABLES.items() for name in found.objects]
NOW = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
_TEXTS = ("", "x", "A b", "a/b/c", "a.b.c", "1.2.3.4", "::1", "10.0.0.0/8", "-1%", "50%", "*", "v1", "In")
_NUMBERS = (0, -1, 1, 70_000, 10**9)
_KEPT = ("apiVersion", "kind")


def damaged(tree: Json, chance: Random, often: float) -> Json:
    """The tree with fields that are gone, empty or strange, but of the type that they have."""
    if isinstance(tree, dict):
        made = {}
        for name, value in tree.items():
            fate = chance.random() if name not in _KEPT else 1.0
            if fate >= often:
                made[name] = strange(value, chance) if fate < 2 * often else damaged(value, chance, often)
        return made
    if isinstance(tree, list):
        return [damaged(item, chance, often) for item in tree for _ in range(chance.choice((1, 1, 2)))]
    return tree


def strange(value: Json, chance: Random) -> Json:
    if isinstance(value, str):
        return chance.choice(_TEXTS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice(_NUMBERS)
    return chance.choice([[], [None]] if isinstance(value, list) else [{}, None])


@pytest.mark.parametrize(("table", "name"), OBJECTS)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), often=st.sampled_from((0.02, 0.1, 0.3)))
def test_any_object_is_judged_and_shown(table: str, name: str, seed: int, often: float) -> None:
    stored = judged.created(judged.TABLES[table].objects[name])
    tree: Object = damaged(copy(stored), Random(seed), often)
    tree["metadata"] = {"name": "n", **(tree.get("metadata") or {})}
    try:
        tree = judged.admitted(tree)
    except ValueError:
        return  # A value of the wrong type is refused before any rule is asked.
    strategy = judged.strategy_of(tree)
    for error in (*strategy.validate(tree), *strategy.validate_update(tree, stored)):
        assert error.field in str(error)
    for subresource in ("", "status"):
        changed = copy(tree)
        strategy.prepare_for_update(changed, stored, subresource)
        strategy.validate_update(changed, stored, subresource)
        strategy.bumps_generation(changed, stored)
    json.dumps([column.cell(tree, NOW) for column in strategy.columns])
    assert all(isinstance(text, str) for text in strategy.warnings(tree, stored) + strategy.warnings(tree, None))
