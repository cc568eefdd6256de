"""Names of children that follow from their parent."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.system.worlds import new_world

from setpoint.controller.child_names import LONGEST, child_name
from setpoint.objects.errors import AlreadyExists

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?){0,2}", fullmatch=True)
PARTS = st.lists(st.text(max_size=20), max_size=3)


@given(NAMES, PARTS)
def test_a_name_is_a_label_and_the_same_each_time(parent: str, parts: list[str]) -> None:
    name = child_name(parent, *parts)
    assert LABEL.fullmatch(name)
    assert len(name) <= LONGEST
    assert name == child_name({"metadata": {"name": parent}}, *parts)


@given(NAMES, NAMES, PARTS, PARTS)
def test_children_of_other_parents_or_parts_are_called_differently(
    parent: str, other: str, parts: list[str], others: list[str]
) -> None:
    assert (child_name(parent, *parts) == child_name(other, *others)) == ((parent, parts) == (other, others))


def test_names_stay_what_they_are_from_version_to_version() -> None:
    assert child_name("shop", "web", 0) == "shop-vf4x8nlkhv"
    assert child_name("shop").startswith("shop-")


def test_where_parts_end_makes_a_difference() -> None:
    assert child_name("shop", "ab", "c") != child_name("shop", "a", "bc")


def test_a_parent_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="the parent has no name yet"):
        child_name({"metadata": {"generateName": "shop-"}}, "web")


async def test_the_server_refuses_a_second_child_of_the_name() -> None:
    async with new_world(system=False) as world:
        parent = await world.make("shop")
        await world.make(child_name(parent, "web"))
        with pytest.raises(AlreadyExists):
            await world.make(child_name(parent, "web"))
