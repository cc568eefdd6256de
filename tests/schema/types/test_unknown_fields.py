"""What a class does not know of its objects is kept where it stood, and written back: nothing gets lost."""

import copy
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.client.patches import merge_patch
from setpoint.schema.types import Model, Quantity, Resource, unknown_fields


class Port(Model):
    name: str
    number: int = 0


class Box(Model):
    port: Port | None = None
    ports: list[Port] = msgspec.field(default_factory=list)
    by_name: dict[str, Port] = msgspec.field(default_factory=dict)
    deep: dict[str, list[Port]] = msgspec.field(default_factory=dict)
    anything: Any = None
    size: Quantity | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class Crate(Resource, group="ex.com", version="v1"):
    spec: Box
    box: Box = msgspec.field(default_factory=Box)


def _tree() -> dict[str, Any]:
    return {
        "apiVersion": "ex.com/v1",
        "kind": "Crate",
        "metadata": {"name": "c", "later": {"x": 1}, "ownerReferences": [_owner("a")]},
        "spec": {
            "port": {"name": "p", "later": [1, {"y": None}]},
            "ports": [{"name": "a", "later": 1}, {"name": "b", "number": 2}, {"name": "c", "later": 3}],
            "byName": {"x": {"name": "x", "later": True}},
            "deep": {"d": [{"name": "d", "later": "z"}]},
            "anything": {"later": 1},
            "size": "1Gi",
            "later": None,
        },
        "later": {"top": []},
    }


def _owner(uid: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "later": uid}


@pytest.mark.parametrize("read", [Crate.from_json, lambda tree: Crate.decode(msgspec.json.encode(tree))])
def test_an_object_is_written_back_as_it_was_read(read: Any) -> None:
    tree = _tree()
    crate = read(tree)
    assert crate.spec.ports[1].number == 2
    assert crate.spec.size == Quantity.parse("1Gi")
    assert crate.to_json() == _tree()
    assert tree == _tree()
    for made in (crate.edit(), copy.copy(crate), copy.deepcopy(crate), pickle.loads(pickle.dumps(crate))):
        assert made.to_json() == _tree()


def test_changes_stand_beside_what_is_not_known() -> None:
    crate = Crate.from_json(_tree())
    crate.spec.ports[0].number = 7
    crate.metadata.labels["a"] = "b"
    crate.spec.size = None
    wanted = _tree()
    wanted["spec"]["ports"][0]["number"] = 7
    wanted["metadata"]["labels"] = {"a": "b"}
    del wanted["spec"]["size"]
    assert crate.to_json() == wanted


def test_what_is_not_known_moves_with_the_part_it_belongs_to() -> None:
    crate = Crate.from_json(_tree())
    ports = crate.spec.ports
    ports.reverse()
    ports.append(Port(name="new"))
    del ports[1]
    crate.spec.by_name["y"] = crate.spec.by_name.pop("x")
    crate.box.port = crate.spec.port
    crate.spec.port = None
    tree = crate.to_json()
    assert tree["spec"]["ports"] == [{"name": "c", "later": 3}, {"name": "a", "later": 1}, {"name": "new"}]
    assert tree["spec"]["byName"] == {"y": {"name": "x", "later": True}}
    assert tree["box"] == {"port": {"name": "p", "later": [1, {"y": None}]}}
    assert "port" not in tree["spec"]


def test_a_part_goes_into_another_object_with_what_it_has() -> None:
    crate = Crate(spec=Crate.from_json(_tree()).spec)
    assert crate.to_json()["spec"] == _tree()["spec"]


def test_the_copy_of_an_object_has_its_own_unknown_fields() -> None:
    crate = Crate.from_json(_tree())
    unknown_fields(crate.edit())["later"]["top"].append(1)
    assert crate.to_json() == _tree()


def test_a_patch_by_difference_says_only_what_changed() -> None:
    before = Crate.from_json(_tree())
    after = before.edit()
    after.spec.labels["a"] = "b"
    assert merge_patch(before, before.edit()).is_empty
    assert msgspec.json.decode(merge_patch(before, after).body) == {"spec": {"labels": {"a": "b"}}}


def test_a_null_in_a_field_that_takes_none_reads_as_absent_and_is_kept() -> None:
    tree = {"apiVersion": "ex.com/v1", "kind": "Crate", "spec": {"ports": None, "port": None, "labels": None}}
    crate = Crate.from_json(tree)
    assert crate.spec.ports == []
    assert crate.spec.labels == {}
    assert crate.to_json()["spec"] == {"ports": None, "labels": None}
    crate.spec.ports.append(Port(name="p"))
    assert crate.to_json()["spec"]["ports"] == [{"name": "p"}]


def test_a_class_that_says_so_lets_its_users_read_what_it_does_not_know() -> None:
    port = Port.from_json({"name": "p", "later": 1})
    assert unknown_fields(port) == {"later": 1}
    assert unknown_fields(Port(name="p")) == {}


def test_a_wrong_type_beside_an_unknown_field_is_told_by_its_path() -> None:
    tree = _tree()
    tree["spec"]["ports"][1]["number"] = "two"
    for read in (Crate.from_json, lambda tree: Crate.decode(msgspec.json.encode(tree))):
        with pytest.raises(
            msgspec.ValidationError, match=r"Expected `int`, got `str` - at `\$.spec.ports\[1\].number`"
        ):
            read(tree)


def test_bytes_of_another_kind_are_refused_and_items_of_a_list_need_not_say_theirs() -> None:
    assert Crate.decode(b'{"spec":{}}').to_json() == {"apiVersion": "ex.com/v1", "kind": "Crate", "spec": {}}
    assert Crate.decode(b'{"apiVersion":"ex.com/v1","kind":"Crate","spec":{}}').kind == "Crate"
    with pytest.raises(msgspec.ValidationError, match=r"Expected `ex.com/v1, Kind=Crate`, got `v1, Kind=Crate`"):
        Crate.decode(b'{"apiVersion":"v1","kind":"Crate","spec":{}}')
    with pytest.raises(msgspec.ValidationError, match="Kind=Other"):
        Crate.decode(b'{"apiVersion":"ex.com/v1","kind":"Other","spec":{},"later":1}')
    with pytest.raises(msgspec.DecodeError):
        Crate.decode(b'{"spec":')


names = st.sampled_from(["name", "number", "later", "port", "ports", "byName", "size"])
anything = st.recursive(
    st.none() | st.integers(-5, 5) | st.text(alphabet="ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
later = st.dictionaries(st.sampled_from(["later", "x", "kind2"]), anything, max_size=2)
ports = st.tuples(st.fixed_dictionaries({"name": st.just("p"), "number": st.integers(1, 3)}), later).map(
    lambda both: {**both[1], **both[0]}
)
boxes = st.tuples(
    st.fixed_dictionaries(
        {},
        optional={
            "port": ports,
            "ports": st.lists(ports, min_size=1, max_size=3),
            "byName": st.dictionaries(names, ports, min_size=1, max_size=2),
            "deep": st.dictionaries(names, st.lists(ports, max_size=2), min_size=1, max_size=2),
        },
    ),
    later,
).map(lambda both: {**both[1], **both[0]})


@given(boxes)
def test_any_object_survives_the_class_that_knows_half_of_it(tree: dict[str, Any]) -> None:
    assert Box.from_json(tree).to_json() == tree
    assert Box.decode(msgspec.json.encode(tree)).edit().to_json() == tree
