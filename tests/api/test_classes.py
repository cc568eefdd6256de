"""The classes of the built-in kinds: read and written without loss, made when they are used, as the stubs say."""

import ast
import copy
import importlib
import json
import pickle
import pkgutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import setpoint.api
from setpoint.api.apiextensions.v1 import JSONSchemaProps
from setpoint.api.apps.v1 import Deployment
from setpoint.api.coordination.v1 import Lease, LeaseSpec
from setpoint.api.core.v1 import Container, Pod, PodSpec, PodTemplateSpec, ResourceRequirements, Secret
from setpoint.api.meta.v1 import LabelSelector, ObjectMeta
from setpoint.api.resource.v1 import DeviceAttribute
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json, Object
from setpoint.schema import builtin
from setpoint.schema.types import MicroTime, Resource, freeze, thaw, unknown_fields
from setpoint.schema.types.builtin import class_of, definitions_in, is_kind, snake_case
from setpoint.server.registry import builtin_resources as served

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT.parent / "shared" / "protobuf").glob("*.json"))
MODULES = [
    name for _, name, is_package in pkgutil.walk_packages(setpoint.api.__path__, "setpoint.api.") if not is_package
]


def _without_nothing(tree: Json) -> Json:
    """The tree without what says the same as an absent field."""
    if isinstance(tree, dict):
        found = {key: _without_nothing(value) for key, value in tree.items()}
        return {key: value for key, value in found.items() if value not in ([], {}, None)}
    return [_without_nothing(item) for item in tree] if isinstance(tree, list) else tree


def _class(tree: Object) -> Any:
    name = builtin.kinds().get(GroupVersionKind.of(tree))
    return class_of(name) if name is not None and is_kind(name) else None


@pytest.mark.skipif(not SAMPLES, reason="the sample objects are not beside this checkout")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_is_written_back_as_it_was_read(sample: Path) -> None:
    data = sample.read_bytes()
    tree = json.loads(data)
    cls = _class(tree)
    if cls is None:
        pytest.skip("release 1.37 does not serve this kind")
    for made in (cls.decode(data), cls.from_json(tree), freeze(cls.decode(data)), thaw(cls.decode(data))):
        assert made.to_json() == tree
    assert pickle.loads(pickle.dumps(freeze(cls.decode(data)))) == cls.decode(data)


def _bodies() -> dict[str, Object]:
    found: dict[str, Object] = {}
    for path in sorted((ROOT / "tests" / "golden" / "scenarios").rglob("*.yaml")):
        _collect(_filled_in(yaml.load(path.read_text(), Loader=yaml.CSafeLoader)), found)
    return found


# What the recordings have in place of what differs from run to run.
STAND_INS = {"<time>": "2026-01-31T12:00:00Z", "<microtime>": "2026-01-31T12:00:00.500000Z"}


def _filled_in(tree: Json) -> Json:
    if isinstance(tree, dict):
        return {key: _filled_in(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return list(map(_filled_in, tree))
    return STAND_INS.get(tree, 30000 if tree.startswith("<nodeport:") else tree) if isinstance(tree, str) else tree


def _collect(value: Json, found: dict[str, Object]) -> None:
    if isinstance(value, dict):
        if isinstance(value.get("metadata"), dict) and isinstance(value.get("kind"), str) and _says(value):
            found.setdefault(json.dumps(value, sort_keys=True), value)
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, list):
        for item in value:
            _collect(item, found)


def _says(value: Object) -> bool:
    return isinstance(value.get("apiVersion"), str) and value["metadata"].get("uid") is not None


def test_what_a_real_server_answered_is_written_back() -> None:
    read = 0
    for tree in _bodies().values():
        if (cls := _class(tree)) is not None:
            written = cls.from_json(tree).to_json()
            assert _without_nothing(written) == _without_nothing(tree)
            read += 1
    assert read > 100


def test_every_module_has_the_classes_of_its_stub_with_the_same_fields() -> None:
    assert len(MODULES) > 30
    for name in MODULES:
        module = importlib.import_module(name)
        stub = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text())
        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
        names = set(dir(module))
        assert names - {"ObjectMeta", "OwnerReference"} == set(classes)
        assert set(module.__all__) == names
        for class_name, node in classes.items():
            cls = getattr(module, class_name)
            assert (cls.__module__, cls.__qualname__) == (name, class_name)
            fields = {field.target.id for field in node.body if isinstance(field, ast.AnnAssign)}  # type: ignore[union-attr]
            inherited = Resource.__struct_fields__ if issubclass(cls, Resource) else ()
            assert fields == set(cls.__struct_fields__).difference(inherited)


def test_every_class_can_be_read_with_nothing_in_it() -> None:
    for name in MODULES:
        for definition in definitions_in(name.removeprefix("setpoint.api.")).values():
            cls = class_of(definition)
            if cls.__name__ != "OwnerReference":
                made = cls.decode(b"{}")
                assert cls.from_json(made.to_json()) == made


def test_fields_have_the_names_python_gives_them() -> None:
    wanted = {
        "hostIP": "host_ip",
        "podCIDRs": "pod_cidrs",
        "nonResourceURLs": "non_resource_urls",
        "setHostnameAsFQDN": "set_hostname_as_fqdn",
        "openAPIV3Schema": "open_api_v3_schema",
        "fieldsV1": "fields_v1",
        "from": "from_",
        "continue": "continue_",
        "bool": "bool_",
        "$ref": "ref",
        "x-kubernetes-int-or-string": "x_kubernetes_int_or_string",
    }
    assert {name: snake_case(name) for name in wanted} == wanted


def test_a_deployment_is_written_as_people_write_it() -> None:
    labels = {"app": "blog"}
    deployment = Deployment(metadata=ObjectMeta(name="blog"))
    deployment.spec.replicas = 2
    deployment.spec.selector = LabelSelector(match_labels=labels)
    deployment.spec.template.metadata.labels = labels
    limits = {"cpu": Quantity.parse("100m")}
    container = Container(name="web", image="nginx", resources=ResourceRequirements(limits=limits))
    deployment.spec.template.spec = PodSpec(containers=[container])
    assert deployment.to_json() == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "blog"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {"limits": {"cpu": "100m"}}}]},
            },
        },
    }


def test_scalars_have_their_python_types() -> None:
    secret = Secret.from_json({"apiVersion": "v1", "kind": "Secret", "data": {"a": "aGk="}})
    assert secret.data == {"a": b"hi"}
    lease = Lease(spec=LeaseSpec(renew_time=MicroTime(2026, 1, 31, 12, tzinfo=UTC)))
    assert lease.to_json()["spec"] == {"renewTime": "2026-01-31T12:00:00.000000Z"}
    assert Lease.from_json(lease.to_json()) == lease
    assert MicroTime.of(datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)) == MicroTime(
        2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC
    )
    attribute = DeviceAttribute.from_json({"bool": True, "int": 3})
    assert (attribute.bool_, attribute.int_) == (True, 3)


def test_a_type_that_contains_itself_is_read_to_any_depth() -> None:
    schema: Object = {"type": "object", "properties": {"a": {"items": {"anyOf": [{"type": "string"}], "later": 1}}}}
    found = JSONSchemaProps.from_json(schema)
    inner = found.properties["a"].items
    assert isinstance(inner, JSONSchemaProps)
    assert inner.any_of[0].type == "string"
    assert unknown_fields(inner) == {"later": 1}
    assert found.to_json() == schema
    assert JSONSchemaProps.from_json({"additionalProperties": False}).additional_properties is False


def test_a_field_of_a_newer_server_survives() -> None:
    tree: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "newField": {"x": 1}}]},
    }
    pod = freeze(Pod.from_json(tree)).edit()
    pod.spec.containers[0].image = "j"
    wanted = copy.deepcopy(tree)
    wanted["spec"]["containers"][0]["image"] = "j"
    assert pod.to_json() == wanted


def test_classes_agree_with_the_server_about_names_and_scopes() -> None:
    for resource in served.resources():
        name = builtin.kinds().get(resource.gvk)
        if name is None or not is_kind(name):
            continue
        config = class_of(name).__resource__
        assert (config.scope == "Namespaced") == resource.namespaced, resource.gvk


def test_a_part_of_a_built_in_kind_stands_in_a_class_of_ones_own() -> None:
    class Site(Resource, group="ex.com", version="v1"):
        template: PodTemplateSpec

    properties = Site.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    containers = properties["template"]["properties"]["spec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_a_module_makes_only_what_is_asked_for() -> None:
    program = (
        "import setpoint.api.core.v1 as v1, setpoint.schema.types.builtin as b;"
        "assert not b.class_of.cache_info().currsize;"
        "v1.ConfigMap; print(b.class_of.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 5


def test_a_name_that_is_not_there_is_told() -> None:
    module = importlib.import_module("setpoint.api.core.v1")
    with pytest.raises(AttributeError, match=r"'setpoint.api.core.v1' has no attribute 'Podd'"):
        _ = module.Podd
