"""A frozen object is what it was to whoever reads it, refuses every change, and gives a copy to change."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from tests.schema.types.test_objects import widgets
from tests.schema.types.test_resources import Part, Widget, WidgetSpec

from setpoint.client.kinds import kind_of, ref_of, tree_of
from setpoint.objects.frozen import FrozenDict, FrozenList
from setpoint.schema.types import Model, ObjectMeta, freeze, is_frozen, thaw, unknown_fields


def _widget() -> Widget:
    meta = ObjectMeta(name="w", labels={"a": "b"})
    return Widget(metadata=meta, spec=WidgetSpec(size=3, parts=[Part(name="p", count=2)]))


CHANGES: dict[str, Callable[[Any], Any]] = {
    "set a field": lambda widget: setattr(widget, "spec", WidgetSpec(size=1)),
    "delete a field": lambda widget: delattr(widget, "spec"),
    "set an attribute of one's own": lambda widget: setattr(widget, "mine", 1),
    "set a field below": lambda widget: setattr(widget.spec, "size", 1),
    "set a field of an item": lambda widget: setattr(widget.spec.parts[0], "count", 1),
    "append": lambda widget: widget.spec.parts.append(Part(name="q", count=1)),
    "set an entry": lambda widget: widget.metadata.labels.update(c="d"),
    "fill an empty map": lambda widget: widget.metadata.annotations.update(c="d"),
}


@pytest.mark.feature("E36")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_refused_with_the_remedy(change: Callable[[Any], Any]) -> None:
    widget = freeze(_widget())
    with pytest.raises(TypeError, match=r"cannot be changed.*change a copy.*edit\(\)"):
        change(widget)
    assert widget == _widget()


@given(widgets())
def test_a_frozen_object_equals_its_copy_and_is_of_its_class(widget: Widget) -> None:
    before, tree, text = widget.edit(), widget.to_json(), repr(widget)
    frozen = freeze(widget)
    assert frozen is widget
    assert isinstance(frozen, Widget)
    assert is_frozen(frozen)
    assert freeze(frozen) is frozen
    assert frozen == before
    assert before == frozen
    assert frozen == freeze(before.edit())
    assert frozen.to_json() == tree
    assert repr(frozen) == text
    assert (frozen != before) is False


@pytest.mark.feature("E36")
@given(widgets())
def test_copies_to_change_share_nothing_with_what_they_were_made_of(widget: Widget) -> None:
    tree = widget.to_json()
    frozen = freeze(widget)
    for made in (frozen.edit(), thaw(frozen), copy.deepcopy(frozen)):
        assert type(made) is Widget
        assert not is_frozen(made)
        made.spec.size += 1
        made.metadata.labels["new"] = "x"
        made.spec.parts.append(Part(name="new", count=1))
        for part in made.spec.parts:
            part.count += 1
        assert frozen.to_json() == tree
        assert made != frozen


def test_objects_that_differ_are_not_equal() -> None:
    frozen = freeze(_widget())
    other = _widget()
    other.spec.parts[0].count += 1
    assert frozen != other
    assert other != frozen
    assert frozen != freeze(other)
    assert frozen.__eq__(other.spec) is NotImplemented


def test_a_frozen_object_pickles_as_one() -> None:
    frozen = freeze(_widget())
    unpickled = pickle.loads(pickle.dumps(frozen))
    assert unpickled == frozen
    assert type(unpickled) is type(frozen)
    assert is_frozen(unpickled.spec)


def test_a_shallow_copy_has_fields_of_its_own_and_shares_its_parts() -> None:
    frozen = freeze(_widget())
    made = copy.copy(frozen)
    made.metadata = ObjectMeta(name="other")
    assert type(made) is Widget
    assert made.spec is frozen.spec
    assert frozen.metadata.name == "w"


def test_frozen_lists_and_maps_are_those_of_trees() -> None:
    frozen = freeze(_widget())
    assert type(frozen.spec.parts) is FrozenList
    assert type(frozen.metadata.labels) is FrozenDict
    assert type(freeze({"a": []})) is FrozenDict


def test_any_json_inside_a_model_freezes_and_thaws() -> None:
    class Holder(Model):
        anything: Any = None
        names: set[str] = msgspec.field(default_factory=set)
        pair: tuple[Part, ...] = ()

    holder = freeze(Holder(anything={"a": [1]}, names={"x"}, pair=(Part(name="p", count=1),)))
    with pytest.raises(TypeError):
        holder.anything["a"].append(2)
    with pytest.raises(AttributeError):
        holder.names.add("y")
    with pytest.raises(TypeError):
        holder.pair[0].count = 2
    edited = holder.edit()
    edited.anything["a"].append(2)
    edited.names.add("y")
    edited.pair[0].count = 2
    assert holder == Holder(anything={"a": [1]}, names={"x"}, pair=(Part(name="p", count=1),))


def test_what_a_class_does_not_know_freezes_with_the_object() -> None:
    tree = _widget().to_json()
    tree["spec"]["later"] = {"a": [1]}
    frozen = freeze(Widget.from_json(tree))
    with pytest.raises(TypeError):
        unknown_fields(frozen.spec)["later"]["a"].append(2)
    edited = frozen.edit()
    edited.spec.size = 4
    assert edited.to_json()["spec"]["later"] == {"a": [1]}
    assert unknown_fields(pickle.loads(pickle.dumps(frozen)).spec) == {"later": {"a": [1]}}


def test_the_client_takes_frozen_objects_and_reads_plain_ones() -> None:
    frozen = freeze(_widget())
    assert ref_of(frozen) == kind_of(Widget)
    assert type(ref_of(frozen).read(frozen.to_json())) is Widget
    assert type(type(frozen).from_json(frozen.to_json())) is Widget
    assert type(type(frozen).decode(msgspec.json.encode(frozen.to_json()))) is Widget
    tree = tree_of(freeze({"a": {"b": []}}))
    assert type(tree) is dict
    assert type(tree["a"]) is dict
