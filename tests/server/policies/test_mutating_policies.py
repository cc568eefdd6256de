"""MutatingAdmissionPolicy: what policies make of objects, by configurations and by patches."""

from typing import Any

import pytest
from tests.server.policies.world import World, binding, cases, config_map, new_world, play, policy

from setpoint.objects.tree import Object
from setpoint.server.ports import Operation
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

MAP = "MutatingAdmissionPolicy"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def merging(expression: str) -> Object:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


@pytest.mark.parametrize("case", cases("mutating"))
async def test_policies_change_objects(world: World, case: Object) -> None:
    await play(world, MAP, case)


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        (merging("object"), "must evaluate to Object but got dyn"),
        (patching("[]"), "must evaluate to list(JSONPatch) but got list(dyn)"),
        (patching('JSONPatch{op: "add"}'), "must evaluate to list(JSONPatch) but got JSONPatch"),
        (
            patching("[JSONPatch{op: 1}]"),
            "compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is "
            "'int'\n | [JSONPatch{op: 1}]\n | .............^",
        ),
        (
            merging("Thing{}"),
            "compilation failed: ERROR: <input>:1:6: undeclared reference to 'Thing' (in container '')\n | Thing{}\n"
            " | .....^",
        ),
    ],
)
async def test_what_cannot_be_a_patch_is_refused_when_it_is_written(
    world: World, mutation: Object, message: str
) -> None:
    wrong = policy(MAP, mutations=[mutation])
    answer = await world.send("POST", world.path(wrong), wrong)
    assert answer.status == 422
    assert answer.body["details"]["causes"][0]["message"].endswith(message)


async def test_a_patch_that_makes_something_else_of_the_object_is_told_to_be_wrong(world: World) -> None:
    patches = {
        '[JSONPatch{op: "add", path: "/nope", value: "v"}]': 'strict decoding error: unknown field "nope"',
        '[JSONPatch{op: "add", path: "/data", value: {"k": 1}}]': (
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
        ),
    }
    await world.post(binding(f"{MAP}Binding"))
    for expression, why in patches.items():
        made = policy(MAP, mutations=[patching(expression)])
        await world.post(made)
        answer = await world.send("POST", CONFIG_MAPS, config_map(k="v"))
        assert (answer.status, answer.body["message"]) == (500, f"Internal error occurred: {why}")
        await world.delete(made)


class _Counting(Plugin):
    """A plugin of the server's own that changes the object in the second round: the policies see what it made."""

    name = "Counting"

    async def mutate(self, context: Context, operation: Operation) -> None:
        if operation.object is not None and operation.resource.kind == "ConfigMap":
            data = operation.object.setdefault("data", {})
            data["rounds"] = str(int(data.get("rounds", "0")) + 1)


async def test_plugins_are_asked_again_after_a_policy_and_policies_after_them() -> None:
    async with new_world(admission=[_Counting()]) as world:
        seen = 'Object{data: {"seen": string(object.data.rounds)}}'
        await world.post(policy(MAP, mutations=[merging(seen)], reinvocationPolicy="IfNeeded"))
        await world.post(binding(f"{MAP}Binding"))
        answer = await world.send("POST", CONFIG_MAPS, config_map())
        assert answer.body["data"] == {"rounds": "2", "seen": "2"}


async def test_what_policies_made_is_judged_like_everything_else(world: World) -> None:
    await world.post(policy(MAP, mutations=[merging('Object{data: {"k": "made"}}')]), binding(f"{MAP}Binding"))
    judge = "ValidatingAdmissionPolicy"
    validations = [{"expression": "object.data.k != 'made'", "message": "not that"}]
    await world.post(policy(judge, validations=validations), binding(f"{judge}Binding"))
    answer = await world.send("POST", CONFIG_MAPS, config_map())
    assert answer.status == 422
    assert answer.body["message"].endswith("denied request: not that")


async def test_custom_resources_are_changed_by_their_schema_in_the_version_the_policy_names(world: World) -> None:
    def version(name: str, storage: bool) -> Object:
        items = {
            "type": "object",
            "required": ["key"],
            "properties": {"key": {"type": "string"}, "n": {"type": "integer"}},
        }
        properties: Object = {
            "items": {
                "type": "array",
                "items": items,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["key"],
            },
            "size": {"type": "integer", "default": 3},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
        }
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
        return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}

    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v1", False), version("v2", True)],
        },
    }
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
    await world.post(crd, binding(f"{MAP}Binding"))
    told = """Object{
            metadata: Object.metadata{annotations: {"v": object.apiVersion}},
            spec: Object.spec{items: [Object.spec.items{key: "a", n: 9}, Object.spec.items{key: "b", n: 2}]}
        }"""
    made = policy(MAP, mutations=[merging(told)], matchConstraints={"resourceRules": [rule]})
    await world.post(made)
    spec: Any = {"items": [{"key": "a", "n": 1}]}
    widget = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}
    answer = await world.send("POST", world.path(widget), widget)
    assert answer.status == 201, answer.body
    assert answer.body["apiVersion"] == "example.com/v2"
    assert answer.body["metadata"]["annotations"] == {"v": "example.com/v1"}
    assert answer.body["spec"] == {"items": [{"key": "a", "n": 9}, {"key": "b", "n": 2}], "size": 3}
    await world.delete(made)
    whole = "Object{spec: Object.spec{whole: Object.spec.whole{a: 'x'}}}"
    await world.post(policy(MAP, mutations=[merging(whole)], matchConstraints={"resourceRules": [rule]}))
    other = {**widget, "metadata": {"name": "x"}}
    answer = await world.send("POST", world.path(other), other)
    assert answer.body["message"].endswith("may not mutate atomic arrays, maps or structs: .spec.whole")


async def test_a_patch_that_grows_without_end_is_stopped() -> None:
    # Each level holds the one below ten times: written out it would fill the machine.
    expression = "Object{x: [1,2,3,4,5,6,7,8,9,10]}"
    for _ in range(8):
        expression = f"[{expression}].map(o, Object{{x: [o,o,o,o,o,o,o,o,o,o]}})[0]"
    async with new_world() as world:
        await world.post(policy(MAP, mutations=[merging(expression)]), binding(f"{MAP}Binding"))
        answer = await world.send("POST", CONFIG_MAPS, config_map())
        assert answer.status == 403
        assert answer.body["message"].endswith("cost limit exceeded")
