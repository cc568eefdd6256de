"""Objects as files: read from streams of documents, written without what the server added."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.api.core.v1 import ConfigMap
from setpoint.client.manifests import dump_yaml, exported, load_yaml, parse_yaml
from setpoint.flow.apply_set import ApplySet
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.schema.types import ObjectMeta

pytestmark = pytest.mark.feature("E85")

TWO = """\
# The first.
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: b}}
- {apiVersion: v1, kind: SecretList, items: [{apiVersion: v1, kind: Secret, metadata: {name: c}}]}
"""


def names(objects: list[Object]) -> list[str]:
    return [f"{each['kind']} {each['metadata']['name']}" for each in objects]


def test_a_stream_has_many_objects_and_lists_are_their_items() -> None:
    assert names(parse_yaml(TWO)) == ["ConfigMap a", "Secret b", "Secret c"]
    assert parse_yaml("") == []


def test_the_files_of_a_directory_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "2.yml").write_text(TWO)
    (tmp_path / "1.json").write_text('{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}')
    (tmp_path / "notes.txt").write_text("no object")
    assert names(load_yaml(tmp_path)) == ["Namespace n", "ConfigMap a", "Secret b", "Secret c"]
    assert names(load_yaml(str(tmp_path / "1.json"))) == ["Namespace n"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "2.yaml: document 1 is not valid YAML: yaml: line"),
        (
            "apiVersion: v1\nkind: A\n---\njust text",
            "2.yaml: document 2 is not an object: apiVersion or kind",
        ),
        ("kind: List\napiVersion: v1\nitems: [1]", "2.yaml: item 1 of document 1 is not an object"),
        ("apiVersion: v1\nkind: A\nkind: B", 'document 1 has a duplicate key: line 3: key "kind" already set in map'),
    ],
)
def test_what_is_no_object_is_told_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "2.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"2\.yaml") as error:
        load_yaml(tmp_path)
    assert says in str(error.value)


async def test_what_a_server_has_can_be_applied_elsewhere() -> None:
    async with ControlPlane(system=False) as plane, plane.client(field_manager="me") as client:
        metadata = ObjectMeta(name="a", namespace="default", labels={"team": "shop"}, finalizers=["example.com/f"])
        await ApplySet(client, "set", namespace="default").add(ConfigMap(metadata=metadata, data={"on": "yes"})).apply()
        text = dump_yaml(await client.get(ConfigMap, "a", "default"))
    assert names(parse_yaml(text)) == ["ConfigMap a"]
    (tree,) = parse_yaml(text)
    assert tree == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "labels": {"team": "shop", "app.kubernetes.io/managed-by": "me"},
        },
        "data": {"on": "yes"},
    }
    async with ControlPlane(system=False) as plane, plane.client(field_manager="me") as client:
        found = await client.apply(tree)
        assert exported(found) == tree


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)


@given(st.lists(st.dictionaries(_TEXTS, _TEXTS, max_size=3), max_size=3))
def test_what_is_written_is_read_again(datas: list[dict[str, str]]) -> None:
    objects: list[Object] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"n{number}"}, "data": data}
        for number, data in enumerate(datas)
    ]
    assert parse_yaml(dump_yaml(*objects)) == objects
