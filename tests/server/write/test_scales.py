"""The scale subresource: reading, every kind of write, and the writes that are refused."""

from typing import Any

import pytest
from tests.server.write.api import Api

from setpoint.objects.tree import Object

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
TEMPLATE: Object = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def made(api: Api, path: str = DEPLOYMENTS, selector: Any = None, replicas: int | None = 2) -> str:
    selector = selector or {"matchLabels": {"app": "a"}}
    spec = {"selector": selector, "template": TEMPLATE, **({} if replicas is None else {"replicas": replicas})}
    answer = await api("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    assert answer.status == 201, answer.body
    return f"{path}/d/scale"


@pytest.mark.parametrize(
    ("path", "selector", "text"),
    [
        (DEPLOYMENTS, {"matchLabels": {"app": "a"}}, "app=a"),
        (
            DEPLOYMENTS,
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
            "app in (a,b)",
        ),
        (CONTROLLERS, {"app": "a"}, "app=a"),
    ],
)
async def test_a_scale_has_the_selector_as_text(api: Api, path: str, selector: Any, text: str) -> None:
    scale = await api("GET", await made(api, path, selector))
    assert scale.body["apiVersion"] == "autoscaling/v1"
    assert scale.body["spec"] == {"replicas": 2}
    assert scale.body["status"] == {"replicas": 0, "selector": text}
    owner = await api("GET", f"{path}/d")
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    assert scale.body["metadata"] == {name: owner.body["metadata"][name] for name in shown}


async def test_a_scale_to_zero_has_no_replicas_in_its_spec(api: Api) -> None:
    path = await made(api)
    for change in ({"spec": {"replicas": 0}}, {"spec": {"replicas": None}}):
        scaled = await api.merge(path, change)
        assert (scaled.status, scaled.body["spec"]) == (200, {})
        assert (await api("GET", f"{DEPLOYMENTS}/d")).body["spec"]["replicas"] == 0


async def test_every_kind_of_write_changes_the_replicas(api: Api) -> None:
    path = await made(api)
    writes: list[tuple[str, Any, str]] = [
        ("PATCH", {"spec": {"replicas": 3}}, "application/merge-patch+json"),
        ("PATCH", [{"op": "replace", "path": "/spec/replicas", "value": 4}], "application/json-patch+json"),
        ("PUT", {"metadata": {"name": "d"}, "spec": {"replicas": 5}}, "application/json"),
    ]
    for number, (method, body, kind) in enumerate(writes, 3):
        answer = await api(method, path, body, kind=kind)
        assert (answer.status, answer.body["spec"]["replicas"]) == (200, number)
        assert (await api("GET", f"{DEPLOYMENTS}/d")).body["spec"]["replicas"] == number
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 6}}
    conflict = await api.apply(path, scale)
    assert conflict.status == 409
    forced = await api.apply(path, scale, query="fieldManager=m&force=true")
    assert (forced.status, forced.body["spec"]["replicas"]) == (200, 6)


async def test_a_dry_run_scales_nothing(api: Api) -> None:
    path = await made(api)
    answer = await api("PUT", path, {"metadata": {"name": "d"}, "spec": {"replicas": 5}}, query="dryRun=All")
    assert (answer.status, answer.body["spec"]["replicas"]) == (200, 5)
    assert (await api("GET", path)).body["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("metadata", "replicas", "status", "words"),
    [
        ({"name": "other"}, 3, 400, "does not match the name on the URL"),
        ({"name": "d", "namespace": "other"}, 3, 400, "namespace"),
        ({"name": "d", "uid": "another"}, 3, 409, "Precondition failed: UID in precondition: another, UID in object"),
        ({"name": "d", "resourceVersion": "1"}, 3, 409, "the object has been modified"),
        ({"name": "d"}, -1, 422, 'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater'),
    ],
)
async def test_a_wrong_scale_is_refused(api: Api, metadata: Any, replicas: int, status: int, words: str) -> None:
    path = await made(api)
    refused = await api("PUT", path, {"metadata": metadata, "spec": {"replicas": replicas}})
    assert (refused.status, words in refused.body["message"]) == (status, True), refused.body
    assert (await api("GET", path)).body["spec"]["replicas"] == 2


async def test_a_patch_of_the_name_is_refused(api: Api) -> None:
    path = await made(api)
    refused = await api.merge(path, {"metadata": {"name": "other"}})
    assert refused.status == 400
    assert "the name of the object (other) does not match the name on the URL (d)" in refused.body["message"]


async def test_the_uid_of_the_object_is_accepted(api: Api) -> None:
    path = await made(api)
    uid = (await api("GET", path)).body["metadata"]["uid"]
    answer = await api("PUT", path, {"metadata": {"name": "d", "uid": uid}, "spec": {"replicas": 1}})
    assert (answer.status, answer.body["spec"]["replicas"]) == (200, 1)
