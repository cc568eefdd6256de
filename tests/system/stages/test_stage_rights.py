"""The rights of Stage objects: their steps have a restricted account, and their authors need a right of their own."""

from typing import Any

import pytest
from tests.system.stages.stage_trees import stages
from tests.system.workload_objects import pod

from setpoint import testing
from setpoint.objects.errors import Forbidden
from setpoint.objects.tree import Object
from setpoint.system.stages.stage_account import ACCOUNT

STAGE, CONFIG_MAP, BINDING = "kwok.x-k8s.io/v1alpha1/Stage", "v1/ConfigMap", "ClusterRoleBinding"
RBAC = "rbac.authorization.k8s.io/v1"
TEMPLATE = "metadata: {annotations: {seen: 'yes'}}"
ESCALATION = f"""
apiVersion: {RBAC}
kind: ClusterRoleBinding
metadata: {{name: escalation}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}}]
"""


def stage(kind: str, *steps: Object, group: str = "v1") -> Object:
    spec = {"resourceRef": {"apiGroup": group, "kind": kind}, "selector": {}, "steps": list(steps)}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": "own"}, "spec": spec}


def grant(name: str, *rules: Object, role: str = "", namespace: str = "", user: str = ACCOUNT) -> list[Object]:
    """A ClusterRole with rules, unless named, and its binding to a user."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    binding = {
        "apiVersion": RBAC,
        "kind": "RoleBinding" if namespace else BINDING,
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role or name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    made = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)}
    return [binding] if role else [made, binding]


def rule(verbs: str, *resources: str, group: str = "") -> Object:
    return {"apiGroups": [group], "resources": list(resources), "verbs": verbs.split()}


async def failures(world: Any) -> list[str]:
    events = (await world.client.list("events.k8s.io/v1/Event")).items
    return [each["note"] for each in events if each["reason"] == "StageFailed"]


async def accepted(world: Any) -> tuple[str, str, str]:
    [found] = (await world.client.get(STAGE, "own"))["status"]["conditions"]
    return found["status"], found["reason"], found["message"]


def config_map(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


def world(*objects: Object) -> Any:
    return testing.world(nodes=testing.simulated(stage_objects=True), objects=list(objects))


async def test_an_administrator_of_a_namespace_cannot_write_stages() -> None:
    async with world(*grant("ann", role="admin", namespace="default", user="ann")) as found:
        ann = found.client.as_("ann")
        await ann.create(config_map("own"))
        with pytest.raises(Forbidden, match=r'cannot create resource "stages" in API group "kwok\.x-k8s\.io"'):
            await ann.create(stage("Pod", {"delete": True}))


async def test_a_stage_object_changes_pods_without_a_grant() -> None:
    async with world() as found:
        await found.create(*stages("ready"))
        await found.settle()
        await found.create(pod("web"))
        await found.settle()
        status = (await found.find("v1/Pod", "web"))["status"]
        assert status["phase"] == "Running"
        assert "started" not in status["containerStatuses"][0]
        assert await failures(found) == []


@pytest.mark.parametrize("impersonation", [None, {"username": "system:setpoint:nodes"}], ids=["own", "impersonated"])
async def test_a_stage_object_cannot_write_a_binding_without_a_grant(impersonation: Object | None) -> None:
    apply: Object = {"template": ESCALATION}
    if impersonation is not None:
        apply["impersonation"] = impersonation
    async with world() as found:
        await found.create(stage("Pod", {"apply": apply}))
        await found.settle()
        await found.create(pod("web"))
        await found.settle()
        names = [each["metadata"]["name"] for each in (await found.client.list(f"{RBAC}/{BINDING}")).items]
        assert "escalation" not in names
        [note] = await failures(found)
        right = (
            'cannot create resource "clusterrolebindings" in API group "rbac.authorization.k8s.io"'
            if impersonation is None
            else "cannot impersonate"
        )
        assert f'User "{ACCOUNT}" {right}' in note


async def test_a_stage_of_a_file_has_the_rights_of_the_administrator() -> None:
    given = stage("Pod", {"apply": {"template": ESCALATION}})
    async with testing.world(nodes=testing.simulated(stages=[given]), objects=[pod("web")]) as found:
        await found.settle()
        assert await found.client.get(f"{RBAC}/{BINDING}", "escalation")


async def test_another_kind_needs_a_grant_to_read_and_to_write() -> None:
    async with world(config_map("one")) as found:
        await found.create(stage("ConfigMap", {"patch": {"template": TEMPLATE}}))
        await found.settle()
        status, reason, message = await accepted(found)
        assert (status, reason) == ("False", "Forbidden")
        assert f"user {ACCOUNT} cannot get, list, watch configmaps in all namespaces" in message
        await found.create(*grant("read", rule("get list watch", "configmaps")))
        await found.advance(15)
        assert (await accepted(found))[:2] == ("True", "Accepted")
        [note, *_] = await failures(found)
        assert f'User "{ACCOUNT}" cannot patch resource "configmaps"' in note
        await found.create(*grant("write", rule("patch", "configmaps")), config_map("two"))
        await found.settle()
        assert (await found.find(CONFIG_MAP, "two"))["metadata"]["annotations"] == {"seen": "yes"}


async def test_the_selector_of_a_stage_reads_no_secret_without_a_grant() -> None:
    """The event of a match would reveal the content."""
    guess = stage("Secret", {"event": {"reason": "Guessed", "message": "the password is p"}})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
    async with world(secret) as found:
        await found.create(guess)
        await found.advance(30)
        events = (await found.client.list("events.k8s.io/v1/Event")).items
        assert "Guessed" not in [each["reason"] for each in events]
        assert (await accepted(found))[:2] == ("False", "Forbidden")


async def test_impersonation_needs_the_right_to_impersonate() -> None:
    step: Object = {"patch": {"template": TEMPLATE, "impersonation": {"username": "ann"}}}
    pods = rule("get patch", "pods")
    async with world(*grant("ann", pods, user="ann"), *grant("own", rule("impersonate", "users"))) as found:
        await found.create(stage("Pod", step))
        await found.settle()
        await found.create(pod("web"))
        await found.settle()
        assert (await found.find("v1/Pod", "web"))["metadata"]["annotations"] == {"seen": "yes"}
        assert await failures(found) == []
