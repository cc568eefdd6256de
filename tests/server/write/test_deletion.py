"""Deletion: finalizers, preconditions, how dependents are to be treated, and collections."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.server.write.api import CONFIG_MAPS, Api, config_map

from setpoint.objects.tree import Json
from setpoint.server.codec.delete_options import DeleteOptions
from setpoint.server.verbs.delete import _finalizers, _finalizers_of_begun

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


@pytest.mark.parametrize(
    ("options", "status"),
    [({"orphanDependents": False}, 202), ({"orphanDependents": True}, 200), ({}, 200), (None, 200)],
)
async def test_a_deletion_that_waits_is_accepted_if_dependents_are_not_orphaned(
    api: Api, options: Json, status: int
) -> None:
    await api("POST", CONFIG_MAPS, HELD)
    assert (await api("DELETE", f"{CONFIG_MAPS}/a", options)).status == status


async def test_a_deletion_that_is_complete_is_not_only_accepted(api: Api) -> None:
    await api("POST", CONFIG_MAPS, config_map())
    done = await api("DELETE", f"{CONFIG_MAPS}/a", {"orphanDependents": False})
    assert (done.status, done.body["status"]) == (200, "Success")


JOBS = "/apis/batch/v1/namespaces/default/jobs"
JOB: Json = {
    "metadata": {"name": "j"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
}


@pytest.mark.parametrize(
    ("options", "warnings"),
    [(None, 1), ({}, 1), ({"propagationPolicy": "Background"}, 0), ({"orphanDependents": True}, 0)],
)
async def test_the_deletion_of_a_job_warns_of_its_pods_unless_a_policy_is_given(
    api: Api, options: Json, warnings: int
) -> None:
    assert (await api("POST", JOBS, JOB)).status == 201
    deleted = await api("DELETE", f"{JOBS}/j", options)
    assert len(deleted.warnings) == warnings
    assert (await api("POST", CONFIG_MAPS, config_map())).status == 201
    assert (await api("DELETE", f"{CONFIG_MAPS}/a", options)).warnings == []


USERS = ["example.com/hold"]


@pytest.mark.parametrize(
    ("options", "present", "expected"),
    [
        (DeleteOptions(), USERS, USERS),
        (DeleteOptions(), [*USERS, "orphan"], [*USERS, "orphan"]),
        (DeleteOptions(orphan_dependents=True), USERS, [*USERS, "orphan"]),
        (DeleteOptions(orphan_dependents=False), USERS, [*USERS, "foregroundDeletion"]),
        (DeleteOptions(orphan_dependents=True), ["foregroundDeletion", *USERS], [*USERS, "orphan"]),
        (DeleteOptions(propagation_policy="Orphan"), USERS, [*USERS, "orphan"]),
        (DeleteOptions(propagation_policy="Orphan"), ["orphan", *USERS], ["orphan", *USERS]),
        (DeleteOptions(propagation_policy="Foreground"), ["orphan", *USERS], [*USERS, "foregroundDeletion"]),
        (DeleteOptions(propagation_policy="Background"), ["orphan", "foregroundDeletion", *USERS], USERS),
    ],
)
def test_the_finalizers_of_a_deletion_in_steps(options: DeleteOptions, present: list[str], expected: list[str]) -> None:
    assert _finalizers_of_begun({"metadata": {"finalizers": present}}, options) == expected


@pytest.mark.parametrize(
    ("options", "present", "expected"),
    [
        (DeleteOptions(), USERS, USERS),
        (DeleteOptions(), ["orphan", *USERS], ["orphan", *USERS]),
        (DeleteOptions(), ["foregroundDeletion"], ["foregroundDeletion"]),
        (DeleteOptions(orphan_dependents=True), USERS, [*USERS, "orphan"]),
        (DeleteOptions(orphan_dependents=False), ["orphan", *USERS], USERS),
        (DeleteOptions(orphan_dependents=True), ["orphan", "foregroundDeletion"], ["orphan"]),
        (DeleteOptions(propagation_policy="Foreground"), ["orphan", *USERS], [*USERS, "foregroundDeletion"]),
        (DeleteOptions(propagation_policy="Background"), ["foregroundDeletion"], []),
    ],
)
def test_the_finalizers_of_a_deletion(options: DeleteOptions, present: list[str], expected: list[str]) -> None:
    resource: Any = SimpleNamespace(strategy=SimpleNamespace(has_dependents=True, orphans_by_default=False))
    assert _finalizers(resource, {"metadata": {"finalizers": present}}, options) == expected
    resource.strategy.orphans_by_default = True
    by_default = [*USERS, "orphan"] if (options, present) == (DeleteOptions(), USERS) else expected
    assert _finalizers(resource, {"metadata": {"finalizers": present}}, options) == by_default
    resource.strategy.has_dependents = False
    assert _finalizers(resource, {"metadata": {"finalizers": present}}, options) == present
