"""The life of CustomResourceDefinitions, from the first instance to the last."""

import asyncio
from typing import Any

import pytest
from tests.server.write.api import DEFINITIONS, WIDGETS, Api, definition, new_api, widget

from setpoint.objects.tree import Object
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.apiextensions import custom_resources
from setpoint.server.app import Server
from setpoint.server.message import Request

NAME = f"{DEFINITIONS}/widgets.example.com"


def conditions(tree: Object) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in tree["status"]["conditions"]}


async def test_a_definition_is_served_before_its_creation_is_answered(api: Api) -> None:
    assert (await api("POST", WIDGETS, widget())).status == 404
    assert (await api("POST", DEFINITIONS, definition())).status == 201
    assert (await api("POST", WIDGETS, widget())).status == 201
    stored = await api("GET", NAME)
    assert conditions(stored.body) == {"NamesAccepted": "True", "Established": "True"}


async def test_a_definition_takes_its_instances_with_it(api: Api) -> None:
    await api("POST", DEFINITIONS, definition())
    await api("POST", WIDGETS, widget())
    marked = await api("DELETE", NAME)
    assert conditions(marked.body)["Terminating"] == "True"
    assert (await api("GET", NAME)).status == 404
    assert await api.store.count("/example.com/") == 0
    await api("POST", DEFINITIONS, definition())
    assert (await api("GET", WIDGETS)).body["items"] == []


async def test_an_instance_with_a_finalizer_holds_its_definition(api: Api) -> None:
    await api("POST", DEFINITIONS, definition())
    await api("POST", WIDGETS, widget(finalizers=["example.com/hold"]))
    await api("DELETE", NAME)
    held = await api("GET", f"{WIDGETS}/w")
    assert "deletionTimestamp" in held.body["metadata"]
    refused = await api("POST", WIDGETS, widget("another"))
    assert (refused.status, refused.body["reason"]) == (403, "Forbidden")
    assert "while custom resource definition is terminating" in refused.body["message"]
    assert (await api.merge(f"{WIDGETS}/w", {"metadata": {"finalizers": None}})).status == 200
    assert (await api("GET", NAME)).status == 404
    assert (await api("GET", WIDGETS)).status == 404


async def test_who_lost_a_name_gets_it_when_it_is_free(api: Api) -> None:
    await api("POST", DEFINITIONS, definition())
    names = {"plural": "gadgets", "kind": "Widget"}
    await api("POST", DEFINITIONS, definition("gadgets", names=names))
    loser = await api("GET", f"{DEFINITIONS}/gadgets.example.com")
    assert conditions(loser.body) == {"NamesAccepted": "False", "Established": "False"}
    await api("DELETE", NAME)
    winner = await api("GET", f"{DEFINITIONS}/gadgets.example.com")
    assert conditions(winner.body) == {"NamesAccepted": "True", "Established": "True"}


async def test_a_change_of_the_schema_shows_on_what_was_stored_before(api: Api) -> None:
    await api("POST", DEFINITIONS, definition())
    await api("POST", WIDGETS, widget())
    changed = definition()
    properties = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del properties["size"]
    properties["color"] = {"type": "string", "default": "red"}
    assert (await api.merge(NAME, {"spec": changed["spec"]})).status == 200
    shown = {"color": "red"}
    assert (await api("GET", f"{WIDGETS}/w")).body["spec"] == shown
    assert (await api("GET", WIDGETS)).body["items"][0]["spec"] == shown


async def test_instances_are_readable_in_every_version_whichever_they_are_stored_in(api: Api) -> None:
    body = definition()
    first = body["spec"]["versions"][0]
    body["spec"]["versions"].append(first | {"name": "v2", "storage": False})
    await api("POST", DEFINITIONS, body)
    await api("POST", WIDGETS, widget("old"))
    versions = [first | {"storage": False}, first | {"name": "v2", "storage": True}]
    switched = await api.merge(NAME, {"spec": {"versions": versions}})
    assert switched.body["status"]["storedVersions"] == ["v1", "v2"]
    await api("POST", WIDGETS, widget("new"))
    for version in ("v1", "v2"):
        listed = await api("GET", WIDGETS.replace("v1", version))
        found = [(item["apiVersion"], item["metadata"]["name"], item["spec"]) for item in listed.body["items"]]
        assert found == [(f"example.com/{version}", name, {"size": 1}) for name in ("new", "old")]


async def test_a_conversion_that_only_a_webhook_knows_is_not_guessed(api: Api) -> None:
    body = definition()
    first = body["spec"]["versions"][0]
    body["spec"]["versions"].append(first | {"name": "v2", "storage": False})
    client = {"service": {"namespace": "default", "name": "converter"}}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    body["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    assert (await api("POST", DEFINITIONS, body)).status == 201
    assert (await api("POST", WIDGETS, widget())).status == 201
    assert (await api("GET", f"{WIDGETS}/w")).status == 200
    other = await api("GET", f"{WIDGETS.replace('v1', 'v2')}/w")
    assert other.status == 500
    assert "conversion webhook for example.com/v1, Kind=Widget failed" in other.body["message"]


async def test_a_server_that_starts_over_a_store_serves_its_definitions() -> None:
    api = Api()
    await api.server.start()
    await api("POST", DEFINITIONS, definition())
    await api("POST", WIDGETS, widget())
    revision = await api.store.revision()
    api.server = Server(api.store, clock=api.clock)
    await api.server.start()
    assert (await api("GET", f"{WIDGETS}/w")).body["spec"] == {"size": 1}
    assert await api.store.revision() == revision


async def test_a_server_serves_what_another_one_over_the_same_store_defines() -> None:
    api = Api()
    await api.server.start()
    other = Server(api.store, clock=api.clock)
    await other.start()
    following = asyncio.create_task(other.services.definitions.follow())
    await asyncio.sleep(0)
    await api("POST", DEFINITIONS, definition())
    mine, api.server = api.server, other
    for _ in range(10):
        await asyncio.sleep(0)
    assert (await api("POST", WIDGETS, widget())).status == 201
    await mine(Request("DELETE", NAME))
    for _ in range(10):
        await asyncio.sleep(0)
    assert (await api("GET", WIDGETS)).status == 404
    await api.store.close()
    await following


async def test_a_definition_costs_the_same_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {"parsed": 0, "outlined": 0, "resources": 0}

    def count(owner: Any, name: str, key: str) -> None:
        function = getattr(owner, name)

        def counting(*args: Any, **kwargs: Any) -> Any:
            counted[key] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, staticmethod(counting))

    count(CustomResourceDefinition, "parse", "parsed")
    count(CustomResourceDefinition, "outline", "outlined")
    count(custom_resources, "resources_of", "resources")
    costs = []
    async with new_api() as api:
        for number in range(60):
            counted.update(dict.fromkeys(counted, 0))
            assert (await api("POST", DEFINITIONS, definition(f"things{number}", f"Thing{number}"))).status == 201
            costs.append(dict(counted))
    assert costs[59] == costs[1]
    assert costs[1]["resources"] == 1
