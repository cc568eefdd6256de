"""Laws of server-side apply on random objects, and that no object however deep or odd makes it stumble."""

import contextlib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.merge.documents import documents, exactly

from setpoint.merge import fieldset
from setpoint.merge.equality import equal
from setpoint.merge.fieldmanager import FieldManager
from setpoint.merge.typed.node import compare
from setpoint.merge.types import Types
from setpoint.objects.clock import ManualClock
from setpoint.objects.codec import MAX_DEPTH
from setpoint.objects.errors import APIError, ApplyConflict
from setpoint.objects.tree import Json, Object
from setpoint.schema.builtin import definition

VERSION = "example.com/v1"
SCHEMA: Object = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "struct": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "array", "items": {}}},
        },
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "names": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "value": {"type": "string"}, "free": {"type": "object"}},
            },
        },
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
        "free": {"x-kubernetes-preserve-unknown-fields": True},
    },
}
TYPE = Types(definition).custom_resource(SCHEMA)
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
CLOCK = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
FIELDS = FieldManager(api_version=VERSION, kind="Thing", types={VERSION: TYPE}, clock=CLOCK)

laws = settings(max_examples=60, deadline=None)
texts = st.sampled_from(["x", "y", "z"])
values = documents(nulls=False)


def objects(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=parts)


def unique(items: list[Object]) -> list[Object]:
    return list({item["name"]: item for item in items}.values())


items = st.lists(
    st.fixed_dictionaries(
        {"name": texts}, optional={"value": texts, "free": documents(objects_only=True, nulls=False)}
    ),
    max_size=3,
).map(unique)

# Objects whose fields keep their kind: where a map becomes a scalar, what was in the map is nobody's conflict.
steady = objects(
    text=texts,
    struct=objects(a=texts, b=st.integers(0, 2), c=st.lists(st.booleans(), max_size=2)),
    map=st.dictionaries(texts, texts, max_size=2),
    names=st.lists(texts, unique=True, max_size=3),
    items=items.map(lambda found: [{**item, "free": {}} if "free" in item else item for item in found]),
    free=st.dictionaries(texts, st.dictionaries(texts, texts, max_size=2), max_size=2),
)

specs = objects(
    text=texts,
    struct=objects(a=texts, b=st.integers(0, 2), c=st.lists(st.booleans(), max_size=2)),
    map=st.dictionaries(texts, texts, max_size=2),
    names=st.lists(texts, unique=True, max_size=3),
    items=items,
    whole=documents(objects_only=True, nulls=False),
    free=values,
)


def thing(spec: Object) -> Object:
    return {"apiVersion": VERSION, "kind": "Thing", "metadata": {"name": "t"}, **spec}


def bare(tree: Object) -> Object:
    return {name: value for name, value in tree.items() if name not in ("apiVersion", "kind", "metadata")}


def filled(tree: Json) -> Json:
    """The tree without anything empty in it."""
    if isinstance(tree, dict):
        return {name: found for name, value in tree.items() if (found := filled(value)) not in (None, {}, [])}
    return [filled(item) for item in tree] if isinstance(tree, list) else tree


def fields_of(tree: Object, manager: str) -> fieldset.FieldSet:
    found: fieldset.FieldSet = {}
    for entry in tree["metadata"].get("managedFields", []):
        if entry["manager"] == manager:
            found = fieldset.union(found, entry["fieldsV1"])
    return found


@laws
@given(specs, st.dictionaries(texts, texts, max_size=2), st.booleans())
def test_who_creates_an_object_owns_all_it_sets_as_does_who_asks_to_forget_all_owners_before_that(
    spec: Object, labels: Object, system: bool
) -> None:
    metadata: Object = {"name": "t", "uid": "u", "generation": 1} if system else {"name": "t"}
    metadata |= {"labels": labels} if labels else {}
    tree = {**thing(spec), "metadata": metadata}
    plain = FIELDS.update(None, tree, "me")
    assert plain == FIELDS.update(None, {**tree, "metadata": {**metadata, "managedFields": []}}, "me")
    there = fieldset.difference(compare(TYPE, {"metadata": {}}, tree).added, fields_of(plain, "me"))
    unowned = {"apiVersion", "kind", "metadata", "name", "uid", "generation"}
    assert all(element[2:] in unowned for path in fieldset.paths(there) for element in path)


@laws
@given(specs, st.sampled_from(("me", "kubectl")), st.booleans())
def test_what_is_not_there_is_applied_to_as_an_object_of_which_nothing_is_known(
    spec: Object, manager: str, annotated: bool
) -> None:
    config = thing(spec)
    if annotated:
        annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
        config = {**config, "metadata": {**config["metadata"], "annotations": annotations}}
    nothing = {"apiVersion": config["apiVersion"], "kind": config["kind"]}
    assert exactly(FIELDS.apply(None, config, manager)) == exactly(FIELDS.apply(nothing, config, manager))


@laws
@given(specs, specs)
def test_applying_twice_is_applying_once(before: Object, spec: Object) -> None:
    live = FIELDS.apply(None, thing({**before, "text": "tracked"}), "other")
    once = FIELDS.apply(live, thing(spec), "me", force=True)
    assert FIELDS.apply(once, thing(spec), "me") == once


@laws
@given(specs, specs)
def test_a_configuration_by_force_is_in_the_result_and_then_conflicts_with_nobody(before: Object, spec: Object) -> None:
    live = FIELDS.apply(None, thing(before), "other")
    new = FIELDS.apply(live, thing(spec), "me", force=True)
    difference = compare(TYPE, thing(spec), new)
    assert fieldset.intersection(difference.modified, TYPE.field_set(thing(spec), True) or {}) == {}
    FIELDS.apply(new, thing(spec), "me", force=False)


@laws
@given(steady, steady)
def test_what_is_removed_from_a_configuration_is_gone_again(before: Object, spec: Object) -> None:
    live = FIELDS.apply(None, thing(before), "other")
    try:
        new = FIELDS.apply(live, thing(spec), "me")
    except ApplyConflict:
        return
    back = FIELDS.apply(new, thing({}), "me")
    # Empty lists belong to nobody, and what was empty before may be null now. The order in lists is the last applier's.
    assert compare(TYPE, filled(bare(live)), filled(bare(back))) == ({}, {}, {})
    assert fields_of(back, "other") == fields_of(live, "other")


@laws
@given(specs, specs)
def test_managers_of_disjoint_fields_commute(left: Object, right: Object) -> None:
    right = {name: value for name, value in right.items() if name not in left}
    ab = FIELDS.apply(FIELDS.apply(None, thing(left), "a"), thing(right), "b")
    ba = FIELDS.apply(FIELDS.apply(None, thing(right), "b"), thing(left), "a")
    assert exactly(bare(ab)) == exactly(bare(ba))
    assert {name: fields_of(ab, name) for name in "ab"} == {name: fields_of(ba, name) for name in "ab"}


@laws
@given(steady, steady, steady)
def test_an_apply_never_takes_away_what_another_applies(first: Object, second: Object, third: Object) -> None:
    live = FIELDS.apply(None, thing(first), "me")
    live = FIELDS.apply(live, thing(second), "other", force=True)
    try:
        new = FIELDS.apply(live, thing(third), "me")
    except ApplyConflict:
        return
    theirs = fields_of(live, "other")
    assert fields_of(new, "other") == theirs
    assert fieldset.intersection(compare(TYPE, live, new).removed, theirs) == {}


@laws
@given(specs, specs)
def test_after_an_update_its_manager_owns_all_that_changed(before: Object, after: Object) -> None:
    live = FIELDS.apply(None, thing({**before, "text": "tracked"}), "other")
    new = FIELDS.update(live, {**thing(after), "metadata": live["metadata"]}, "me")
    _, modified, added = compare(TYPE, live, {**thing(after), "metadata": live["metadata"]})
    assert fields_of(new, "me") == fieldset.union(modified, added)
    assert fieldset.intersection(fields_of(new, "other"), fields_of(new, "me")) == {}


@laws
@given(specs, specs)
def test_comparing_is_the_same_in_both_directions(left: Object, right: Object) -> None:
    there, back = compare(TYPE, thing(left), thing(right)), compare(TYPE, thing(right), thing(left))
    assert (there.removed, there.modified, there.added) == (back.added, back.modified, back.removed)


@laws
@given(specs, specs)
def test_nothing_differs_exactly_between_objects_with_equal_fields(left: Object, right: Object) -> None:
    same = compare(TYPE, thing(left), thing(right)) == ({}, {}, {})
    if equal(left, right):
        assert same
    if same:
        # Only the order of items in sets and keyed lists may differ then.
        assert TYPE.field_set(thing(left), True) == TYPE.field_set(thing(right), True)


@laws
@given(specs)
def test_what_an_object_has_can_be_taken_out_and_applied_again(spec: Object) -> None:
    live = FIELDS.apply(None, thing(spec), "me")
    taken: Object = TYPE.extract(live, fields_of(live, "me"))
    again = FIELDS.apply(live, {**thing({}), **bare(taken)}, "me")
    assert fields_of(again, "me") == fields_of(live, "me")


@laws
@given(documents(objects_only=True), documents(objects_only=True))
def test_any_object_is_either_applied_or_refused_in_words(live: Object, config: Object) -> None:
    before = FIELDS.update(None, thing(live), "other")
    with contextlib.suppress(APIError):
        FIELDS.apply(before, thing(config), "me", force=True)
    FIELDS.update(before, {**thing(config), "metadata": before["metadata"]}, "me")


def deep(levels: int, wrap: Any) -> Json:
    tree: Json = "bottom"
    for _ in range(levels):
        tree = wrap(tree)
    return tree


@pytest.mark.parametrize("wrap", [lambda tree: {"k": tree}, lambda tree: [tree]], ids=["maps", "lists"])
def test_objects_as_deep_as_json_may_be_are_no_deeper_than_apply_can_go(wrap: Any) -> None:
    first, second = (thing({"free": {"x": value, "d": deep(MAX_DEPTH - 2, wrap)}}) for value in "ab")
    live = FIELDS.apply(None, first, "one")
    live = FIELDS.apply(live, second, "two", force=True)
    live = FIELDS.update(live, {**first, "free": {"d": deep(MAX_DEPTH - 2, wrap)}}, "three")
    live = FIELDS.apply(live, thing({}), "two")
    assert FIELDS.apply(live, {**thing({}), "text": "t"}, "one")["text"] == "t"


def test_field_sets_as_deep_as_json_may_be_are_read() -> None:
    fields = deep(MAX_DEPTH - 5, lambda tree: {"f:k": {} if tree == "bottom" else tree})
    entry = {"manager": "x", "operation": "Update", "apiVersion": VERSION, "fieldsType": "FieldsV1", "fieldsV1": fields}
    live = FIELDS.apply(None, thing({"text": "a"}), "me")
    sent = {**thing({"text": "b"}), "metadata": {"managedFields": [entry]}}
    assert fields_of(FIELDS.update(live, sent, "u"), "x") == fields


def test_true_is_not_taken_for_one_where_the_schema_alone_would_refuse_it() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"port": INT_OR_STRING}}}}
    kind = Types(definition).custom_resource(schema)
    fields = FieldManager(api_version=VERSION, kind="Thing", types={VERSION: kind}, clock=CLOCK)
    live = fields.apply(None, thing({"spec": {"port": 1}}), "me")
    assert fields.apply(live, thing({"spec": {"port": True}}), "me")["spec"]["port"] is True
