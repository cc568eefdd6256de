"""What the tests of this folder share: tables of cases, random documents, and a comparison that is exact."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st

from setpoint.objects.tree import Json, Object

CASES = Path(__file__).parent / "cases"


def named(*tables: str) -> list[Any]:
    """The cases of the tables, each under its name."""
    found = [
        case for table in tables for case in yaml.load((CASES / f"{table}.yaml").read_text(), Loader=yaml.CSafeLoader)
    ]
    return [pytest.param(case, id=case["name"].replace(" ", "-")) for case in found]


def exactly(tree: Json) -> Any:
    """A tree in a form in which true, 1 and 1.0 differ, and the order of keys does not matter."""
    if type(tree) is dict:
        return {key: exactly(value) for key, value in tree.items()}
    if type(tree) is list:
        return [exactly(item) for item in tree]
    return type(tree).__name__, tree


def scalars() -> st.SearchStrategy[Any]:
    return st.sampled_from([None, True, False, 0, 1, -1, 1.0, 0.5, "", "a", "1", "true"])


def documents(*, objects_only: bool = False, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Small documents over few keys, so that random patches meet something."""
    leaves = scalars() if nulls else scalars().filter(lambda value: value is not None)
    keys = st.sampled_from(["a", "b", "c", "0", "a/b", "m~n", ""])

    def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
        return st.dictionaries(keys, values, max_size=3)

    values = st.recursive(leaves, lambda inner: objects(inner) | st.lists(inner, max_size=3), max_leaves=8)
    return objects(values) if objects_only else values
