"""`setpoint controllers rbac`, `manifests` and `image`: complete files, the least rights, and no lost file."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from setpoint.cli.main import main

PROGRAM = """
import setpoint as sp
from setpoint.api.core.v1 import ConfigMap


class {kind}Spec(sp.Model):
    size: int = 1


class {kind}(sp.Resource, group="production.example.com", version="v1"):
    spec: {kind}Spec


@sp.controller({kind}, owns=[ConfigMap], {options})
async def reconcile(ctx: sp.Context, request: sp.Request) -> None: ...
"""
CERTIFICATES = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  names: {kind: Certificate, plural: certificates}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # The commands import the program, and change this setting for it.
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def write(name: str, kind: str, options: str = "", more: str = "") -> None:
    Path(name).write_text(PROGRAM.format(kind=kind, options=options) + more)


def ran(*arguments: str, code: int = 0) -> str:
    """What a command prints. The modules that it imports are forgotten, as when its process ends."""
    before = set(sys.modules)
    found = CliRunner().invoke(main, ["controllers", *arguments])
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(Path.cwd())):
            del sys.modules[name]
    assert found.exit_code == code, found.output
    return found.output


def objects(text: str) -> dict[str, Any]:
    """The objects of a stream, by kind and name."""
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in yaml.safe_load_all(text)}


def allows(role: Any, group: str, resource: str) -> set[str]:
    rules = [each for each in role["rules"] if group in each["apiGroups"] and resource in each["resources"]]
    return {verb for rule in rules for verb in rule["verbs"]}


def test_roles_cover_the_declared_kinds_the_lease_and_events() -> None:
    write("lamp_one.py", "LampOne")
    found = objects(ran("rbac", "lamp_one.py", "--namespace", "lamps"))
    assert set(found) == {
        "ServiceAccount/lamp-one",
        "ClusterRole/lamp-one",
        "ClusterRoleBinding/lamp-one",
        "Role/lamp-one-leader-election",
        "RoleBinding/lamp-one-leader-election",
    }
    role, election = found["ClusterRole/lamp-one"], found["Role/lamp-one-leader-election"]
    group = "production.example.com"
    assert allows(role, group, "lampones") == {"get", "list", "watch", "patch", "update"}
    assert allows(role, group, "lampones/status") == {"get", "patch", "update"}
    assert allows(role, group, "lampones/finalizers") == {"update"}
    assert allows(role, "events.k8s.io", "events") == allows(role, "", "events") == {"create", "patch"}
    assert not allows(role, "coordination.k8s.io", "leases")
    assert election["metadata"]["namespace"] == "lamps"
    named = [rule for rule in election["rules"] if rule.get("resourceNames") == ["lamp-one"]]
    assert [rule["verbs"] for rule in named] == [["get", "update"]]


def test_a_controller_of_some_namespaces_gets_roles_there_and_no_others() -> None:
    extra = '[{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}, '
    extra += '{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]'
    write("lamp_two.py", "LampTwo", f'namespaces=["red", "blue"], extra_rules={extra}')
    documents = list(yaml.safe_load_all(ran("rbac", "lamp_two.py")))
    roles = {(each["kind"], each["metadata"].get("namespace")): each for each in documents if "rules" in each}
    assert set(roles) == {("ClusterRole", None), ("Role", "red"), ("Role", "blue"), ("Role", "lamp-two-system")}
    # Nodes are cluster-scoped: a Role could not allow them.
    assert [rule["resources"] for rule in roles["ClusterRole", None]["rules"]] == [["nodes"]]
    assert allows(roles["Role", "red"], "", "pods") == {"list"}
    assert "delete" in allows(roles["Role", "blue"], "", "configmaps")
    assert allows(roles["Role", "blue"], "", "events") == {"create", "patch"}


def test_a_kind_of_another_project_needs_its_definition() -> None:
    write("lamp_three.py", "LampThree", 'reads=["cert-manager.io/v1/Certificate"]')
    said = ran("rbac", "lamp_three.py", code=3)
    assert "no kind Certificate in cert-manager.io/v1" in said
    assert "--crds FILE" in said
    Path("certificates.yaml").write_text(CERTIFICATES)
    role = objects(ran("rbac", "lamp_three.py", "--crds", "certificates.yaml"))["ClusterRole/lamp-three"]
    assert allows(role, "cert-manager.io", "certificates") == {"get", "list", "watch"}
    assert "certificates.cert-manager.io" not in ran(
        "manifests", "lamp_three.py", "--image", "x:1", "--crds", "certificates.yaml"
    )


def test_manifests_are_a_kustomize_directory_that_is_written_again_but_spares_other_files(project: Path) -> None:
    write("lamp_four.py", "LampFour")
    arguments = ("manifests", "lamp_four.py", "--image", "lamps:2", "--replicas", "3", "--dir", "deploy")
    ran(*arguments)
    ran(*arguments)
    listed = yaml.safe_load((project / "deploy/kustomization.yaml").read_text())["resources"]
    assert listed == ["namespace.yaml", "crds.yaml", "rbac.yaml", "deployment.yaml"]
    spec = yaml.safe_load((project / "deploy/deployment.yaml").read_text())["spec"]
    assert spec["replicas"] == 3
    assert spec["template"]["spec"]["containers"][0]["image"] == "lamps:2"
    (project / "taken/crds.yaml").mkdir(parents=True)
    assert "taken/crds.yaml exists" in ran(*arguments[:-1], "taken", code=7)
    (project / "deploy/crds.yaml").write_text("mine")
    before = (project / "deploy/deployment.yaml").read_text()
    said = ran(*arguments[:3], "lamps:3", *arguments[4:], code=7)
    assert "deploy/crds.yaml exists and was not generated by this command" in said
    assert (project / "deploy/deployment.yaml").read_text() == before


def test_webhooks_get_a_service_a_secret_and_rights_to_their_own_objects() -> None:
    more = """

@sp.validate(LampFive)
def check(lamp: LampFive) -> None: ...
"""
    write("lamp_five.py", "LampFive", more=more)
    found = objects(ran("manifests", "lamp_five.py", "--image", "x:1"))
    service = found["Service/lamp-five-webhooks"]
    [webhook] = found["ValidatingWebhookConfiguration/lamp-five"]["webhooks"]
    assert webhook["clientConfig"]["service"] | {"path": ""} == {
        "namespace": service["metadata"]["namespace"],
        "name": service["metadata"]["name"],
        "port": 443,
        "path": "",
    }
    assert found["Secret/lamp-five-webhooks"].get("data") is None
    rules = found["ClusterRole/lamp-five"]["rules"]
    [named] = [rule for rule in rules if rule["apiGroups"] == ["admissionregistration.k8s.io"]]
    assert (named["resourceNames"], named["verbs"]) == (["lamp-five"], ["patch"])
    [secrets] = found["Role/lamp-five-webhooks"]["rules"]
    assert (secrets["resourceNames"], secrets["verbs"]) == (["lamp-five-webhooks"], ["get", "update"])
    arguments = found["Deployment/lamp-five"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--webhook-service=lamp-five-system/lamp-five-webhooks" in arguments


def test_secure_metrics_come_with_the_rights_to_check_scrapers() -> None:
    write("lamp_six.py", "LampSix")
    found = objects(ran("manifests", "lamp_six.py", "--image", "x:1", "--secure-metrics"))
    role = found["ClusterRole/lamp-six"]
    assert allows(role, "authentication.k8s.io", "tokenreviews") == {"create"}
    assert allows(role, "authorization.k8s.io", "subjectaccessreviews") == {"create"}
    assert found["ClusterRole/lamp-six-metrics-reader"]["rules"] == [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    ]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("", "RUN pip install --no-cache-dir 'setpoint=="),
        ("requirements.txt", "-r requirements.txt"),
        ("pyproject.toml", "' ."),
    ],
)
def test_the_image_installs_the_requirements_and_runs_as_nobody(file: str, line: str) -> None:
    kind = f"Lamp{len(file)}"
    write(f"lamp_{len(file)}.py", kind)
    if file:
        Path(file).write_text("")
    text = ran("image", f"lamp_{len(file)}.py", "--python", "3.12")
    assert text.startswith("FROM python:3.12-slim\n")
    assert line in text
    assert "USER 65532:65532" in text
    assert f'CMD ["controllers", "run", "lamp_{len(file)}.py"]' in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("][", "wrong.yaml: document 1 is not valid YAML"),
        (CERTIFICATES.replace("plural: certificates", "plural: others"), 'must be spec.names.plural+"."+spec.group'),
    ],
)
def test_a_wrong_definition_is_refused_with_the_reason(text: str, said: str) -> None:
    write("lamp_nine.py", "LampNine")
    Path("wrong.yaml").write_text(text)
    found = ran("rbac", "lamp_nine.py", "--crds", "wrong.yaml", code=1)
    assert said in found
    assert "internal error" not in found


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("rbac", "missing.py"), 1, "missing.py not found"),
        (("rbac", "lamp_ten.py", "--name", "Not_A_Label"), 2, "--name Not_A_Label"),
        (("manifests", "lamp_ten.py"), 2, "--image"),
        (("run", "lamp_ten.py", "--kubeconfig", "nowhere"), 5, "nowhere"),
    ],
)
def test_a_wrong_command_line_is_refused_with_the_reason(arguments: tuple[str, ...], code: int, text: str) -> None:
    write("lamp_ten.py", "LampTen")
    said = ran(*arguments, code=code)
    assert text in said
    assert "Traceback" not in said
