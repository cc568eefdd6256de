"""kubectl and kinds that a CustomResourceDefinition brings: they behave as if they had always been there."""

import pytest
import yaml
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import GROUP, custom, definition
from tests.clients.serving import SECONDS, Serving

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def defined(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=definition("widgets", "Widget"))
    kubectl("wait", "--for=condition=Established", f"crd/widgets.{GROUP}", "--timeout=10s")


def path(namespace: str, name: str) -> str:
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/widgets/{name}"


def test_an_object_of_a_new_kind_is_applied_and_shown_in_its_columns(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    applied = kubectl("apply", "-f", "-", stdin=custom("Widget", "one", size=3))
    assert applied == f"widget.{GROUP}/one created\n"
    [head, row] = kubectl("get", "widgets").splitlines()
    assert (head.split(), row.split()) == (["NAME", "SIZE"], ["one", "3"])
    [head, row] = kubectl("get", "wits", "-o", "wide").splitlines()
    assert (head.split(), row.split()) == (["NAME", "SIZE", "COLOUR"], ["one", "3", "grey"])
    assert kubectl("get", "things", "-o", "name") == f"widget.{GROUP}/one\n"
    assert kubectl("apply", "-f", "-", stdin=custom("Widget", "one", size=4)).endswith("configured\n")
    assert server.get(path(namespace, "one"))["spec"] == {"size": 4, "colour": "grey"}
    told = kubectl("describe", "widget", "one")
    assert "Colour:  grey" in told


def test_a_new_kind_is_explained(kubectl: Kubectl) -> None:
    whole = kubectl("explain", "widgets")
    assert "Widget is what these tests define." in whole
    assert "spec" in whole
    assert "How large it is." in kubectl("explain", "widgets.spec.size")
    assert "colour" in kubectl("explain", "widgets", "--recursive")


def test_a_new_kind_is_among_the_resources(kubectl: Kubectl) -> None:
    [line] = kubectl("api-resources", f"--api-group={GROUP}", "--no-headers").splitlines()
    assert line.split() == ["widgets", "wits", f"{GROUP}/v1", "true", "Widget"]
    assert f"{GROUP}/v1" in kubectl("api-versions").splitlines()


def test_what_breaks_the_schema_is_refused_by_field(kubectl: Kubectl) -> None:
    said = kubectl.refused("create", "--validate=false", "-f", "-", stdin=custom("Widget", "one", size=0))
    assert 'The Widget "one" is invalid: spec.size: Invalid value: 0' in said
    said = kubectl.refused("create", "--validate=false", "-f", "-", stdin=custom("Widget", "one", size=100))
    assert "large ones are painted" in said
    said = kubectl.refused("create", "--validate=false", "-f", "-", stdin=custom("Widget", "one"))
    assert "spec.size: Required value" in said


def test_an_unknown_field_is_refused_or_pruned_as_asked(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    stray = custom("Widget", "one", size=1, stray=True)
    assert 'unknown field "spec.stray"' in kubectl.refused("create", "-f", "-", stdin=stray) or kubectl.minor < 25
    kubectl("create", "--validate=false", "-f", "-", stdin=stray)
    assert "stray" not in server.get(path(namespace, "one"))["spec"]


def test_a_new_kind_is_scaled_and_its_status_is_written_apart(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    kubectl("create", "-f", "-", stdin=custom("Widget", "one", size=1))
    kubectl("scale", "widget", "one", "--replicas=5")
    assert server.get(path(namespace, "one"))["spec"]["size"] == 5
    if kubectl.minor < 24:
        pytest.skip(f"kubectl 1.{kubectl.minor} writes no subresources")
    kubectl("patch", "widget", "one", "--subresource=status", "--type=merge", "-p", '{"status":{"size":5}}')
    assert server.get(path(namespace, "one") + "/scale")["status"] == {"replicas": 5}


def test_parts_of_a_list_with_keys_belong_to_who_applied_them(
    kubectl: Kubectl, server: Serving, namespace: str
) -> None:
    options = ["apply", "--server-side", "--validate=false", "-f", "-", "--field-manager"]
    kubectl(*options, "first", stdin=custom("Widget", "one", size=1, parts=[{"name": "a", "count": 1}]))
    kubectl(*options, "second", stdin=custom("Widget", "one", parts=[{"name": "b", "count": 2}]))
    kubectl(*options, "first", stdin=custom("Widget", "one", size=1))
    assert server.get(path(namespace, "one"))["spec"]["parts"] == [{"name": "b", "count": 2}]


def test_a_patch_by_keys_is_nothing_for_custom_kinds(kubectl: Kubectl, server: Serving, namespace: str) -> None:
    kubectl("create", "-f", "-", stdin=custom("Widget", "one", size=1))
    # New ones refuse it themselves, by the kinds they know.
    assert "application/" in kubectl.refused("patch", "widget", "one", "--type=strategic", "-p", '{"spec":{"size":2}}')
    kubectl("patch", "widget", "one", "--type=merge", "-p", '{"spec":{"size":3}}')
    assert server.get(path(namespace, "one"))["spec"]["size"] == 3


def test_a_definition_that_goes_takes_its_objects_along(kubectl: Kubectl, server: Serving) -> None:
    kubectl("apply", "-f", "-", stdin=definition("gadgets", "Gadget"))
    kubectl("create", "-f", "-", stdin=custom("Gadget", "one", size=1))
    with kubectl.start("get", "gadgets", "--watch", "--output-watch-events", "--no-headers") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().split()[:2] == ["ADDED", "one"]
        kubectl("delete", "crd", f"gadgets.{GROUP}", "--timeout=20s")
        assert watching.stdout.readline().split()[:2] == ["DELETED", "one"]
        watching.kill()
        watching.wait(SECONDS)
    assert f"gadgets.{GROUP}" not in server.names("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    said = kubectl.refused("get", f"gadgets.{GROUP}")
    assert "the server doesn't have a resource type" in said or "could not find the requested resource" in said


def test_a_definition_that_is_wrong_is_refused(kubectl: Kubectl) -> None:
    wrong = definition("gizmos", "Gizmo")
    wrong["metadata"]["name"] = "gizmos.other.example"
    said = kubectl.refused("create", "-f", "-", stdin=wrong)
    assert 'must be spec.names.plural+"."+spec.group' in said
    del wrong["spec"]["versions"][0]["schema"]
    assert "schema.openAPIV3Schema: Required value" in kubectl.refused("create", "-f", "-", stdin=wrong)


def test_a_definition_is_shown_with_its_conditions(kubectl: Kubectl) -> None:
    shown = yaml.safe_load(kubectl("get", "crd", f"widgets.{GROUP}", "-o", "yaml"))
    conditions = {each["type"]: each["status"] for each in shown["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
