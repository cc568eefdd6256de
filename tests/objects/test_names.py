"""Names: which texts each rule takes, and what it says about the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects import names
from setpoint.objects.ids import ALPHABET, SeededIds

from .tables import cases

RULES = ("dns1123_subdomain", "dns1123_label", "dns1035_label", "qualified_name", "label_value", "config_key")


@cases("names")
def test_names(case: dict[str, Any]) -> None:
    assert [rule for rule in RULES if not getattr(names, rule)(case["text"])] == case["legal"]


@cases("name_messages")
def test_name_messages(case: dict[str, Any]) -> None:
    assert list(getattr(names, case["rule"])(case["text"])) == case["messages"]


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("system:node", []),
        (".", ["may not be '.'"]),
        ("..", ["may not be '..'"]),
        ("a/b%", ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_a_path_segment_is_anything_but_slashes_percents_and_dots(name: str, messages: list[str]) -> None:
    assert list(names.path_segment(name)) == messages


def test_a_prefix_of_a_path_segment_may_be_a_dot() -> None:
    assert names.path_segment(".", True) == ()


@pytest.mark.parametrize("rule", [names.dns1123_subdomain, names.dns1123_label, names.dns1035_label])
def test_a_prefix_may_end_with_a_dash(rule: names.NameRule) -> None:
    assert rule("web-", False)
    assert rule("web-", True) == ()
    assert rule("Web-", True)
    assert rule("é-", True)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("text", ["a" * 200_000 + "!", "a-" * 100_000, "a." * 100_000, "-" * 200_000, "é" * 100_000])
def test_long_texts_are_judged_in_linear_time(rule: str, text: str) -> None:
    assert getattr(names, rule)(text)


@given(st.text(alphabet="abz-", max_size=80))
def test_a_generated_name_is_the_base_cut_to_58_and_a_random_end(base: str) -> None:
    name = names.generate_name(base, SeededIds(1))
    assert name[:-5] == base[:58]
    assert set(name[-5:]) <= set(ALPHABET)
    assert len(name) <= 63


def test_a_base_outside_ascii_is_cut_between_characters() -> None:
    assert names.generate_name("é" * 40, SeededIds(1))[:-5] == "é" * 29


@given(st.lists(st.text("ab.-_/ä\n", max_size=3) | st.just("k" * 63) | st.just("k" * 64), max_size=4))
def test_keys_that_are_looked_at_together_are_right_one_by_one(keys: list[str]) -> None:
    if names.are_config_keys(keys):
        assert not any(map(names.config_key, keys))
    plain = [key for key in keys if key and set(key) <= set("abk-_") and len(key) < 64]
    assert names.are_config_keys(plain) == bool(plain)
