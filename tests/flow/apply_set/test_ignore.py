"""Ignored fields: which values of the wanted object are dropped, and which are replaced by current ones."""

import copy

import pytest

from setpoint.flow.ignore import drop_ignored_fields
from setpoint.flow.policy import Mode
from setpoint.merge.fieldset import MEMBER
from setpoint.objects.tree import Object

REPLICAS = "/spec/replicas"
IMAGES = "/spec/containers/*/image"


def container(name: str, image: str = "") -> Object:
    return {"name": name, "image": image or f"{name}:1"}


def spec_of(**fields: object) -> Object:
    return {"spec": fields}


OWNED: Object = {"f:spec": {"f:replicas": {}}}
KEYED: Object = {
    "f:spec": {
        "f:containers": {
            MEMBER: {},
            **{f'k:{{"name":"{name}"}}': {MEMBER: {}, "f:name": {}, "f:image": {}} for name in ("a", "b")},
        }
    }
}


@pytest.mark.parametrize(
    ("mode", "fields", "live", "expected", "uses_current"),
    [
        (Mode.APPLY, OWNED, spec_of(replicas=7), spec_of(replicas=7, paused=True), True),
        (Mode.APPLY, {}, spec_of(replicas=7), spec_of(paused=True), False),
        (Mode.APPLY, OWNED, spec_of(), spec_of(paused=True), False),
        (Mode.APPLY, OWNED, spec_of(replicas=None), spec_of(replicas=None, paused=True), True),
        (Mode.UPDATE, {}, spec_of(replicas=7), spec_of(replicas=7, paused=True), True),
        (Mode.UPDATE, {}, spec_of(), spec_of(paused=True), False),
        (Mode.MERGE, {}, spec_of(replicas=7), spec_of(paused=True), False),
        (Mode.APPLY, OWNED, {"spec": "broken"}, spec_of(replicas=3, paused=True), False),
        (Mode.APPLY, OWNED, {}, spec_of(replicas=3, paused=True), False),
    ],
)
def test_a_field_is_dropped_unless_its_owner_must_send_the_current_value(
    mode: Mode, fields: Object, live: Object, expected: Object, uses_current: bool
) -> None:
    wanted = spec_of(replicas=3, paused=True)
    assert drop_ignored_fields(REPLICAS, wanted, live, fields, mode) is uses_current
    assert wanted == expected


def test_a_field_that_is_not_wanted_is_not_added_to_an_apply() -> None:
    wanted = spec_of(paused=True)
    assert not drop_ignored_fields(REPLICAS, wanted, spec_of(replicas=7), {}, Mode.APPLY)
    assert not drop_ignored_fields("/status/replicas", wanted, {"status": {"replicas": 1}}, {}, Mode.UPDATE)
    assert wanted == spec_of(paused=True)


def test_a_field_that_is_not_wanted_is_kept_by_an_update() -> None:
    wanted = spec_of(paused=True)
    assert drop_ignored_fields(REPLICAS, wanted, spec_of(replicas=7), {}, Mode.UPDATE)
    assert wanted == spec_of(paused=True, replicas=7)


@pytest.mark.parametrize(
    ("pointer", "name"), [("/data/a~1b", "a/b"), ("/data/a~0b", "a~b"), ("/data/a~01b", "a~1b"), ("/data/", "")]
)
def test_slashes_and_tildes_of_names_are_escaped(pointer: str, name: str) -> None:
    wanted: Object = {"data": {name: "1", "other": "2"}}
    assert not drop_ignored_fields(pointer, wanted, {"data": {name: "3"}}, {}, Mode.APPLY)
    assert wanted == {"data": {"other": "2"}}


@pytest.mark.parametrize("pointer", ["", "spec/replicas", ".spec.replicas"])
def test_an_invalid_pointer_is_named(pointer: str) -> None:
    with pytest.raises(ValueError, match=f"invalid JSON Pointer '{pointer}': must begin with a slash"):
        drop_ignored_fields(pointer, {}, {}, {}, Mode.APPLY)


def test_a_star_stands_for_every_wanted_field() -> None:
    wanted: Object = {"data": {"a": "1", "b": "2", "c": "3"}}
    live: Object = {"data": {"a": "7", "b": "8", "z": "9"}}
    fields: Object = {"f:data": {"f:a": {}, "f:c": {}}}
    assert drop_ignored_fields("/data/*", wanted, live, fields, Mode.APPLY)
    assert wanted == {"data": {"a": "7"}}, "the current value of the owned field; the others are dropped"


def test_items_are_matched_by_their_keys_and_not_by_their_position() -> None:
    live = spec_of(containers=[container("sidecar"), container("b", "b:8"), container("a", "a:9")])
    wanted = spec_of(containers=[container("a"), container("b")])
    assert drop_ignored_fields(IMAGES, wanted, live, KEYED, Mode.APPLY)
    assert wanted == spec_of(containers=[container("a", "a:9"), container("b", "b:8")])


def test_items_without_keys_are_matched_by_their_position() -> None:
    live = spec_of(containers=[container("x", "x:8"), container("y", "y:9")])
    wanted = spec_of(containers=[container("a"), container("b"), container("c")])
    assert drop_ignored_fields(IMAGES, wanted, live, {}, Mode.UPDATE)
    assert wanted == spec_of(containers=[container("a", "x:8"), container("b", "y:9"), container("c")])


def test_an_item_that_does_not_exist_yet_is_written_as_wanted() -> None:
    live = spec_of(containers=[container("a", "a:9")])
    wanted = spec_of(containers=[container("b"), container("a")])
    assert drop_ignored_fields(IMAGES, wanted, live, KEYED, Mode.APPLY)
    assert wanted == spec_of(containers=[container("b"), container("a", "a:9")])


def test_a_number_selects_one_item_and_never_the_item_itself() -> None:
    live = spec_of(containers=[container("a", "a:8"), container("b", "b:9")])
    wanted = spec_of(containers=[container("a"), container("b")])
    before = copy.deepcopy(wanted)
    assert drop_ignored_fields("/spec/containers/1/image", wanted, live, KEYED, Mode.APPLY)
    assert wanted == spec_of(containers=[container("a"), container("b", "b:9")])
    wanted = copy.deepcopy(before)
    for pointer in ("/spec/containers/1", "/spec/containers/*", "/spec/containers/2/image"):
        assert not drop_ignored_fields(pointer, wanted, live, KEYED, Mode.APPLY)
        assert wanted == before
