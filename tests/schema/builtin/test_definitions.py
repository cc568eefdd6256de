"""The shipped definitions: what they hold, how they are written down, and that nothing reads them before it must."""

import hashlib
import importlib.resources
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema import builtin

CONTENT_DIGEST = "7e4cb0a174e34dd78c23d47a1019887e0f823a5c0573fbb8389dbeedecf54c58"
CORE = "io.k8s.api.core.v1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."

KEYWORDS = {
    "$ref",
    "additionalProperties",
    "default",
    "format",
    "items",
    "oneOf",
    "properties",
    "required",
    "type",
    "x-kubernetes-group-version-kind",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-unions",
}


def shipped() -> bytes:
    return importlib.resources.files("setpoint.schema.builtin").joinpath("definitions.json.z").read_bytes()


def nodes(node: Object) -> Iterator[Object]:
    """The node and all that is below it, short of references."""
    yield node
    for child in node.get("properties", {}).values():
        yield from nodes(child)
    for keyword in ("items", "additionalProperties"):
        if keyword in node:
            yield from nodes(node[keyword])
    for child in node.get("oneOf", ()):
        yield from nodes(child)


def all_nodes() -> list[tuple[str, Object]]:
    return [(name, node) for name in builtin.names() for node in nodes(builtin.definition(name))]


def field(name: str, path: str) -> Any:
    """The field at a path of property names; `[]` steps into the items."""
    node = builtin.definition(name)
    for step in path.split("."):
        if "$ref" in node:
            node = builtin.resolve(node["$ref"])
        node = node["items"] if step == "[]" else node["properties"][step]
    return node


def test_the_shipped_file_is_the_one_the_tool_made() -> None:
    assert hashlib.sha256(zlib.decompress(shipped())).hexdigest() == CONTENT_DIGEST


def test_the_shipped_file_is_small() -> None:
    assert len(shipped()) < 60_000


def test_the_release_is_written_in_the_file() -> None:
    content = msgspec.json.decode(zlib.decompress(shipped()))
    assert content["release"] == builtin.RELEASE


def test_every_definition_of_the_release_is_there() -> None:
    assert len(builtin.names()) == 862


def test_a_kind_is_found_by_its_group_version_and_kind() -> None:
    assert builtin.kinds()[GroupVersionKind("", "v1", "Pod")] == CORE + "Pod"
    assert builtin.kinds()[GroupVersionKind("apps", "v1", "Deployment")] == "io.k8s.api.apps.v1.Deployment"
    assert builtin.kinds()[GroupVersionKind("events.k8s.io", "v1", "Event")] == "io.k8s.api.events.v1.Event"
    assert GroupVersionKind("apps", "v1beta1", "Deployment") not in builtin.kinds()


def test_every_kind_names_a_definition_that_names_the_kind() -> None:
    for kind, name in builtin.kinds().items():
        entry = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        assert entry in builtin.definition(name)["x-kubernetes-group-version-kind"]


def test_every_reference_points_to_a_definition() -> None:
    references = {node["$ref"] for _, node in all_nodes() if "$ref" in node}
    assert len(references) > 500
    for reference in references:
        assert reference.startswith("#/definitions/")
        assert builtin.resolve(reference) is builtin.definition(reference.removeprefix("#/definitions/"))


def test_no_node_has_a_keyword_beyond_those_promised() -> None:
    assert {keyword for _, node in all_nodes() for keyword in node} == KEYWORDS


def test_every_type_is_a_single_one() -> None:
    kinds = {node["type"] for _, node in all_nodes() if "type" in node}
    assert kinds == {"array", "boolean", "integer", "number", "object", "string"}


def test_every_list_of_maps_names_keys_that_its_items_declare() -> None:
    for name, node in all_nodes():
        for key in node.get("x-kubernetes-list-map-keys", ()):
            items = node["items"]
            item = builtin.resolve(items["$ref"]) if "$ref" in items else items
            assert key in item["properties"], name


def test_every_merge_key_is_a_field_of_the_items() -> None:
    for name, node in all_nodes():
        if key := node.get("x-kubernetes-patch-merge-key"):
            item = builtin.resolve(node["items"]["$ref"])
            assert key in item["properties"], name


def test_a_schema_says_what_its_definition_says() -> None:
    schema = builtin.schema(CORE + "ServiceSpec")
    assert schema is builtin.resolve_schema(f"#/definitions/{CORE}ServiceSpec")
    ports = schema.properties["ports"]
    assert ports.list_type == "map"
    assert ports.list_map_keys == ["port", "protocol"]
    assert (ports.patch_strategy, ports.patch_merge_key) == ("merge", "port")


def test_every_definition_parses_as_a_schema() -> None:
    for name in builtin.names():
        assert builtin.schema(name).type == builtin.definition(name).get("type", "")


@pytest.mark.parametrize(
    ("name", "path", "default"),
    [
        (CORE + "ServicePort", "protocol", "TCP"),
        (CORE + "ContainerPort", "protocol", "TCP"),
        (CORE + "ISCSIVolumeSource", "iscsiInterface", "default"),
        (CORE + "ReplicationControllerSpec", "replicas", 1),
        ("io.k8s.api.scheduling.v1alpha3.PodGroupSpec", "disruptionMode", {"single": {}}),
        # Go's zero values: of required scalars, and of structs that are always there.
        (CORE + "Container", "name", ""),
        (CORE + "ContainerPort", "containerPort", 0),
        (CORE + "ContainerStatus", "ready", False),
        (CORE + "Pod", "metadata", {}),
        (CORE + "Container", "resources", {}),
    ],
)
def test_a_published_default_is_there(name: str, path: str, default: Any) -> None:
    found = field(name, path)["default"]
    assert found == default
    assert type(found) is type(default)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (CORE + "PodSpec", "restartPolicy"),
        (CORE + "PodSpec", "affinity"),
        ("io.k8s.api.apps.v1.DeploymentSpec", "selector"),
        ("io.k8s.api.networking.v1.HTTPIngressPath", "pathType"),
        ("io.k8s.api.certificates.v1.CertificateSigningRequestSpec", "request"),
    ],
)
def test_a_field_without_a_published_default_has_none(name: str, path: str) -> None:
    assert "default" not in field(name, path)


@pytest.mark.parametrize(
    "name",
    [
        META + "LabelSelector",
        META + "OwnerReference",
        CORE + "ObjectReference",
        CORE + "LocalObjectReference",
        CORE + "ConfigMapKeySelector",
        CORE + "NodeSelector",
    ],
)
def test_selectors_and_references_are_atomic(name: str) -> None:
    assert builtin.definition(name)["x-kubernetes-map-type"] == "atomic"


@pytest.mark.parametrize(
    ("name", "path", "strategy", "key"),
    [
        (CORE + "PodSpec", "containers", "merge", "name"),
        (CORE + "PodSpec", "volumes", "merge,retainKeys", "name"),
        (CORE + "Container", "ports", "merge", "containerPort"),
        (META + "ObjectMeta", "finalizers", "merge", None),
        (META + "ObjectMeta", "ownerReferences", "merge", "uid"),
        ("io.k8s.api.apps.v1.DeploymentSpec", "strategy", "retainKeys", None),
    ],
)
def test_a_field_keeps_its_patch_strategy(name: str, path: str, strategy: str, key: str | None) -> None:
    found = field(name, path)
    assert found["x-kubernetes-patch-strategy"] == strategy
    assert found.get("x-kubernetes-patch-merge-key") == key


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (META + "Time", {"type": "string", "format": "date-time"}),
        (META + "MicroTime", {"type": "string", "format": "date-time"}),
        (META + "FieldsV1", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (
            "io.k8s.apimachinery.pkg.runtime.RawExtension",
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
            {"x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            {"x-kubernetes-int-or-string": True, "format": "int-or-string"},
        ),
        (
            "io.k8s.apimachinery.pkg.api.resource.Quantity",
            {"format": "quantity", "oneOf": [{"type": "string"}, {"type": "number"}]},
        ),
    ],
)
def test_a_type_that_writes_its_own_json_has_its_documented_form(name: str, expected: Object) -> None:
    assert builtin.definition(name) == expected


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError, match=r"io\.k8s\.Nope"):
        builtin.definition("io.k8s.Nope")


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import setpoint", "setpoint.schema.builtin"),
        ("import setpoint.schema", "setpoint.schema.builtin"),
        ("import setpoint.schema.openapi", "setpoint.schema.builtin"),
    ],
)
def test_importing_the_package_leaves_the_loader_alone(statement: str, absent: str) -> None:
    program = f"{statement}\nimport sys\nsys.exit({absent!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_importing_the_loader_reads_nothing() -> None:
    program = """
import sys, zlib
def refuse(*_): raise AssertionError("read")
zlib.decompress = refuse
import setpoint.schema.builtin as builtin
try:
    builtin.kinds()
except AssertionError:
    sys.exit(0)
sys.exit("the first call did not read the file")
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_description_belongs_to_a_field_that_is_there() -> None:
    described = 0
    for name in builtin.names():
        texts = builtin.descriptions(name)
        described += len(texts)
        assert texts.keys() - {""} <= builtin.definition(name).get("properties", {}).keys(), name
    assert described > 4000


def test_a_kind_is_described_with_its_fields() -> None:
    texts = builtin.descriptions("io.k8s.api.core.v1.Container")
    assert "application container" in texts[""]
    assert texts["image"]


def test_a_name_that_is_not_there_has_no_descriptions() -> None:
    assert builtin.descriptions("io.k8s.api.core.v1.Nothing") == {}
