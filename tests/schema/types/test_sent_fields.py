"""The fields of a typed object that are written: those that its author set, and no other."""

import copy
import pickle
from typing import Any

import msgspec
import pytest

import setpoint as sp
from setpoint.schema.types.frozen import freeze


class Room(sp.Model):
    """A part of an office."""

    doors: int = 1


class OfficeSpec(sp.Model):
    """An office with a default for every field."""

    desks: int = 0
    on: bool = False
    text: str = ""
    tags: list[str] = msgspec.field(default_factory=list)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    note: str | None = None
    room: Room | None = None
    rooms: list[Room] = msgspec.field(default_factory=list)


class Office(sp.Resource, group="example.com", version="v1"):
    """A kind whose spec may be absent."""

    spec: OfficeSpec = msgspec.field(default_factory=OfficeSpec)


def spec_of(office: Office) -> Any:
    return office.to_json().get("spec")


@pytest.mark.parametrize(
    ("field", "value"), [("desks", 0), ("on", False), ("text", ""), ("tags", []), ("labels", {}), ("rooms", [])]
)
def test_a_field_that_the_author_sets_to_its_default_is_written(field: str, value: Any) -> None:
    assert spec_of(Office(spec=OfficeSpec(**{field: value}))) == {field: value}
    assigned = Office()
    setattr(assigned.spec, field, value)
    assert spec_of(assigned) == {field: value}


def test_a_field_that_the_author_does_not_set_is_not_written() -> None:
    assert spec_of(Office()) is None
    assert spec_of(Office(spec=OfficeSpec())) == {}
    assert spec_of(Office(spec=OfficeSpec(desks=1))) == {"desks": 1}


def test_none_stands_for_no_value() -> None:
    assert spec_of(Office(spec=OfficeSpec(note=None, room=None))) == {}


def test_parts_and_items_write_their_own_fields() -> None:
    made = OfficeSpec(room=Room(doors=1), rooms=[Room(), Room(doors=1)])
    assert made.to_json() == {"room": {"doors": 1}, "rooms": [{}, {"doors": 1}]}


def test_an_object_that_was_read_writes_its_default_values_only_if_they_are_set() -> None:
    data = b'{"apiVersion":"example.com/v1","kind":"Office","metadata":{"name":"a"},"spec":{"desks":5,"tags":["x"]}}'
    found = Office.decode(data)
    assert spec_of(found) == {"desks": 5, "tags": ["x"]}
    found.spec.desks, found.spec.tags = 0, []
    assert spec_of(found) == {"desks": 0, "tags": []}
    assert list(found.to_json()) == ["apiVersion", "kind", "metadata", "spec"]


@pytest.mark.parametrize(
    "copied", [sp.Resource.edit, copy.copy, copy.deepcopy, lambda office: pickle.loads(pickle.dumps(office)), freeze]
)
def test_a_copy_writes_the_same_fields(copied: Any) -> None:
    made = Office(metadata=sp.ObjectMeta(name="a"), spec=OfficeSpec(desks=0, tags=[]))
    before = made.to_json()
    assert before == copied(made).to_json()
    assert before["spec"] == {"desks": 0, "tags": []}


def test_a_change_of_a_copy_leaves_the_original_alone() -> None:
    made = Office(spec=OfficeSpec())
    changed = made.edit()
    changed.spec.desks = 0
    assert (spec_of(made), spec_of(changed)) == ({}, {"desks": 0})


def test_a_copy_by_pickle_of_an_object_that_sets_nothing_writes_nothing() -> None:
    assert spec_of(pickle.loads(pickle.dumps(Office(spec=OfficeSpec())))) == {}


class GoSpec(sp.Model, omit_empty=True):
    """A part that follows Go's `omitempty`."""

    desks: int = 0


def test_a_class_may_omit_default_values_as_go_does() -> None:
    made = GoSpec(desks=0)
    made.desks = 0
    assert made.to_json() == {}
    assert GoSpec(desks=1).to_json() == {"desks": 1}
