"""The Pod Security Standards: the checks by themselves, and what comes of them on a server."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.write.api import Answer, Api, new_api

from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.pod_security import PodSecurity
from setpoint.server.admission.podsecurity.evaluate import violations, violations_text
from setpoint.server.admission.podsecurity.pod_security_levels import LATEST, PREFIX, PodSecurityLevels, Standard
from setpoint.server.server_options import ServerSettings

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "pod_security.yaml").read_text())
PODS = "/api/v1/namespaces/default/pods"
DEFAULT = "/api/v1/namespaces/default"
GOOD = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def pod_of(case: Any) -> Object:
    """A pod that keeps to all standards, with what the case says otherwise."""
    contexts = case.get("containers", [{}])
    containers = [{"name": f"c{at}", "image": "x", "securityContext": GOOD | said} for at, said in enumerate(contexts)]
    context = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}} | case.get("pod", {})
    spec = {"containers": containers, "securityContext": context} | case.get("spec", {})
    return {"metadata": {"name": "p", "annotations": case.get("annotations", {})}, "spec": spec}


def standard(text: str) -> Standard:
    level, _, version = text.partition(":")
    return Standard(level, LATEST if version == "latest" else int(version.removeprefix("v1.")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_pod_is_held_to_each_standard_in_the_words_of_the_real_server(case: Any) -> None:
    pod = pod_of(case)
    for name, expected in case["told"].items():
        assert violations_text(violations(standard(name), pod["metadata"], pod["spec"])) == expected


@pytest.mark.parametrize("case", [case for case in CASES if "baseline:latest" in case["told"]], ids=lambda c: c["name"])
def test_what_the_baseline_refuses_the_restricted_standard_refuses_too_and_the_privileged_lets_pass(case: Any) -> None:
    pod = pod_of(case)
    assert violations(standard("restricted:latest"), pod["metadata"], pod["spec"])
    assert not violations(standard("privileged:latest"), pod["metadata"], pod["spec"])


@pytest.mark.parametrize("version", ["v1.0", "v1.8", "v1.22", "v1.30", "v1.99", "latest"])
def test_a_pod_that_asks_for_nothing_keeps_to_every_standard(version: str) -> None:
    pod = pod_of({})
    assert not violations(standard(f"restricted:{version}"), pod["metadata"], pod["spec"])


async def label(api: Api, **labels: str | None) -> Answer:
    return await api.merge(DEFAULT, {"metadata": {"labels": {PREFIX + name: value for name, value in labels.items()}}})


def pod(name: str = "p", **spec: Any) -> Object:
    containers = [{"name": "c", "image": "x"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers} | spec}


async def test_what_is_enforced_is_refused_and_what_is_warned_of_is_let_through(api: Api) -> None:
    await label(api, enforce="baseline", warn="restricted")
    refused = await api("POST", PODS, pod(hostPID=True))
    assert refused.status == 403
    assert refused.body["message"] == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    )
    assert not refused.warnings
    passed = await api("POST", PODS, pod())
    assert passed.status == 201
    (warning,) = passed.warnings
    assert "would violate PodSecurity" in warning


async def test_the_version_of_a_standard_can_be_pinned(api: Api) -> None:
    await label(api, enforce="restricted", **{"enforce-version": "v1.7"})
    context = {"runAsNonRoot": True}
    assert (await api("POST", PODS, pod(securityContext=context))).status == 201
    await label(api, **{"enforce-version": "v1.8"})
    refused = await api("POST", PODS, pod("q", securityContext=context))
    assert 'violates PodSecurity "restricted:v1.8": allowPrivilegeEscalation' in refused.body["message"]


async def test_a_template_is_warned_of_by_what_its_pods_will_be_refused_for(api: Api) -> None:
    await label(api, enforce="baseline")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(hostIPC=True)["spec"]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    made = await api("POST", "/apis/apps/v1/namespaces/default/deployments", body)
    assert made.status == 201
    assert any("baseline:latest" in warning and "hostIPC=true" in warning for warning in made.warnings)


async def test_labels_must_be_right_when_they_change(api: Api) -> None:
    wrong = await label(api, enforce="strict", **{"warn-version": "1.20"})
    assert wrong.status == 422
    assert {cause["field"] for cause in wrong.body["details"]["causes"]} == {
        f"metadata.labels[{PREFIX}enforce]",
        f"metadata.labels[{PREFIX}warn-version]",
    }
    assert (await label(api, enforce="restricted")).status == 200


async def test_who_tightens_a_namespace_is_told_which_pods_would_not_be_let_in_any_more(api: Api) -> None:
    for name in ("a", "b", "c"):
        await api("POST", PODS, pod(name, hostPID=True))
    await api("POST", PODS, pod("d", hostPID=True, hostUsers=True, volumes=[{"name": "v", "hostPath": {"path": "/"}}]))
    tightened = await label(api, enforce="baseline")
    assert tightened.status == 200
    texts = [warning.removeprefix('299 - "').removesuffix('"') for warning in tightened.warnings]
    assert texts == [
        r"existing pods in namespace \"default\" violate the new PodSecurity enforce level \"baseline:latest\"",
        "a (and 2 other pods): host namespaces",
        "d: host namespaces, hostPath volumes",
    ]
    assert not (await label(api, enforce="privileged")).warnings


async def test_an_update_that_brings_no_new_image_is_let_through(api: Api) -> None:
    await api("POST", PODS, pod(hostPID=True))
    await label(api, enforce="baseline")
    assert (await api.merge(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})).status == 200
    changed = {"spec": {"containers": [{"name": "c", "image": "y"}]}}
    refused = await api("PATCH", f"{PODS}/p", changed, kind="application/strategic-merge-patch+json")
    assert refused.status == 403


async def test_those_who_are_exempt_are_not_held_to_anything() -> None:
    plugin = PodSecurity(PodSecurityLevels(enforce=Standard("baseline")), exempt_namespaces=("default",))
    async with new_api(admission=[plugin]) as api:
        exempt = await label(api, enforce="restricted")
        assert any("is exempt from Pod Security" in warning for warning in exempt.warnings)
        assert (await api("POST", PODS, pod(hostPID=True))).status == 201
        await api("POST", "/api/v1/namespaces", {"metadata": {"name": "strict"}})
        assert (await api("POST", "/api/v1/namespaces/strict/pods", pod(hostPID=True))).status == 403


async def test_privileged_containers_are_invalid_unless_the_server_allows_them() -> None:
    body = pod()
    body["spec"]["containers"][0]["securityContext"] = {"privileged": True}

    async def refused(api: Api) -> None:
        answer = await api("POST", PODS, body)
        assert answer.status == 422
        (cause,) = answer.body["details"]["causes"]
        assert cause["field"] == "spec.containers[0].securityContext.privileged"

    async def allowed(api: Api) -> None:
        assert (await api("POST", PODS, body)).status == 201

    async with new_api() as api:
        await refused(api)
    async with new_api(settings=ServerSettings(disabled_plugins=("DenyPrivilegedContainers",))) as api:
        await allowed(api)
