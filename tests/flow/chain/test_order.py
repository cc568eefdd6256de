"""The order of handlers is a law: after what they say, else as they came."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.flow.chain.order import RegistrationError, before, ordered

NAMES = [f"h{number}" for number in range(5)]


@st.composite
def orders(draw: st.DrawFn) -> dict[str, list[str]]:
    """Names in any order, each after some that come earlier in another one: so there is no circle."""
    ranked = draw(st.permutations(NAMES))
    after = {
        name: draw(st.lists(st.sampled_from(ranked[:rank]), unique=True)) if rank else []
        for rank, name in enumerate(ranked)
    }
    return {name: after[name] for name in draw(st.permutations(NAMES))}


@pytest.mark.feature("E7")
@given(orders())
def test_each_comes_after_those_it_names_and_those_they_name(after: dict[str, list[str]]) -> None:
    found = ordered(after)
    assert sorted(found) == sorted(after)
    place = {name: position for position, name in enumerate(found)}
    for name in after:
        for other in before(after, name):
            assert place[other] < place[name]


@given(orders())
def test_who_says_nothing_keeps_its_place_among_those_who_say_nothing(after: dict[str, list[str]]) -> None:
    free = [name for name, others in after.items() if not others]
    assert [name for name in ordered(after) if name in free] == free


@given(orders(), st.data())
def test_a_circle_is_named_and_it_is_one(after: dict[str, list[str]], data: st.DataObject) -> None:
    late = [name for name in after if before(after, name)]
    if not late:
        return
    last = data.draw(st.sampled_from(late))
    first = data.draw(st.sampled_from(sorted(before(after, last))))
    closed = {**after, first: [*after[first], last]}
    with pytest.raises(RegistrationError, match="form a cycle") as caught:
        ordered(closed)
    circle = str(caught.value).partition(": ")[2].partition(". Remove")[0].split(" after ")
    assert circle[0] == circle[-1]
    assert all(other in closed[name] for name, other in pairwise(circle))
