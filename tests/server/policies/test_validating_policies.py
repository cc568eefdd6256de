"""ValidatingAdmissionPolicy: what policies say of writes, and that they say it from the moment they are written."""

from typing import Any

import pytest
from tests.server.policies.world import World, binding, cases, config_map, play, policy

from setpoint.objects.tree import Object

VAP = "ValidatingAdmissionPolicy"
EVERYTHING = {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]}


def _refusing(name: str = "p", **spec: Any) -> Object:
    return policy(VAP, name, validations=[{"expression": "false", "message": "no"}], **spec)


@pytest.mark.parametrize("case", cases("validating"))
async def test_policies_judge_requests(world: World, case: Object) -> None:
    await play(world, VAP, case)


async def test_a_policy_holds_for_the_very_next_request_and_no_longer_than_it_is_there(world: World) -> None:
    async def status() -> int:
        answer = await world.send("POST", "/api/v1/namespaces/default/configmaps", config_map(), query="dryRun=All")
        return answer.status

    refusing, bound = _refusing(), binding(f"{VAP}Binding")
    assert await status() == 201
    await world.post(refusing)
    assert await status() == 201
    await world.post(bound)
    assert await status() == 422
    path = f"{world.path(refusing)}/p"
    patch = {"spec": {"validations": [{"expression": "true"}]}}
    await world.send("PATCH", path, patch, type="application/merge-patch+json")
    assert await status() == 201
    patch = {"spec": {"validations": [{"expression": "object.metadata.name != 'a'"}]}}
    await world.send("PATCH", path, patch, type="application/merge-patch+json")
    assert await status() == 422
    await world.delete(bound)
    assert await status() == 201


async def test_policies_that_refuse_everything_can_still_be_taken_away(world: World) -> None:
    locked, bound = _refusing(matchConstraints=EVERYTHING), binding(f"{VAP}Binding")
    await world.post(locked, bound)
    answer = await world.send("POST", "/api/v1/namespaces/default/configmaps", config_map())
    assert answer.status == 422
    # One more of them can be made, and the rest of what keeps a server in hand works too.
    await world.post(_refusing("another"))
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }
    assert (await world.send("POST", world.path({**review, "metadata": {}}), review)).status == 201
    await world.delete(bound)
    await world.delete(locked)
    await world.post(config_map())


async def test_policies_judge_the_configurations_of_webhooks(world: World) -> None:
    await world.post(_refusing(matchConstraints=EVERYTHING), binding(f"{VAP}Binding"))
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "w"},
    }
    assert (await world.send("POST", world.path(configuration), configuration)).status == 422


async def test_objects_are_judged_in_the_version_that_the_policy_names(world: World) -> None:
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v2",
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            },
        }
        for name in ("v1", "v2")
    ]
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": spec,
    }
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["widgets"]}
    told = "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version"
    for name, match in (("exact", "Exact"), ("equal", "Equivalent")):
        constraints = {"resourceRules": [rule], "matchPolicy": match}
        validations = [{"expression": "false", "messageExpression": told}]
        await world.post(policy(VAP, name, matchConstraints=constraints, validations=validations))
    await world.post(crd, binding(f"{VAP}Binding", "e", policyName="exact"))

    async def message(version: str) -> str:
        widget = {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}
        answer = await world.send("POST", world.path(widget), widget, query="dryRun=All")
        text: str = answer.body.get("message", "")
        return text.rpartition(": ")[2]

    assert await message("v1") == "example.com/v1 v1 v1"
    assert await message("v2") == ""
    await world.post(binding(f"{VAP}Binding", "d", policyName="equal"))
    assert await message("v2") == "example.com/v1 v1 v2"


async def test_a_refused_write_changes_nothing(world: World) -> None:
    await world.post(config_map("a", k="v"))
    constraint = {"expression": "request.operation != 'UPDATE' || object.data == oldObject.data"}
    await world.post(policy(VAP, validations=[constraint]), binding(f"{VAP}Binding"))
    path = "/api/v1/namespaces/default/configmaps/a"
    before = (await world.send("GET", path)).body
    assert (await world.send("PUT", path, config_map("a", k="w"))).status == 422
    assert (await world.send("GET", path)).body == before


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        # Each costs more than a single expression may.
        (
            "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, "
            "[1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, true))))))",
            "operation cancelled: actual cost limit exceeded",
        ),
        (
            "[1,2,3,4].all(x, authorizer.group('').resource('pods').check('get').allowed())",
            "operation cancelled: actual cost limit exceeded",
        ),
    ],
)
async def test_an_expression_that_costs_too_much_is_stopped(world: World, expression: str, why: str) -> None:
    await world.post(policy(VAP, validations=[{"expression": expression}]), binding(f"{VAP}Binding"))
    answer = await world.send("POST", "/api/v1/namespaces/default/configmaps", config_map())
    assert answer.status == 422
    assert answer.body["message"].endswith(f"resulted in error: {why}")


async def test_expressions_together_may_not_cost_more_than_the_budget_of_the_policy(world: World) -> None:
    check = "authorizer.group('').resource('pods').check('get').allowed()"
    costly = {"expression": f"{check} && {check}"}
    bound = binding(f"{VAP}Binding")
    # Each costs seven tenths of a million: fourteen are affordable, fifteen are not.
    await world.post(policy(VAP, validations=[costly] * 14), bound)
    path = "/api/v1/namespaces/default/configmaps"
    assert (await world.send("POST", path, config_map("a"))).status == 201
    await world.post(policy(VAP, "q", validations=[costly] * 15), binding(f"{VAP}Binding", "c", policyName="q"))
    answer = await world.send("POST", path, config_map("b"))
    assert answer.status == 422
    why = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert answer.body["message"].endswith(f"denied request: {why}")


async def test_variables_are_paid_for_from_the_same_budget_and_once(world: World) -> None:
    check = "authorizer.group('').resource('pods').check('get').allowed()"
    variables = [{"name": f"v{n}", "expression": f"{check} && {check}"} for n in range(15)]
    path = "/api/v1/namespaces/default/configmaps"
    often = [{"expression": "variables.v0"}] * 50
    await world.post(policy(VAP, variables=variables, validations=often), binding(f"{VAP}Binding"))
    assert (await world.send("POST", path, config_map("a"))).status == 201
    each = [{"expression": " && ".join(f"variables.v{n}" for n in range(15))}]
    await world.post(
        policy(VAP, "q", variables=variables, validations=each),
        binding(f"{VAP}Binding", "c", policyName="q"),
    )
    answer = await world.send("POST", path, config_map("b"))
    assert answer.status == 422
    assert "running out of cost budget" in answer.body["message"]


async def test_variables_of_one_name_do_not_run_in_circles(world: World) -> None:
    variables = [{"name": "v", "expression": "1"}, {"name": "v", "expression": "variables.v + 1"}]
    await world.post(policy(VAP, variables=variables, validations=[{"expression": "variables.v > 0"}]))
    await world.post(binding(f"{VAP}Binding"))
    answer = await world.send("POST", "/api/v1/namespaces/default/configmaps", config_map())
    assert answer.status == 422
    assert "refers to itself" in answer.body["message"]
