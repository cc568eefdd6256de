"""Names of children: people can read them, and every server takes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.flow.generate import child
from setpoint.flow.generate.child_names import safe_name
from setpoint.objects.names import dns1123_label
from setpoint.schema.types import ObjectMeta, Resource


class Thing(Resource, group="example.com", version="v1"):
    """A parent."""


def thing(name: str) -> Thing:
    return Thing(metadata=ObjectMeta(name=name, namespace="here"))


@pytest.mark.feature("E86")
def test_a_name_that_is_good_stays_as_it_is() -> None:
    assert child(thing("shop")).name == "shop"
    assert child(thing("shop"), "web", 1).name == "shop-web-1"
    assert child(thing("shop"), "web", labels={"a": "b"}).labels == {"a": "b"}
    assert (child(thing("shop")).namespace, child(thing("shop"), namespace="there").namespace) == ("here", "there")


@pytest.mark.feature("E86")
def test_what_is_too_long_or_no_label_is_made_one_and_told_apart() -> None:
    long = "a" * 60
    names = [child(thing(name), suffix).name for name in (long, f"{long}b", "v1.2", "v1-2") for suffix in ("web", "db")]
    assert len({*names}) == 8
    assert names[6] == "v1-2-web"
    assert all(not dns1123_label(name) for name in names)


@pytest.mark.feature("E86")
@given(st.lists(st.text(max_size=70) | st.integers(), min_size=1, max_size=4))
def test_every_name_is_a_label_of_dns_and_always_the_same(parts: list[str | int]) -> None:
    assert dns1123_label(safe_name(*parts)) == ()
    assert safe_name(*parts) == safe_name(*parts)


@pytest.mark.feature("E86")
@given(
    st.text(st.sampled_from("abc."), min_size=1, max_size=80), st.text(st.sampled_from("abc."), min_size=1, max_size=80)
)
def test_names_that_had_to_be_changed_differ_where_their_parts_do(one: str, other: str) -> None:
    if one != other and {safe_name(one), safe_name(other)} - {one, other}:
        assert safe_name(one) != safe_name(other)


def test_a_parent_without_a_name_has_no_children_yet() -> None:
    with pytest.raises(ValueError, match="create it first"):
        child(thing(""), "web")
