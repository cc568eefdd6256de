"""Converted objects in the other rooms of the server: admission in another version, policies, quotas, the plane."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.server.conversion.widgets import (
    FUNCTION,
    NAME,
    WEBHOOK,
    Widgets,
    at,
    convert,
    created,
    definition,
    new_widgets,
    widget,
)
from tests.server.write.api import DEFINITIONS

from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.server.admission.functions import MutatingFunction, ValidatingFunction, rule
from setpoint.server.admission.request import AdmissionRequest, AdmissionResponse, allow, deny
from setpoint.server.message import Request

EITHER = pytest.mark.parametrize("by", [WEBHOOK, FUNCTION])
POLICIES = "/apis/admissionregistration.k8s.io/v1"


@EITHER
async def test_admission_that_knows_one_version_judges_and_changes_writes_in_the_other(by: str) -> None:
    seen: list[Any] = []

    def doubled(request: AdmissionRequest) -> AdmissionResponse:
        seen.append((request.object or {})["spec"])
        patch = {"op": "replace", "path": "/spec/replicas", "value": (request.object or {})["spec"]["replicas"] * 2}
        return AdmissionResponse(True, patch=[patch])

    def bounded(request: AdmissionRequest) -> AdmissionResponse:
        old = (request.old_object or {"spec": {"replicas": 0}})["spec"]["replicas"]
        seen.append((old, (request.object or {})["spec"]["replicas"]))
        return allow() if (request.object or {})["spec"]["replicas"] < 100 else deny("too many")

    rules = [rule(["widgets"], groups=["example.com"], versions=["v2"])]
    plugins = [MutatingFunction("double", doubled, rules), ValidatingFunction("bound", bounded, rules)]
    async with new_widgets(by, admission=plugins) as widgets:
        answer = await created(widgets, "v1", size=3, colour="red")
        assert answer.body["spec"] == {"size": 6, "colour": "red"}
        patched = await widgets.merge(at("v1", "w"), {"spec": {"size": 4}})
        assert patched.body["spec"] == {"size": 8, "colour": "red"}
        assert seen == [
            {"replicas": 3, "look": {"colour": "red"}},
            (0, 6),
            {"replicas": 4, "look": {"colour": "red"}},
            (6, 8),
        ]
        refused = await widgets.merge(at("v1", "w"), {"spec": {"size": 50}})
        assert refused.status == 403
        assert "too many" in refused.body["message"]


@EITHER
async def test_policies_see_the_version_that_they_match_and_parameters_in_theirs(by: str) -> None:
    async with new_widgets(by) as widgets:
        await created(widgets, "v1", "limit", size=10)
        matches = {
            "matchPolicy": "Equivalent",
            "resourceRules": [
                {
                    "apiGroups": ["example.com"],
                    "apiVersions": ["v2"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["widgets"],
                }
            ],
        }
        await _policy(
            widgets,
            "ValidatingAdmissionPolicy",
            {
                "paramKind": {"apiVersion": "example.com/v1", "kind": "Widget"},
                "matchConstraints": matches,
                "validations": [
                    {
                        "expression": "object.spec.replicas <= params.spec.size && "
                        "(oldObject == null || oldObject.spec.replicas <= object.spec.replicas)"
                    }
                ],
            },
            {
                "paramRef": {"name": "limit", "namespace": "default", "parameterNotFoundAction": "Deny"},
                "validationActions": ["Deny"],
            },
        )
        grown = "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}"
        mutations = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": grown}}] * 2
        await _policy(
            widgets,
            "MutatingAdmissionPolicy",
            {"matchConstraints": matches, "reinvocationPolicy": "Never", "mutations": mutations},
            {},
        )
        answer = await created(widgets, "v1", size=3)
        assert answer.body["spec"] == {"size": 5}, "each of two mutations adds one to what the one before made"
        refused = await widgets.merge(at("v1", "w"), {"spec": {"size": 20}})
        assert refused.status == 422, refused.body


async def _policy(widgets: Widgets, kind: str, spec: Object, binding: Object) -> None:
    version = "admissionregistration.k8s.io/v1"
    policy = {"apiVersion": version, "kind": kind, "metadata": {"name": "p"}, "spec": {"failurePolicy": "Fail", **spec}}
    answer = await widgets("POST", f"{POLICIES}/{kind.lower()[:-1]}ies", policy)
    assert answer.status == 201, answer.body
    tree = {
        "apiVersion": version,
        "kind": f"{kind}Binding",
        "metadata": {"name": "p"},
        "spec": {"policyName": "p", **binding},
    }
    answer = await widgets("POST", f"{POLICIES}/{kind.lower()}bindings", tree)
    assert answer.status == 201, answer.body


@EITHER
async def test_quotas_count_objects_of_all_versions(by: str) -> None:
    async with new_widgets(by) as widgets:
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q"},
            "spec": {"hard": {f"count/{NAME}": "2"}},
        }
        path = "/api/v1/namespaces/default/resourcequotas"
        assert (await widgets("POST", path, quota)).status == 201
        await created(widgets, "v1", "a", size=1)
        await created(widgets, "v2", "b", replicas=1)
        refused = await widgets("POST", at("v1"), widget("v1", "c", size=1))
        assert refused.status == 403
        widgets.clock.advance(61)
        assert (await widgets("DELETE", at("v1", "b"))).status == 200
        used = (await widgets("GET", f"{path}/q")).body["status"]["used"]
        assert used == {f"count/{NAME}": "1"}


async def test_a_function_takes_the_place_of_the_webhook_that_a_definition_names() -> None:
    config = {"url": "https://127.0.0.1:1/convert"}
    webhook = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
    async with ControlPlane("memory", conversions={NAME: convert}) as plane:
        for path, tree in (
            (DEFINITIONS, definition("v2", strategy="Webhook", webhook=webhook)),
            (at("v1"), widget("v1", size=3)),
        ):
            headers = {"content-type": "application/json"}
            answer = await plane.handler(Request("POST", path, "", headers, msgspec.json.encode(tree)))
            assert answer.status == 201, answer.body
        assert isinstance(answer.body, bytes)
        assert msgspec.json.decode(answer.body)["spec"] == {"size": 3}


async def test_a_changed_definition_means_that_everybody_is_asked_again(widgets: Widgets) -> None:
    await created(widgets, "v2", replicas=1)
    for _ in range(2):
        assert (await widgets("GET", at("v1", "w"))).status == 200
    assert len(widgets.calls) == 1
    await widgets.change_definition("v2", **widgets.webhook("/other"))
    assert (await widgets("GET", at("v1", "w"))).status == 200
    assert widgets.peer is not None
    assert [asked.target.partition("?")[0] for asked in widgets.peer.asked] == ["/convert", "/other"]


async def test_what_was_stored_in_a_version_that_is_gone_is_not_sent_anywhere() -> None:
    async with new_widgets(storage="v1") as widgets:
        await created(widgets, "v1", size=1)
        found = (await widgets("GET", f"{DEFINITIONS}/{NAME}")).body
        found["spec"] = definition("v2", **widgets.webhook())["spec"]
        found["status"]["storedVersions"] = ["v2"]
        await widgets("PUT", f"{DEFINITIONS}/{NAME}", found)
        found = (await widgets("GET", f"{DEFINITIONS}/{NAME}")).body
        found["status"]["storedVersions"] = ["v2"]
        assert (await widgets("PUT", f"{DEFINITIONS}/{NAME}/status", found)).status == 200
        found = (await widgets("GET", f"{DEFINITIONS}/{NAME}")).body
        del found["spec"]["versions"][0]
        assert (await widgets("PUT", f"{DEFINITIONS}/{NAME}", found)).status == 200
        answer = await widgets("GET", at("v2", "w"))
        assert answer.status == 500
        assert answer.body["message"] == "request to convert CR from an invalid group/version: example.com/v1"


async def test_namespaces_and_owners_take_stored_objects_with_them_without_the_webhook() -> None:
    webhook = {"clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"]}

    async def main() -> None:
        async with ControlPlane("memory", system=True) as plane, plane.client() as client:
            await client.create(definition("v2", strategy="Webhook", webhook=webhook))
            await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
            config_map: Object = {"apiVersion": "v1", "kind": "ConfigMap"}
            config_map["metadata"] = {"name": "owner", "namespace": "n"}
            owner = await client.create(config_map)
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
            for name, owners in (("owned", [reference]), ("other", [])):
                tree = widget("v2", name, replicas=1)
                tree["metadata"] |= {"namespace": "n", "ownerReferences": owners}
                await client.create(tree)
            await client.delete("v1/ConfigMap", "owner", "n")
            await plane.settle()
            left = (await client.list("example.com/v2/Widget", "n")).items
            assert [item["metadata"]["name"] for item in left] == ["other"]
            await client.delete("v1/Namespace", "n")
            await plane.settle()
            assert not (await client.list("example.com/v2/Widget", "n")).items
            assert "n" not in [item["metadata"]["name"] for item in (await client.list("v1/Namespace")).items]

    (await asyncio.wait_for(main(), 30))
