"""Type checking: the status of a policy tells what is wrong with its expressions for the kinds it is about."""

from typing import Any

from tests.server.policies.world import World, policy
from tests.server.write.api import definition

from setpoint.objects.tree import Json, Object

VAP = "ValidatingAdmissionPolicy"


def _rule(*resources: str, group: str = "", version: str = "v1") -> Object:
    return {"apiGroups": [group], "apiVersions": [version], "operations": ["*"], "resources": list(resources)}


async def _status(world: World, rules: list[Object], expressions: list[str], **spec: Any) -> Json:
    validations = [{"expression": expression} for expression in expressions]
    made = policy(VAP, matchConstraints={"resourceRules": rules}, validations=validations, **spec)
    await world.post(made)
    status = (await world.send("GET", f"{world.path(made)}/p")).body["status"]
    await world.delete(made)
    return status


async def test_a_policy_without_fault_is_observed_at_once(world: World) -> None:
    status = await _status(world, [_rule("configmaps")], ["object.data.size() < 5"])
    assert status == {"observedGeneration": 1, "typeChecking": {}}


async def test_each_expression_is_held_against_each_kind(world: World) -> None:
    rules = [_rule("deployments", "statefulsets", group="apps"), _rule("pods/status", "*")]
    validations = [
        "object.spec.replicas > '1'",
        "object.spec.strategy.type == 'Recreate'",
        "object.spec.replicas > 1",
    ]
    status = await _status(world, rules, validations)
    overload = "ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'"
    shown = "\n | object.spec.replicas > '1'\n | .....................^\n"
    field = "ERROR: <input>:1:12: undefined field 'strategy'"
    assert status["typeChecking"]["expressionWarnings"] == [
        {
            "fieldRef": "spec.validations[0].expression",
            "warning": f"apps/v1, Kind=Deployment: {overload}{shown}\napps/v1, Kind=StatefulSet: {overload}{shown}",
        },
        {
            "fieldRef": "spec.validations[1].expression",
            "warning": f"apps/v1, Kind=StatefulSet: {field}\n | object.spec.strategy.type == 'Recreate'\n"
            " | ...........^\n",
        },
    ]


async def test_kinds_that_are_not_named_plainly_are_not_checked(world: World) -> None:
    for rules in ([_rule("*")], [_rule("pods", group="*")], [_rule("pods", version="*")], [_rule("nothing")]):
        status = await _status(world, rules, ["object.no.such.thing == 1"])
        assert status["typeChecking"] == {}


async def test_variables_messages_and_parameters_are_checked_by_their_types(world: World) -> None:
    await world.post(definition())
    spec: Any = {
        "paramKind": {"apiVersion": "example.com/v1", "kind": "Widget"},
        "variables": [{"name": "n", "expression": "object.spec.size"}],
    }
    rules = [_rule("widgets", group="example.com")]
    expressions = [
        "variables.n < params.spec.size",
        "variables.n == 'x'",
        "params.spec.nope == 1",
        "object.metadata.labels.all(k, k != '') && oldObject.metadata.creationTimestamp != timestamp(0)",
        "object.kind == 'Widget' && object.metadata.nope == ''",
    ]
    status = await _status(world, rules, expressions, **spec)
    warnings = status["typeChecking"]["expressionWarnings"]
    assert [warning["fieldRef"] for warning in warnings] == [
        f"spec.validations[{position}].expression" for position in (1, 2, 4)
    ]


async def test_a_change_of_the_policy_is_checked_again_and_its_status_is_owned_by_who_wrote_it(world: World) -> None:
    made = policy(VAP, validations=[{"expression": "object.dat == {}", "messageExpression": "object.kindd + ''"}])
    await world.post(made)
    path = f"{world.path(made)}/p"
    body = (await world.send("GET", path)).body
    assert [found["fieldRef"] for found in body["status"]["typeChecking"]["expressionWarnings"]] == [
        "spec.validations[0].expression",
        "spec.validations[0].messageExpression",
    ]
    managers = {entry["manager"]: entry for entry in body["metadata"]["managedFields"]}
    entry = managers["validatingadmissionpolicy-status"]
    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
    patch = {"spec": {"validations": [{"expression": "object.data == {}"}]}}
    assert (await world.send("PATCH", path, patch, type="application/merge-patch+json")).status == 200
    assert (await world.send("GET", path)).body["status"] == {"observedGeneration": 2}
