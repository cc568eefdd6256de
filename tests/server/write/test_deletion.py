"""Deletion: finalizers, preconditions, how dependents are to be treated, and collections."""

import pytest
from tests.server.write.api import CONFIG_MAPS, Api, config_map

from setpoint.objects.tree import Json

HELD = {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}


async def test_an_object_with_finalizers_goes_when_the_last_one_does(api: Api) -> None:
    await api("POST", CONFIG_MAPS, HELD)
    marked = await api("DELETE", f"{CONFIG_MAPS}/a")
    assert marked.body["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"
    again = await api("DELETE", f"{CONFIG_MAPS}/a")
    assert (again.status, again.body) == (200, marked.body)
    gone = await api.merge(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})
    assert (gone.status, gone.version) == (200, marked.version)
    assert (await api("GET", f"{CONFIG_MAPS}/a")).status == 404


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"orphanDependents": True}, ["orphan"]),
    ],
)
async def test_the_policy_decides_which_finalizer_waits_for_the_dependents(
    api: Api, options: Json, finalizers: list[str]
) -> None:
    await api("POST", CONFIG_MAPS, config_map())
    marked = await api("DELETE", f"{CONFIG_MAPS}/a", options)
    assert marked.body["metadata"]["finalizers"] == finalizers
    # Who does not care about dependents any more has it gone at once.
    gone = await api("DELETE", f"{CONFIG_MAPS}/a", {"propagationPolicy": "Background"})
    assert gone.body["status"] == "Success"


@pytest.mark.parametrize(("policy", "own"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
async def test_a_repeated_deletion_keeps_the_finalizers_of_users(api: Api, policy: str, own: str) -> None:
    await api("POST", CONFIG_MAPS, HELD)
    for _ in range(2):
        marked = await api("DELETE", f"{CONFIG_MAPS}/a", {"propagationPolicy": policy})
        assert (marked.status, marked.body["metadata"]["finalizers"]) == (200, ["example.com/hold", own])
    other = await api("DELETE", f"{CONFIG_MAPS}/a", {"propagationPolicy": "Background"})
    assert other.body["metadata"]["finalizers"] == ["example.com/hold"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"propagationPolicy": "Sideways"}, "propagationPolicy"),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, "propagationPolicy"),
        ({"dryRun": ["Some"]}, "dryRun"),
    ],
)
async def test_options_that_make_no_sense_are_refused_by_name(api: Api, options: Json, field: str) -> None:
    await api("POST", CONFIG_MAPS, config_map())
    refused = await api("DELETE", f"{CONFIG_MAPS}/a", options)
    assert (refused.status, refused.body["details"]["causes"][0]["field"]) == (422, field)
    assert (await api("GET", f"{CONFIG_MAPS}/a")).status == 200


async def test_a_precondition_that_does_not_hold_keeps_the_object(api: Api) -> None:
    made = await api("POST", CONFIG_MAPS, config_map())
    for wanted in ({"uid": "another"}, {"resourceVersion": "1"}):
        refused = await api("DELETE", f"{CONFIG_MAPS}/a", {"preconditions": wanted})
        assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    wanted = {"uid": made.body["metadata"]["uid"], "resourceVersion": made.version}
    assert (await api("DELETE", f"{CONFIG_MAPS}/a", {"preconditions": wanted})).status == 200


async def test_a_collection_is_deleted_as_far_as_its_selector_reaches(api: Api) -> None:
    for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
        body = config_map(name)
        body["metadata"]["labels"] = {"l": label}
        await api("POST", CONFIG_MAPS, body)
    deleted = await api("DELETE", CONFIG_MAPS, query="labelSelector=l%3Dx")
    assert [item["metadata"]["name"] for item in deleted.body["items"]] == ["a", "c"]
    left = await api("GET", CONFIG_MAPS)
    assert [item["metadata"]["name"] for item in left.body["items"]] == ["b"]


async def test_nothing_is_created_in_a_namespace_that_is_on_its_way_out(api: Api) -> None:
    await api("POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
    await api("DELETE", "/api/v1/namespaces/gone")
    refused = await api("POST", "/api/v1/namespaces/gone/configmaps", config_map())
    assert (refused.status, refused.body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")


async def test_a_namespace_goes_when_it_is_finalized(api: Api) -> None:
    made = await api("POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
    marked = await api("DELETE", "/api/v1/namespaces/gone")
    assert marked.body["status"]["phase"] == "Terminating"
    body = made.body | {"spec": {}}
    del body["metadata"]["resourceVersion"]
    assert (await api("PUT", "/api/v1/namespaces/gone/finalize", body)).status == 200
    assert (await api("GET", "/api/v1/namespaces/gone")).status == 404


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay(api: Api, name: str) -> None:
    refused = await api("DELETE", f"/api/v1/namespaces/{name}")
    assert refused.body["message"] == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
