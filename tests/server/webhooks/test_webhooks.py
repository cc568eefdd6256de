"""Webhooks: who is asked about what, what they are shown, and what becomes of what they say."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.server.outbound.peer import Asked, Peer
from tests.server.webhooks.world import CONFIG_MAPS, World, adding, answering, deciding, requests, webhook
from tests.server.write.api import MERGE, definition

from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"


def rule(*resources: str, groups: Sequence[str] = ("",), versions: Sequence[str] = ("*",), **more: Any) -> Object:
    operations = more.pop("operations", ["*"])
    return {
        "apiGroups": list(groups),
        "apiVersions": list(versions),
        "operations": operations,
        "resources": list(resources),
        **more,
    }


EVERYTHING = rule("*/*", groups=("*",))


def names(peer: Peer) -> list[str]:
    return [request.get("name", "") for request in requests(peer)]


async def test_a_webhook_is_asked_from_its_registration_to_its_end(world: World) -> None:
    peer = await world.hook(answering(allowed=False, status={"message": "no"}))
    assert (await world.create()).body["message"] == 'admission webhook "h.example.com" denied the request: no'
    await world("DELETE", f"{REGISTRATION}/validatingwebhookconfigurations/w")
    assert (await world.create()).status == 201
    assert len(peer.asked) == 1


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (None, 400, " without explanation"),
        ({"reason": "Forbidden"}, 400, ": Forbidden"),
        ({"code": 200}, 400, " without explanation"),
        ({"code": 451, "message": "no"}, 451, ": no"),
        ({"code": 403, "reason": "MyOwn", "message": "no", "status": "Success"}, 403, ": no"),
    ],
)
async def test_what_a_webhook_says_of_its_refusal_is_passed_on(
    world: World, status: Object | None, code: int, message: str
) -> None:
    await world.hook(answering(allowed=False, status=status))
    answer = await world.create()
    assert (answer.status, answer.body["code"], answer.body["status"]) == (code, code, "Failure")
    assert answer.body["message"] == f'admission webhook "h.example.com" denied the request{message}'
    assert answer.body.get("reason", "") == (status or {}).get("reason", "")


async def test_mutating_webhooks_are_asked_in_the_order_of_their_configurations_and_each_sees_what_others_made(
    world: World,
) -> None:
    order: list[str] = []

    def noting(name: str) -> Any:
        def decide(request: Object) -> Object:
            order.append(name)
            seen = ",".join(sorted(request["object"].get("data") or {}))
            return {"patch": [{"op": "add", "path": f"/data/{name}", "value": seen}]}

        return deciding(decide)

    peers = {name: await world.peer(noting(name)) for name in "abcd"}
    await world.register(webhook(peers["c"]), webhook(peers["a"], name="z.example.com"), mutates=True, name="b")
    await world.register(webhook(peers["d"]), mutates=True, name="c")
    await world.register(webhook(peers["b"]), mutates=True, name="a")
    answer = await world.create(x="")
    assert order == ["b", "c", "a", "d"]
    assert answer.body["data"] == {"x": "", "b": "x", "c": "b,x", "a": "b,c,x", "d": "a,b,c,x"}


async def test_validating_webhooks_are_asked_at_once_and_after_the_mutating_ones(world: World) -> None:
    together = asyncio.Barrier(3)
    allow = answering()

    async def all_at_once(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await together.wait()
        await allow(asked, writer)

    peer = await world.peer(all_at_once)
    hooks = [webhook(peer, f"/{name}", name=f"{name}.example.com") for name in "abc"]
    await world.register(*hooks)
    await world.hook(adding("seen"), mutates=True, name="m")
    assert (await world.create()).status == 201
    assert len({request["uid"] for request in requests(peer)}) == 3
    assert all(request["object"]["data"] == {"seen": "yes"} for request in requests(peer))


async def test_of_several_refusals_the_first_to_arrive_is_the_answer_and_all_are_waited_for(world: World) -> None:
    refuse = answering(allowed=False, status={"message": "slow"})

    async def slow(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        await refuse(asked, writer)

    late = await world.hook(slow, name="a")
    await world.hook(answering(allowed=False, status={"message": "quick"}), name="b")
    answer = await world.create()
    assert answer.body["message"].endswith("quick")
    assert len(late.asked) == 1


async def test_a_webhook_that_wants_to_is_asked_once_more_when_another_changed_the_object_after_it(
    world: World,
) -> None:
    again = await world.hook(answering(), mutates=True, name="a", reinvocationPolicy="IfNeeded")
    never = await world.hook(answering(), mutates=True, name="b")
    changing = await world.hook(adding("late"), mutates=True, name="c", reinvocationPolicy="IfNeeded")
    behind = await world.hook(answering(), mutates=True, name="d", reinvocationPolicy="IfNeeded")
    assert (await world.create()).body["data"] == {"late": "yes"}
    # The one that changed it is not asked again for what it did itself, nor is who saw that already.
    assert [len(peer.asked) for peer in (again, never, changing, behind)] == [2, 1, 1, 1]
    assert requests(again)[1]["object"]["data"] == {"late": "yes"}
    assert world.annotations["mutation.webhook.admission.k8s.io/round_1_index_0"] == (
        '{"configuration":"a","webhook":"h.example.com","mutated":false}'
    )
    # Nothing changes any more: nobody is asked twice.
    await world("PATCH", f"{CONFIG_MAPS}/a", {"data": {"more": "1"}}, kind=MERGE)
    assert [len(peer.asked) for peer in (again, never, changing, behind)] == [3, 2, 2, 2]


async def test_there_is_no_third_round(world: World) -> None:
    count = iter(range(100))

    def always(request: Object) -> Object:
        return {"patch": [{"op": "add", "path": "/data/n", "value": str(next(count))}]}

    peer = await world.hook(deciding(always), mutates=True, name="a", reinvocationPolicy="IfNeeded")
    await world.hook(deciding(always), mutates=True, name="b", reinvocationPolicy="IfNeeded")
    assert (await world.create(k="v")).status == 201
    assert len(peer.asked) == 2


async def test_nobody_is_asked_for_the_first_time_in_the_second_round(world: World) -> None:
    labelled = {"objectSelector": {"matchLabels": {"late": "yes"}}, "reinvocationPolicy": "IfNeeded"}
    selected = await world.hook(answering(), mutates=True, name="a", **labelled)
    patch = [{"op": "add", "path": "/metadata/labels", "value": {"late": "yes"}}]
    await world.hook(answering(patch=patch), mutates=True, name="b")
    assert (await world.create()).body["metadata"]["labels"] == {"late": "yes"}
    assert selected.asked == []


async def test_only_webhooks_without_side_effects_are_asked_about_a_dry_run(world: World) -> None:
    peer = await world.hook(answering())
    assert (await world.create(query="dryRun=All&fieldManager=me&fieldValidation=Strict")).status == 201
    request = requests(peer)[0]
    assert request["dryRun"] is True
    assert request["options"] == {
        "kind": "CreateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "dryRun": ["All"],
        "fieldManager": "me",
        "fieldValidation": "Strict",
    }
    key = "/admissionregistration.k8s.io/validatingwebhookconfigurations/w"
    item = await world.server.services.store.get(key)
    assert item is not None
    # What the API does not let in any more may still be stored.
    value = item.value.replace(b'"sideEffects":"None"', b'"sideEffects":"Unknown"')
    await world.server.services.commit(key, value, item.revision, Actor("test"))
    answer = await world.create(query="dryRun=All")
    assert (answer.status, answer.body["message"]) == (
        400,
        'admission webhook "h.example.com" does not support dry run',
    )
    assert (await world.create()).status == 201


async def test_warnings_reach_the_client_and_annotations_the_audit_log(world: World) -> None:
    patch = [{"op": "add", "path": "/data/p", "value": "q"}]
    said = {"warnings": ["mind the gap"], "auditAnnotations": {"key": "value"}, "patch": patch}
    await world.hook(answering(**said), mutates=True)
    answer = await world.create(k="v")
    assert answer.warnings == ['299 - "mind the gap"']
    assert world.annotations["h.example.com/key"] == "value"
    place = "webhook.admission.k8s.io/round_0_index_0"
    about = {"configuration": "w", "webhook": "h.example.com"}
    assert json.loads(world.annotations[f"mutation.{place}"]) == about | {"mutated": True}
    noted = json.loads(world.annotations[f"patch.{place}"])
    assert noted == about | {"patch": patch, "patchType": "JSONPatch"}


async def test_what_a_patch_brings_in_is_decoded_and_defaulted_and_owned_by_nobody_new(world: World) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80}]},
    }
    patch = [
        {"op": "add", "path": "/spec/ports/-", "value": {"port": 81, "name": "b", "unheard": "of"}},
        {"op": "add", "path": "/spec/ports/0/name", "value": "a"},
        {"op": "add", "path": "/metadata/managedFields/0/operation", "value": "Nonsense"},
    ]
    await world.hook(answering(patch=patch), mutates=True, rules=[rule("services")])
    answer = await world("POST", "/api/v1/namespaces/default/services", service)
    assert answer.status == 201, answer.body
    added = answer.body["spec"]["ports"][1]
    assert added == {"name": "b", "port": 81, "protocol": "TCP", "targetPort": 81}
    assert [entry["operation"] for entry in answer.body["metadata"]["managedFields"]] == ["Update"]
    assert len(answer.warnings) == 1
    assert ".metadata.managedFields was in an invalid state after admission" in answer.warnings[0]


async def test_a_generated_name_is_shown_to_those_who_judge_and_not_to_those_who_change(world: World) -> None:
    changing = await world.hook(answering(), mutates=True)
    judging = await world.hook(answering())
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}}
    answer = await world("POST", CONFIG_MAPS, tree)
    before, after = requests(changing)[0], requests(judging)[0]
    assert "name" not in before
    assert "uid" not in before["object"]["metadata"]
    assert after["name"] == after["object"]["metadata"]["name"] == answer.body["metadata"]["name"]
    assert after["object"]["metadata"]["uid"] == answer.body["metadata"]["uid"]


async def test_a_deletion_shows_what_goes_and_can_be_refused_but_not_changed(world: World) -> None:
    await world.create()
    deletions = [rule("configmaps", operations=["DELETE"])]
    changing = await world.hook(answering(), mutates=True, rules=deletions)
    judging = await world.hook(answering(), rules=deletions)
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 3}
    changing.answer = answering(patch=[{"op": "add", "path": "/data/x", "value": "y"}])
    answer = await world("DELETE", f"{CONFIG_MAPS}/a", body)
    assert answer.body["message"].endswith(
        'webhook "h.example.com" attempted to modify the object, which is not supported for this operation'
    )
    changing.answer = answering()
    assert (await world("DELETE", f"{CONFIG_MAPS}/a", body)).status == 200
    for peer in (changing, judging):
        request = requests(peer)[-1]
        assert (request["name"], request["object"]) == ("a", None)
        assert request["oldObject"]["metadata"]["name"] == "a"
        assert request["options"] == {
            "kind": "DeleteOptions",
            "apiVersion": "meta.k8s.io/v1",
            "gracePeriodSeconds": 3,
        }
    # Of a whole collection each object is shown, though the request names none.
    await world.create("b")
    await world.create("c")
    assert (await world("DELETE", CONFIG_MAPS)).status == 200
    shown = [(request.get("name"), request["oldObject"]["metadata"]["name"]) for request in requests(judging)[-2:]]
    assert shown == [(None, "b"), (None, "c")]


async def test_namespaces_select_by_their_labels_and_namespaces_themselves_by_their_own(world: World) -> None:
    selector = {"matchLabels": {"watched": "yes"}}
    rules = [rule("configmaps", "namespaces", "nodes", operations=["CREATE", "UPDATE", "DELETE"])]
    peer = await world.hook(answering(), rules=rules, namespaceSelector=selector)

    async def namespace(name: str, **labels: str) -> None:
        tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        assert (await world("POST", "/api/v1/namespaces", tree)).status == 201

    await namespace("quiet")
    await namespace("loud", watched="yes")
    for place in ("quiet", "loud"):
        tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"in-{place}"}}
        await world("POST", f"/api/v1/namespaces/{place}/configmaps", tree)
    # A label holds from the moment it is there, and what is not in any namespace is not selected by one.
    await world("PATCH", "/api/v1/namespaces/quiet", {"metadata": {"labels": {"watched": "yes"}}}, kind=MERGE)
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "in-quiet-2"}}
    await world("POST", "/api/v1/namespaces/quiet/configmaps", tree)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}
    await world("POST", "/api/v1/nodes", node)
    assert names(peer) == ["loud", "in-loud", "quiet", "in-quiet-2", "node"]
    assert [request.get("namespace") for request in requests(peer)] == ["loud", "loud", "quiet", "quiet", None]


async def test_an_object_selects_by_its_labels_before_or_after(world: World) -> None:
    peer = await world.hook(answering(), objectSelector={"matchLabels": {"a": "b"}})
    await world.create("plain")
    await world.create("other")
    for name, labels in (("other", {"a": "b"}), ("other", {"a": None}), ("other", {"c": "d"})):
        await world("PATCH", f"{CONFIG_MAPS}/{name}", {"metadata": {"labels": labels}}, kind=MERGE)
    assert names(peer) == ["other", "other"]


def _two_versions() -> Object:
    made = definition()
    first = made["spec"]["versions"][0]
    return definition(versions=[first, {**first, "name": "v2", "storage": False}])


@pytest.mark.parametrize(("policy", "asked"), [("Equivalent", 1), ("Exact", 0)])
async def test_another_version_of_a_resource_matches_and_is_shown_as_the_rule_has_it(
    world: World, policy: str, asked: int
) -> None:
    await world("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _two_versions())
    rules = [rule("widgets", groups=("example.com",), versions=("v1",))]
    patch = [{"op": "add", "path": "/spec/size", "value": 7}]
    peer = await world.hook(answering(patch=patch), mutates=True, rules=rules, matchPolicy=policy)
    tree = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    answer = await world("POST", "/apis/example.com/v2/namespaces/default/widgets", tree)
    assert answer.body["apiVersion"] == "example.com/v2"
    assert answer.body["spec"] == {"size": 7 if asked else 1}
    assert len(peer.asked) == asked
    for request in requests(peer):
        assert request["object"]["apiVersion"] == "example.com/v1"
        assert (request["kind"]["version"], request["resource"]["version"]) == ("v1", "v1")
        assert (request["requestKind"]["version"], request["requestResource"]["version"]) == ("v2", "v2")


async def test_the_same_object_in_another_group_or_shape_matches_too(world: World) -> None:
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 50,
        },
    }
    rules = [rule("horizontalpodautoscalers", groups=("autoscaling",), versions=("v2",))]
    patch = [{"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 60}]
    peer = await world.hook(answering(patch=patch), mutates=True, rules=rules)
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
    answer = await world("POST", path, scaler)
    assert answer.body["spec"]["targetCPUUtilizationPercentage"] == 60
    assert requests(peer)[0]["object"]["spec"]["metrics"][0]["type"] == "Resource"


async def test_subresources_match_only_where_a_rule_names_them_and_show_their_own_kind(world: World) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    path = "/apis/apps/v1/namespaces/default/deployments"
    plain = await world.hook(answering(), name="a", rules=[rule("deployments", groups=("apps",))])
    below = await world.hook(answering(), name="b", rules=[rule("*/scale", groups=("*",))])
    patch = [{"op": "replace", "path": "/spec/replicas", "value": 5}]
    await world.hook(answering(patch=patch), mutates=True, rules=[rule("deployments/scale", groups=("apps",))])
    await world("POST", path, deployment)
    answer = await world("PATCH", f"{path}/d/scale", {"spec": {"replicas": 3}}, kind=MERGE)
    assert answer.body["spec"]["replicas"] == 5
    assert (await world("GET", f"{path}/d")).body["spec"]["replicas"] == 5
    assert len(plain.asked) == 1
    request = requests(below)[0]
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert request["resource"] == {"group": "apps", "version": "v1", "resource": "deployments"}
    assert (request["subResource"], request["requestSubResource"]) == ("scale", "scale")
    assert (request["object"]["kind"], request["object"]["spec"]["replicas"]) == ("Scale", 5)
    assert (request["oldObject"]["kind"], request["oldObject"]["spec"]["replicas"]) == ("Scale", 1)


async def test_what_is_posted_to_a_pod_and_who_connects_to_it_can_be_refused(world: World) -> None:
    pods = "/api/v1/namespaces/default/pods"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await world("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    answer = await world("POST", pods, pod)
    assert answer.status == 201, answer.body
    peer = await world.hook(answering(allowed=False), rules=[rule("pods/*", "serviceaccounts/token")])
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"name": "n"}}
    assert (await world("POST", f"{pods}/p/eviction", eviction)).status == 400
    assert (await world("POST", f"{pods}/p/binding", binding)).status == 400
    answer = await world("POST", f"{pods}/p/exec", query="command=ls&command=-l&stdout=true&container=c")
    assert "denied the request" in answer.body["message"]
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["x"]}}
    assert (await world("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", token)).status == 400
    kinds = [(request["operation"], request["kind"]["kind"], request["subResource"]) for request in requests(peer)]
    assert kinds == [
        ("CREATE", "Eviction", "eviction"),
        ("CREATE", "Binding", "binding"),
        ("CONNECT", "PodExecOptions", "exec"),
        ("CREATE", "TokenRequest", "token"),
    ]
    assert requests(peer)[2]["object"] == {
        "kind": "PodExecOptions",
        "apiVersion": "v1",
        "command": ["ls", "-l"],
        "stdout": True,
        "container": "c",
    }
    assert (await world("GET", f"{pods}/p")).body["spec"].get("nodeName") is None


async def test_webhooks_cannot_lock_themselves_in_nor_judge_reviews(world: World) -> None:
    peer = await world.hook(answering(allowed=False), rules=[EVERYTHING])
    await world.hook(answering(allowed=False), mutates=True, rules=[EVERYTHING], name="m")
    assert (await world.create()).status == 400
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }
    assert (await world("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)).status == 201
    for kind, name in (("validating", "w"), ("mutating", "m")):
        path = f"{REGISTRATION}/{kind}webhookconfigurations/{name}"
        assert (await world("DELETE", path)).status == 200
    assert peer.asked == []
    assert (await world.create()).status == 201


@pytest.mark.parametrize(
    ("expressions", "policy", "status", "asked"),
    [
        (["object.metadata.name == 'a'", "request.operation == 'CREATE'"], "Fail", 201, 1),
        (["object.metadata.name == 'b'"], "Fail", 201, 0),
        (["request.userInfo.username == 'system:admin' && request.resource.resource == 'configmaps'"], "Fail", 201, 1),
        (["object.nothing.there == 1"], "Fail", 403, 0),
        (["object.nothing.there == 1"], "Ignore", 201, 0),
        (["object.nothing.there == 1", "false"], "Fail", 201, 0),
        (["authorizer.group('').resource('pods').check('get').allowed()"], "Fail", 201, 1),
        (["oldObject == null && object.data.size() == 0"], "Fail", 403, 0),
    ],
)
async def test_conditions_leave_a_webhook_out(
    world: World, expressions: list[str], policy: str, status: int, asked: int
) -> None:
    conditions = [{"name": f"c{at}", "expression": text} for at, text in enumerate(expressions)]
    peer = await world.hook(answering(), matchConditions=conditions, failurePolicy=policy)
    answer = await world("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert (answer.status, len(peer.asked)) == (status, asked)
    if status == 403:
        assert answer.body["message"].startswith(
            f"configmaps \"a\" is forbidden: expression '{expressions[0]}' resulted in error: "
        )


async def test_a_webhook_may_speak_the_older_version_of_which_less_is_demanded(world: World) -> None:
    patch = [{"op": "add", "path": "/data/x", "value": "y"}]
    versions = ["v3", "v1beta1", "v1"]
    peer = await world.hook(answering(uid="", patch=patch), mutates=True, admissionReviewVersions=versions)
    assert (await world.create(k="v")).body["data"] == {"k": "v", "x": "y"}
    assert json.loads(peer.asked[0].body)["apiVersion"] == "admission.k8s.io/v1beta1"


async def test_a_patch_and_an_apply_are_shown_as_what_they_do(world: World) -> None:
    peer = await world.hook(answering())
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    apply = "application/apply-patch+yaml"
    await world("PATCH", f"{CONFIG_MAPS}/a", config, query="fieldManager=m&force=true", kind=apply)
    await world("PATCH", f"{CONFIG_MAPS}/a", {"data": {"k": "w"}}, kind=MERGE)
    shown = [(request["operation"], request["options"]["kind"]) for request in requests(peer)]
    assert shown == [("CREATE", "CreateOptions"), ("UPDATE", "UpdateOptions")]
    assert requests(peer)[0]["options"]["fieldManager"] == "m"
    assert requests(peer)[1]["oldObject"]["data"] == {"k": "v"}
