"""Parameters of policies: which they are, read as they are now, and what follows where there are none."""

import pytest
from tests.server.policies.world import World, binding, cases, config_map, play, policy
from tests.server.write.api import definition

from setpoint.objects.tree import Object
from setpoint.server.registry.selectors import ObjectSelector

VAP = "ValidatingAdmissionPolicy"


@pytest.mark.parametrize("case", cases("params"))
async def test_a_policy_is_asked_for_each_of_its_parameters(world: World, case: Object) -> None:
    await play(world, VAP, case)


async def test_a_custom_resource_parametrizes_policies_as_soon_as_it_is_defined(world: World) -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
    validations = [{"expression": "size(object.data) <= params.spec.size", "message": "too much"}]
    await world.post(policy(VAP, paramKind=kind, validations=validations))
    await world.post(binding(f"{VAP}Binding", paramRef={"name": "w", "parameterNotFoundAction": "Allow"}))
    path = "/api/v1/namespaces/default/configmaps"
    answer = await world.send("POST", path, config_map("a", k="v"))
    assert answer.body["message"].endswith("referenced by paramKind: 'example.com/v1, Kind=Widget'")
    await world.post(definition())
    assert (await world.send("POST", path, config_map("a", k="v"))).status == 201
    widget = {**kind, "metadata": {"name": "w"}, "spec": {"size": 1}}
    await world.post(widget)
    assert (await world.send("POST", path, config_map("b", k="v"))).status == 201
    answer = await world.send("POST", path, config_map("c", k="v", l="w"))
    assert answer.body["message"].endswith("too much")
    await world.delete(widget)
    assert (await world.send("POST", path, config_map("c", k="v", l="w"))).status == 201


async def test_selected_parameters_are_found_by_an_index(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    matches = ObjectSelector.matches

    def counted(selector: ObjectSelector, key: str, value: bytes, revision: int) -> bool:
        nonlocal compared
        compared += 1
        return matches(selector, key, value, revision)

    monkeypatch.setattr(ObjectSelector, "matches", counted)
    indexes = world.server.services.term_indexes
    assert indexes is not None
    indexes.least = 0
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    for number in range(30):
        labels = {"limits": "yes"} if number == 7 else {"limits": f"no-{number}"}
        await world.post({**kind, "metadata": {"name": f"p{number}", "labels": labels}, "data": {"size": "1"}})
    validations = [{"expression": "size(object.data) <= int(params.data.size)", "message": "too much"}]
    await world.post(policy(VAP, paramKind=kind, validations=validations))
    selector = {"matchLabels": {"limits": "yes"}}
    await world.post(binding(f"{VAP}Binding", paramRef={"selector": selector, "parameterNotFoundAction": "Deny"}))
    counts = []
    for name in ("a", "b", "c"):
        compared = 0
        answer = await world.send("POST", "/api/v1/namespaces/default/configmaps", config_map(name, k="v", l="w"))
        assert answer.body["message"].endswith("too much")
        counts.append(compared)
    assert counts[0] >= 30, "the first use reads all objects"
    assert counts[2] == 1
