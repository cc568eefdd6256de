"""Kubernetes' own sample objects, with every field filled in: each field is one our definitions declare."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.schema import builtin

SAMPLES = Path(__file__).parents[3].parent / "shared" / "protobuf"
FILES = sorted(SAMPLES.glob("*.json"))

# What release 1.37 does not serve: versions that are gone, and objects that are never a request's body.
GONE = {
    "admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration",
    "certificates.k8s.io/v1beta1 CertificateSigningRequest",
    "coordination.k8s.io/v1beta1 Lease",
    "v1 RangeAllocation",
    "v1 SerializedReference",
    "scheduling.k8s.io/v1beta1 PriorityClass",
}
GONE_GROUP_VERSIONS = {
    "admission.k8s.io/v1",
    "admission.k8s.io/v1beta1",
    "apidiscovery.k8s.io/v2",
    "apidiscovery.k8s.io/v2beta1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1beta1",
    "batch/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "imagepolicy.k8s.io/v1alpha1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "rbac.authorization.k8s.io/v1beta1",
    "storage.k8s.io/v1alpha1",
    "storage.k8s.io/v1beta1",
}

pytestmark = pytest.mark.skipif(not FILES, reason="the sample objects are not beside this checkout")


def named(file: Path) -> GroupVersionKind:
    """The kind in the name of a file, where `core` stands for the group without a name."""
    group, version, kind = file.stem.rsplit(".", 2)
    return GroupVersionKind("" if group == "core" else group, version, kind)


def served(file: Path) -> bool:
    kind = named(file)
    return (
        str(kind.group_version) not in GONE_GROUP_VERSIONS
        and f"{kind.group_version} {kind.kind}" not in GONE
        and (kind.kind == "DeleteOptions" or not re.fullmatch(r"\w+Options", kind.kind))
    )


def unfit(node: Object, value: Any, path: str) -> Iterator[str]:
    """What of a value its definition does not declare or gives another type."""
    if "$ref" in node:
        node = builtin.resolve(node["$ref"])
    if value is None or ("type" not in node and node.get("x-kubernetes-preserve-unknown-fields")):
        return
    if node.get("x-kubernetes-int-or-string"):
        fits = type(value) in (int, str)
    elif "oneOf" in node:
        fits = type(value) in (int, float, str)
    else:
        types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
        fits = type(value) is types[node["type"]] if node["type"] != "number" else type(value) in (int, float)
    if not fits:
        yield f"{path}: {value!r} does not fit {node}"
    elif type(value) is list:
        for position, item in enumerate(value):
            yield from unfit(node["items"], item, f"{path}[{position}]")
    elif type(value) is dict and not node.get("x-kubernetes-preserve-unknown-fields"):
        for name, item in value.items():
            declared = node.get("properties", {}).get(name) or node.get("additionalProperties")
            if declared is None:
                yield f"{path}.{name}: not declared"
            else:
                yield from unfit(declared, item, f"{path}.{name}")


def test_the_samples_are_all_there() -> None:
    assert len(FILES) == 193


@pytest.mark.parametrize("file", [file for file in FILES if served(file)], ids=lambda file: file.stem)
def test_every_field_of_a_sample_is_declared_with_a_fitting_type(file: Path) -> None:
    kind = named(file)
    definition = builtin.definition(builtin.kinds()[kind])
    assert list(unfit(definition, json.loads(file.read_bytes()), kind.kind)) == []


@pytest.mark.parametrize("file", [file for file in FILES if not served(file)], ids=lambda file: file.stem)
def test_a_kind_that_is_not_served_is_not_listed(file: Path) -> None:
    assert named(file) not in builtin.kinds()
