"""A definition becomes classes that make the same definition again."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schema.random_schemas import PRESERVE
from tests.schema.test_laws import Sample, exact_errors, sample
from tests.schema.types.test_resources import Widget

from setpoint.objects.tree import Object, copy
from setpoint.schema.compile import compile_schema
from setpoint.schema.openapi import Schema
from setpoint.schema.types import ModelError, Resource, crd_of
from setpoint.schema.types.model_source import Module, models
from setpoint.schema.types.schemas import struct_schema

CASES = Path(__file__).parent / "cases" / "definitions.yaml"
DEFINITIONS: list[Object] = list(yaml.safe_load_all(CASES.read_text()))


def _definition(schema: Object) -> Object:
    spec = {
        "group": "ex.com",
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}


def _classes(module: Module) -> list[type[Resource]]:
    namespace: dict[str, Any] = {"__name__": __name__}
    exec(module.source, namespace)
    found = [each for each in namespace.values() if inspect.isclass(each) and issubclass(each, Resource)]
    return [cls for cls in found if cls.__resource__.kind]


def _sayable(seed: int) -> Sample:
    """A sample in the words that classes have: msgspec takes no field with a quote in its name, an int-or-string always
    says of which types it is, and a map of anything keeps it all."""
    schema, *trees = (json.loads(json.dumps(part).replace(ODD_NAME, "q")) for part in _parts(sample(seed)))
    _reword(schema)
    return Sample(Schema.parse(schema), *trees)


ODD_NAME = json.dumps('q"\\\n')[1:-1]


def _parts(given: Sample) -> tuple[Any, Any, Any]:
    return given.schema.to_json(), given.tree, given.other


def _reword(tree: Any) -> None:
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        _reword(value)
    if isinstance(tree, dict) and tree.get("x-kubernetes-int-or-string") is True:
        tree["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if isinstance(tree, dict) and tree.get("additionalProperties") in (True, {PRESERVE: True}):
        del tree["additionalProperties"]
        tree[PRESERVE] = True


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32).map(_sayable))
@pytest.mark.slow
def test_the_classes_of_a_schema_mean_the_same(given: Sample) -> None:
    module = models([_definition({"type": "object", "properties": {"spec": given.schema.to_json()}})])
    assert module.left_out == []
    (cls,) = _classes(module)
    again = Schema.parse(struct_schema(cls)["properties"]["spec"])
    first, second = compile_schema(given.schema), compile_schema(again)
    for tree in (given.tree, given.other):
        mine, theirs = copy(tree), copy(tree)
        assert sorted(first.prune(mine)) == sorted(second.prune(theirs))
        first.default(mine)
        second.default(theirs)
        assert mine == theirs
        wrong, again_wrong = exact_errors(mine, given.schema), exact_errors(theirs, again)
        assert sorted(map(str, wrong)) == sorted(map(str, again_wrong)), module.source


def test_a_definition_comes_back_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_widget.py").write_text(models([Widget.crd()]).source)
    monkeypatch.syspath_prepend(tmp_path)
    import made_widget  # type: ignore[import-not-found]

    assert made_widget.Widget.crd() == Widget.crd()


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each["metadata"]["name"])
def test_a_real_definition_comes_back_as_it_was(
    definition: Object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"made_{definition['spec']['names']['plural']}"
    module = models([definition])
    (tmp_path / f"{name}.py").write_text(module.source)
    monkeypatch.syspath_prepend(tmp_path)
    made = __import__(name)
    kinds = [each for each in vars(made).values() if inspect.isclass(each) and issubclass(each, Resource)]
    kinds = [each for each in kinds if each.__resource__.kind]
    storage = next(each["name"] for each in definition["spec"]["versions"] if each["storage"])
    found = crd_of(*kinds, storage=storage)
    assert found["metadata"] == definition["metadata"]
    assert _plain(found["spec"]) == _plain(definition["spec"])
    assert module.left_out == []


def _plain(spec: Object) -> Object:
    """What a definition says, without what it says by saying nothing."""
    spec = copy(spec)
    if spec.get("conversion") == {"strategy": "None"}:
        del spec["conversion"]
    _sort_required(spec)
    spec["versions"] = sorted(spec["versions"], key=lambda version: str(version["name"]))
    for version in spec["versions"]:
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        for key in ("apiVersion", "kind", "metadata"):
            properties[key].pop("description", None)
    return spec


def _sort_required(tree: Any) -> None:
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        _sort_required(value)
    if isinstance(tree, dict) and isinstance(tree.get("required"), list):
        tree["required"].sort()


def test_the_source_is_formatted_and_passes_linters_and_type_checkers(tmp_path: Path) -> None:
    for place, definition in enumerate([Widget.crd(), *DEFINITIONS]):
        (tmp_path / f"made_{place}.py").write_text(models([definition]).source)
    ruff = [sys.executable, "-m", "ruff"]
    config = ["--isolated", "--line-length", "120", "--no-cache"]
    subprocess.run([*ruff, "format", "--check", *config, str(tmp_path)], check=True, capture_output=True)
    select = ["--select", "F,I,UP,B,RUF", "--ignore", "RUF012"]
    subprocess.run([*ruff, "check", *config, *select, str(tmp_path)], check=True, capture_output=True)


def test_versions_of_a_kind_have_names_of_their_own_and_their_order() -> None:
    schema: Object = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }
    definition = _definition(schema)
    (version,) = definition["spec"]["versions"]
    definition["spec"]["versions"] = [{**version, "name": "v1beta1", "deprecated": True, "storage": False}, version]
    classes = _classes(models([definition]))
    assert [(cls.__name__, cls.gvk().version, cls.gvk().kind) for cls in classes] == [
        ("Thing", "v1", "Thing"),
        ("ThingV1beta1", "v1beta1", "Thing"),
    ]


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, "v1, Kind=Pod is no CustomResourceDefinition"),
        ({"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "spec": {}}, "too old"),
        ({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {}}, "not complete"),
    ],
)
def test_what_is_no_definition_is_told(tree: Object, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        models([tree])


HOSTILE = [
    '"""\nraise SystemExit\n"""',
    'a """" b',
    'ends with "',
    'ends with ""',
    '"',
    "\\",
    "back\\",
    "nul \x00 \x0b \r bell \x07",
    "'); raise SystemExit('",
    "{raise SystemExit}",
    "\u2028x",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_definition_becomes_code(text: str) -> None:
    field: Object = {"type": "string", "description": text, "enum": [text, "x"], "default": text, "title": text}
    rules = [{"rule": text, "message": text}]
    schema: Object = {
        "type": "object",
        "description": text,
        "properties": {
            "a": {"type": "object", "description": text, "properties": {"f": field}, "x-kubernetes-validations": rules},
            "b": {"type": "array", "items": field},
        },
    }
    definition = _definition(schema)
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = [{"name": text, "type": "string", "jsonPath": text}]
    definition["spec"]["versions"].append({**definition["spec"]["versions"][0], "name": text})
    definition["spec"]["names"]["shortNames"] = [text]
    ast.parse(models([definition]).source)
    (cls,) = _classes(models([_definition({"type": "object", "properties": {"b": field}})]))
    assert struct_schema(cls)["properties"]["b"]["enum"] == [text, "x"]


@pytest.mark.parametrize("keyword", ["x-kubernetes-list-type", "x-kubernetes-map-type"])
def test_a_way_to_merge_that_there_is_none_of_is_told(keyword: str) -> None:
    kind = {"x-kubernetes-list-type": {"type": "array", "items": {"type": "string"}}}.get(keyword, {"type": "object"})
    schema: Object = {"type": "object", "properties": {"a": {**kind, keyword: "set\nraise SystemExit"}}}
    with pytest.raises(ModelError, match="none of the ways"):
        models([_definition(schema)])


def test_what_a_class_cannot_say_is_told() -> None:
    anything: Object = {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": True}}}
    assert models([_definition(anything)]).left_out == [
        "ThingA: that its values are anything, or null; whatever is below is kept instead"
    ]
    with pytest.raises(ModelError, match="no class can have a field that is called 'a\"b'"):
        models([_definition({"type": "object", "properties": {'a"b': {"type": "string"}}})])
    schema = {"type": "object", "oneOf": [{"required": ["a"]}], "properties": {"metadata": {"maxProperties": 3}}}
    assert models([_definition(schema)]).left_out == [
        "Thing: what the schema says about metadata",
        "Thing: oneOf of the whole object",
    ]
