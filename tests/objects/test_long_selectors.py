"""Selectors with very many terms select the same as short ones, and a match does not go through all terms."""

from hypothesis import given
from hypothesis import strategies as st
from tests.turns import growth

from setpoint.objects import fields, labels
from setpoint.objects.labels import Operator, Requirement, _compile_many

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["1", "2", "3", "x"])
SETS = (Operator.IN, Operator.NOT_IN)
SINGLE = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS)
requirements = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(SETS), st.lists(VALUES, min_size=1, max_size=3).map(tuple)),
    st.builds(Requirement, KEYS, st.sampled_from(SINGLE), st.tuples(VALUES)),
    st.builds(Requirement, KEYS, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN]),
        st.tuples(st.sampled_from(["0", "1", "2", "3", "-4"])),
    ),
)


@given(st.lists(requirements, max_size=12), st.none() | st.dictionaries(KEYS, VALUES))
def test_requirements_by_key_select_what_each_of_them_does(
    wanted: list[Requirement], found: dict[str, str] | None
) -> None:
    assert _compile_many(wanted)(found) == all(requirement.compile()(found) for requirement in wanted)


@given(st.lists(st.tuples(KEYS, VALUES, st.booleans())), st.dictionaries(KEYS, VALUES))
def test_field_terms_by_field_select_what_each_of_them_does(
    terms: list[tuple[str, str, bool]], found: dict[str, str]
) -> None:
    selector = fields.Selector(tuple(fields.Requirement(*term) for term in terms))
    assert selector.matches(found) == all((found.get(key, "") == value) is equals for key, value, equals in terms)


def test_a_match_does_not_go_through_all_terms() -> None:
    def prepare(size: int):  # type: ignore[no-untyped-def]
        by_label = labels.parse(",".join(f"k{number}!=v" for number in range(size))).matches
        by_field = fields.parse(",".join(f"metadata.name!=n{number}" for number in range(size))).matches

        def match() -> None:
            for _ in range(2000):
                assert by_label({"app": "a", "tier": "b"})
                assert by_field({"metadata.name": "other"})

        return match

    assert growth(prepare, 1000) < 2
