"""Laws of conversion: what a converter cannot touch, and that what is remembered is what was given."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.server.registry.conversion.cache import Memory
from setpoint.server.registry.conversion.review import Batch, ConversionFailed

V1, V2 = "example.com/v1", "example.com/v2"
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/ ", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=6,
)
_fields = ("labels", "annotations", "finalizers", "generation", "ownerReferences", "deletionTimestamp", "managedFields")
_texts = st.dictionaries(st.sampled_from(("a", "b", "c")), st.sampled_from(("x", "y")), max_size=2)
_metadata = st.fixed_dictionaries({"labels": _texts}) | st.dictionaries(st.sampled_from(_fields), _json, max_size=4)


def _original(metadata: Object) -> Object:
    kept = {name: value for name, value in metadata.items() if name not in ("labels", "annotations")}
    named = {"name": "w", "namespace": "n", "uid": "u", "labels": {"a": "x"}}
    return {"apiVersion": V1, "kind": "Widget", "metadata": {**kept, **named}}


def _checked(original: Object, answer: object) -> tuple[Object | None, str]:
    """What becomes of an answer, or what is said of it."""
    try:
        [made] = Batch("converter", [original], V1, V2).checked([answer])
    except ConversionFailed as failed:
        return None, str(failed)
    return made, ""


@given(_metadata, _metadata, _json)
def test_whatever_a_converter_gives_only_labels_and_annotations_of_the_metadata_are_its_own(
    before: Object, after: Object, spec: object
) -> None:
    original = _original(before)
    given_back = {"apiVersion": V2, "kind": "Widget", "spec": spec}
    given_back["metadata"] = {**after, "name": "w", "namespace": "n", "uid": "u"}
    made, said = _checked(original, given_back)
    if made is None:
        assert said.startswith("converter for example.com/v1, Kind=Widget returned invalid metadata: ")
        return
    texts = ("labels", "annotations")
    kept = {name: value for name, value in original["metadata"].items() if name not in texts}
    assert {name: value for name, value in made["metadata"].items() if name not in texts} == kept
    for name in texts:
        assert made["metadata"].get(name) == after.get(name)
    assert made["spec"] == spec
    remembered = Memory(ManualClock(datetime(2026, 1, 2, tzinfo=UTC))).put(b"k", made)
    assert remembered.of(original) == made


@given(_json)
def test_no_answer_is_worse_than_an_error(answer: object) -> None:
    original = _original({})
    for wrong in (answer, {**original, "metadata": answer}, {"kind": answer, "apiVersion": answer}):
        made, said = _checked(original, wrong)
        assert made is None
        assert said.startswith("converter for example.com/v1, Kind=Widget returned invalid object")
