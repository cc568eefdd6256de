"""Admission policies as kubectl's users see them: written, seen, obeyed, and taken away."""

from typing import Any

import pytest
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import config_map

pytestmark = pytest.mark.slow

_GROUP = "admissionregistration.k8s.io/v1"
_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


def _policy(kind: str, name: str, **spec: object) -> dict[str, Any]:
    constraints = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
        "resourceRules": [_RULE],
    }
    tree = {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name}}
    return {**tree, "spec": {"matchConstraints": constraints, **spec}}


def _binding(kind: str, name: str, **spec: object) -> dict[str, Any]:
    tree = {"apiVersion": _GROUP, "kind": f"{kind}Binding", "metadata": {"name": name}}
    return {**tree, "spec": {"policyName": name, **spec}}


def test_a_validating_policy_refuses_what_it_should_and_shows_what_type_checking_found(kubectl: Kubectl) -> None:
    kind, name = "ValidatingAdmissionPolicy", kubectl.namespace
    validations = [
        {"expression": "object.metadata.name != 'bad'", "message": "not that name"},
        {"expression": "!has(object.dat)"},
    ]
    kubectl("apply", "-f", "-", stdin=_policy(kind, name, validations=validations))
    kubectl("apply", "-f", "-", stdin=_binding(kind, name, validationActions=["Deny"]))
    told = kubectl("get", "validatingadmissionpolicy", name, "-o", "jsonpath={.status}")
    assert "undefined field 'dat'" in told
    refused = kubectl.refused("apply", "-f", "-", stdin=config_map("bad"))
    assert f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: not that name" in refused
    kubectl("apply", "-f", "-", stdin=config_map("good"))
    kubectl("delete", "validatingadmissionpolicybinding", name)
    kubectl("apply", "-f", "-", stdin=config_map("bad"))
    kubectl("delete", "validatingadmissionpolicy", name)


def test_a_mutating_policy_changes_what_is_applied_and_apply_is_content_with_it(kubectl: Kubectl) -> None:
    kind, name = "MutatingAdmissionPolicy", kubectl.namespace
    expression = 'Object{metadata: Object.metadata{labels: {"team": "blue"}}}'
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    kubectl("apply", "-f", "-", stdin=_policy(kind, name, mutations=[mutation], reinvocationPolicy="Never"))
    kubectl("apply", "-f", "-", stdin=_binding(kind, name))
    kubectl("apply", "-f", "-", stdin=config_map("a", k="v"))
    assert kubectl("get", "configmap", "a", "-o", "jsonpath={.metadata.labels.team}") == "blue"
    assert "unchanged" in kubectl("apply", "-f", "-", stdin=config_map("a", k="v"))
    applied = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=config_map("a", k="v"))
    assert "serverside-applied" in applied
    kubectl("delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", name)
