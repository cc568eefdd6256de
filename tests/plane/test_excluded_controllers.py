"""The work of kube-controller-manager that the server does itself, unless it is excluded."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from setpoint.config.settings import Config
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.plane.control_plane import ControlPlane

_ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "whole"},
    "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]},
}
_PART = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "part", "labels": {"part": "yes"}},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}
_RULE = {"apiGroups": ["a.example.com"], "apiVersions": ["v1"], "resources": ["as"], "operations": ["CREATE"]}
_POLICY: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "policy"},
    "spec": {"matchConstraints": {"resourceRules": [_RULE]}, "validations": [{"expression": "true"}]},
}


@pytest.mark.parametrize(("controllers", "works"), [("*", True), ("-*", False)])
async def test_roles_and_policies_are_left_to_others_if_excluded(controllers: str, works: bool) -> None:
    config = Config(controllers=(controllers,))
    async with ControlPlane(config=config, system=False) as plane, plane.client() as client:
        for tree in (_PART, _ROLE, _POLICY):
            await client.create(tree)
        role = await client.get("rbac.authorization.k8s.io/v1/ClusterRole", "whole")
        policy = await client.get("admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy", "policy")
    assert bool(role.get("rules")) is works
    assert ("observedGeneration" in (policy.get("status") or {})) is works


@pytest.mark.parametrize(("controllers", "counts"), [("*", True), ("-*", False)])
async def test_the_first_count_of_a_quota_is_left_to_others_if_excluded(controllers: str, counts: bool) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    config = Config(controllers=(controllers,))
    async with ControlPlane(config=config, system=False, clock=clock) as plane, plane.client() as client:
        await client.create({**quota, "spec": {"hard": {"count/configmaps": "5"}}})
        counted: Object = {}
        for _ in range(100):
            clock.advance(1)
            await asyncio.sleep(0)
            counted = (await client.get("v1/ResourceQuota", "q", "default")).get("status") or {}
            if counted.get("used"):
                break
        await client.create(config_map)
        charged = (await client.get("v1/ResourceQuota", "q", "default"))["status"]
    assert bool(counted.get("used")) is counts
    assert charged["used"] == {"count/configmaps": "1"}


@pytest.mark.parametrize(("controllers", "managers"), [("*", 2), ("-*", 1)])
async def test_the_rules_of_default_roles_are_left_to_others_if_excluded(controllers: str, managers: int) -> None:
    config = Config(controllers=(controllers,))
    async with ControlPlane(config=config, system=False) as plane, plane.client() as client:
        role = await client.get("rbac.authorization.k8s.io/v1/ClusterRole", "admin")
    assert bool(role.get("rules")) is (managers == 2)
    assert len(role["metadata"]["managedFields"]) == managers
