"""Answers that were compared with those of a real kube-apiserver 1.37: the behaviours that no recorded scenario has."""

from typing import Any

import pytest
from tests.server.write.api import CONFIG_MAPS, DEFINITIONS, WIDGETS, Api, definition, widget

from setpoint.server.request.context import Context

STRATEGIC = "application/strategic-merge-patch+json"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONTROLLERS = "/api/v1/namespaces/default/replicationcontrollers"
SERVICES = "/api/v1/namespaces/default/services"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
ADMIN_ACCESS = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}]}}


def deployment() -> dict[str, Any]:
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    return {"metadata": {"name": "d"}, "spec": spec}


@pytest.mark.parametrize(("number", "replicas"), [("2.0", 2), ("1e1", 10), ("-0.0", 0), ("3", 3)])
async def test_a_strategic_patch_may_write_an_integer_as_a_fraction(api: Api, number: str, replicas: int) -> None:
    assert (await api("POST", DEPLOYMENTS, deployment())).status == 201
    for path in (f"{DEPLOYMENTS}/d/scale", f"{DEPLOYMENTS}/d"):
        answer = await api("PATCH", path, f'{{"spec":{{"replicas":{number}}}}}'.encode(), kind=STRATEGIC)
        assert answer.status == 200
        assert answer.body["spec"].get("replicas", 0) == replicas


async def test_a_fraction_is_no_integer_in_any_patch(api: Api) -> None:
    assert (await api("POST", DEPLOYMENTS, deployment())).status == 201
    answer = await api("PATCH", f"{DEPLOYMENTS}/d", b'{"spec":{"replicas":2.5}}', kind=STRATEGIC)
    why = 'Invalid value: "map[spec:map[replicas:2.5]]": cannot convert float64 to int32'
    assert (answer.status, answer.body["details"]["causes"][0]["message"]) == (422, why)
    assert (await api.merge(f"{DEPLOYMENTS}/d", {"spec": {"replicas": 2.5}})).status == 422
    assert (await api("PATCH", f"{DEPLOYMENTS}/d", b'{"spec":{"replicas":1e40}}', kind=STRATEGIC)).status == 422


async def test_a_replication_controller_orphans_its_pods_unless_asked_otherwise(api: Api) -> None:
    for name, query, finalizers in (("a", "", ["orphan"]), ("b", "propagationPolicy=Background", None)):
        made = await api("POST", CONTROLLERS, {"metadata": {"name": name}, "spec": {"template": TEMPLATE}})
        assert "minReadySeconds" not in made.body["spec"]
        assert "f:replicas" in made.body["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
        answer = await api("DELETE", f"{CONTROLLERS}/{name}", query=query)
        assert answer.body["metadata"].get("finalizers") == finalizers


async def test_endpoints_keep_their_order_and_every_request_warns(api: Api) -> None:
    path = "/api/v1/namespaces/default/endpoints"
    subset = {"addresses": [{"ip": "10.1.1.2"}, {"ip": "10.1.1.1"}], "ports": [{"port": 80}]}
    made = await api("POST", path, {"metadata": {"name": "e"}, "subsets": [subset]})
    assert [each["ip"] for each in made.body["subsets"][0]["addresses"]] == ["10.1.1.2", "10.1.1.1"]
    warning = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    wrong = {"subsets": [{"addresses": [{"ip": "x"}], "ports": [{"port": 1}]}]}
    refused = await api.merge(f"{path}/e", wrong)
    assert len(refused.body["details"]["causes"]) == 2
    answers = [made, refused, await api("GET", f"{path}/e"), await api("GET", path)]
    answers.append(await api("DELETE", f"{path}/e"))
    assert [answer.warnings for answer in answers] == [[warning]] * 5


async def test_an_apply_with_another_uid_is_an_invalid_change(api: Api) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    other = {**config, "metadata": {"name": "x", "uid": "abc"}}
    assert (await api.apply(f"{CONFIG_MAPS}/x", other)).status == 409  # there is no object yet
    assert (await api.apply(f"{CONFIG_MAPS}/x", config)).status == 201
    refused = await api.apply(f"{CONFIG_MAPS}/x", other)
    assert refused.status == 422
    assert refused.body["details"]["causes"][0]["message"] == 'Invalid value: "abc": field is immutable'


async def test_strict_decoding_reports_fields_in_the_order_of_the_body(api: Api) -> None:
    body = b'{"metadata":{"name":"s","zz":1,"name":"s","aa":2},"unk":1,"data":{"a":"1","a":"2"},"beta":{"x":1}}'
    faults = [
        *('unknown field "metadata.zz"', 'duplicate field "metadata.name"', 'unknown field "metadata.aa"'),
        *('unknown field "unk"', 'duplicate field "data.a"', 'unknown field "beta"'),
    ]
    refused = await api("POST", CONFIG_MAPS, body, query="fieldValidation=Strict")
    assert refused.body["message"].endswith(f"strict decoding error: {', '.join(faults)}")
    warned = await api("POST", CONFIG_MAPS, body, query="fieldValidation=Warn")
    assert warned.warnings == ['299 - "{}"'.format(fault.replace('"', '\\"')) for fault in faults]
    patch = {"metadata": {"zz": 1, "aa": 2}, "b": 1, "a": 2}
    refused = await api("PATCH", f"{CONFIG_MAPS}/s", patch, kind=STRATEGIC, query="fieldValidation=Strict")
    names = ", ".join(f'unknown field "{name}"' for name in ("a", "b", "metadata.aa", "metadata.zz"))
    assert refused.body["message"].endswith(f"strict decoding error: {names}")


async def test_faults_of_a_body_are_warned_of_unless_they_are_ignored(api: Api) -> None:
    await api("POST", CONFIG_MAPS, {"metadata": {"name": "s"}})
    unknown = ['299 - "unknown field \\"zz\\""']
    patches = [
        (STRATEGIC, {"zz": 1}),
        ("application/merge-patch+json", {"zz": 1}),
        ("application/json-patch+json", [{"op": "add", "path": "/zz", "value": 1}]),
    ]
    for kind, patch in patches:
        for validation, warnings in (("Warn", unknown), ("Ignore", [])):
            answer = await api("PATCH", f"{CONFIG_MAPS}/s", patch, kind=kind, query=f"fieldValidation={validation}")
            assert (answer.status, answer.warnings) == (200, warnings)
    for name, (validation, warnings) in {"w": ("Warn", unknown), "i": ("Ignore", [])}.items():
        answer = await api(
            "POST", CONFIG_MAPS, {"metadata": {"name": name}, "zz": 1}, query=f"fieldValidation={validation}"
        )
        assert (answer.status, answer.warnings) == (201, warnings)


async def test_admin_access_to_devices_needs_a_label_of_the_namespace(api: Api) -> None:
    labels = {"resource.kubernetes.io/admin-access": "true"}
    assert (await api("POST", "/api/v1/namespaces", {"metadata": {"name": "adm", "labels": labels}})).status == 201
    claim = {"metadata": {"name": "c"}, "spec": ADMIN_ACCESS}
    template = {"metadata": {"name": "c"}, "spec": {"spec": ADMIN_ACCESS}}
    for path, body in ((CLAIMS, claim), (CLAIMS.replace("claims", "claimtemplates"), template)):
        refused = await api("POST", path.format("default"), body)
        (cause,) = refused.body["details"]["causes"]
        assert (refused.status, cause["field"]) == (422, "spec.devices.requests[0].adminAccess")
        assert (await api("POST", path.format("adm"), body)).status == 201
    result = {"request": "r", "driver": "d.io", "pool": "p", "device": "x", "adminAccess": True}
    status = {"status": {"allocation": {"devices": {"results": [result]}}}}
    plain = {"metadata": {"name": "p"}, "spec": {"devices": {}}}
    assert (await api("POST", CLAIMS.format("default"), plain)).status == 201
    refused = await api.merge(f"{CLAIMS.format('default')}/p/status", status)
    fields = [cause["field"] for cause in refused.body["details"]["causes"]]
    assert "status.allocation.devices.results[0].adminAccess" in fields


async def test_a_service_that_becomes_a_name_loses_its_internal_policy(api: Api) -> None:
    spec = {"ports": [{"port": 80}]}
    assert (await api("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})).status == 201
    changed = await api.merge(f"{SERVICES}/s", {"spec": {"type": "ExternalName", "externalName": "x.y"}})
    assert set(changed.body["spec"]) == {"externalName", "ports", "sessionAffinity", "type"}
    back = await api.merge(f"{SERVICES}/s", {"spec": {"type": "ClusterIP", "externalName": None}})
    assert back.body["spec"]["internalTrafficPolicy"] == "Cluster"


async def test_a_negative_scale_names_the_field_of_the_custom_resource(api: Api) -> None:
    made = definition()
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    made["spec"]["versions"][0]["subresources"] = {"status": {}, "scale": scale}
    assert (await api("POST", DEFINITIONS, made)).status == 201
    assert (await api("POST", WIDGETS, widget("w"))).status == 201
    refused = await api.merge(f"{WIDGETS}/w/scale", {"spec": {"replicas": -5}})
    assert refused.body["details"] == {
        "name": "w",
        "group": "example.com",
        "kind": "Widget",
        "causes": [
            {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: -5: should be a non-negative integer",
                "field": ".spec.size",
            }
        ],
    }
    # What follows the name of the subresource has no meaning.
    assert (await api("GET", f"{WIDGETS}/w/status/x")).body["metadata"]["name"] == "w"


async def test_an_aggregation_rule_with_a_wrong_selector_has_a_cause_for_the_whole_selector(api: Api) -> None:
    rule = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Bad"}]}, {}]}
    role = {"metadata": {"name": "ag"}, "aggregationRule": rule}
    refused = await api("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
    path = "aggregationRule.clusterRoleSelectors[0]"
    assert [(cause["field"], cause["message"]) for cause in refused.body["details"]["causes"]] == [
        (f"{path}.matchExpressions[0].operator", 'Invalid value: "Bad": not a valid selector operator'),
        (path, "Invalid value: null: invalid label selector."),
    ]


async def test_a_config_map_that_is_too_large_has_a_cause_with_a_field(api: Api) -> None:
    refused = await api("POST", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"a": "x" * 1_100_000}})
    why = "Too long: may not be more than 1048576 bytes"
    cause = {"reason": "FieldValueTooLong", "message": why, "field": "[]"}
    assert (refused.status, refused.body["details"]["causes"]) == (422, [cause])


async def test_the_request_for_a_token_owns_its_spec_alone(api: Api) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    assert (await api("POST", path, {"metadata": {"name": "a"}})).status == 201
    made = await api("POST", f"{path}/a/token", {"spec": {"audiences": ["x"]}})
    (entry,) = made.body["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:spec": {"f:audiences": {}, "f:expirationSeconds": {}}}


PODS = "/api/v1/namespaces/default/pods"
FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"


def pod(*containers: str, **spec: Any) -> dict[str, Any]:
    made = [{"name": name, "image": "i"} for name in containers or ("c",)]
    return {"metadata": {"name": "p"}, "spec": {"automountServiceAccountToken": False, "containers": made, **spec}}


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("", 204, ""),
        ("container=c", 204, ""),
        ("container=x", 400, "container x is not valid for pod p"),
        ("tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        (
            "tailLines=-1&sinceSeconds=0",
            422,
            'PodLogOptions "p" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, '
            "sinceSeconds: Invalid value: 0: must be greater than 0]",
        ),
        (
            "sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
            422,
            'PodLogOptions "p" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be '
            "specified",
        ),
    ],
)
async def test_the_log_of_a_pod_without_a_node_is_empty(api: Api, query: str, status: int, message: str) -> None:
    assert (await api("POST", "/api/v1/namespaces/default/serviceaccounts", SERVICE_ACCOUNT)).status == 201
    assert (await api("POST", PODS, pod())).status == 201
    found = await api("GET", f"{PODS}/p/log", query=query)
    assert (found.status, found.body["message"] if message else found.body) == (status, message)


SERVICE_ACCOUNT = {"metadata": {"name": "default"}}


async def test_the_log_of_one_of_several_containers_needs_its_name(api: Api) -> None:
    assert (await api("POST", "/api/v1/namespaces/default/serviceaccounts", SERVICE_ACCOUNT)).status == 201
    assert (await api("POST", PODS, pod("c", "d"))).status == 201
    found = await api("GET", f"{PODS}/p/log")
    wanted = "a container name must be specified for pod p, choose one of: [c d]"
    assert (found.status, found.body["message"]) == (400, wanted)
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert (await api("POST", f"{PODS}/p/binding", binding)).status == 201
    bound = (await api("GET", f"{PODS}/p")).body["status"]["conditions"]
    time = "2026-01-02T03:04:05Z"
    wanted_condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": time}
    assert bound == [wanted_condition]
    found = await api("GET", f"{PODS}/p/log", query="container=c")
    assert (found.status, found.body["message"]) == (404, 'pods "n" not found')


async def test_a_flow_schema_tells_if_its_level_exists(api: Api) -> None:
    async def dangling(api: Api) -> tuple[str, str]:
        (condition,) = (await api("GET", f"{FLOW_SCHEMAS}/f")).body["status"]["conditions"]
        assert condition["type"] == "Dangling"
        return condition["status"], condition["reason"]

    spec = {"matchingPrecedence": 500, "priorityLevelConfiguration": {"name": "mine"}}
    assert (await api("POST", FLOW_SCHEMAS, {"metadata": {"name": "f"}, "spec": spec})).status == 201
    assert await dangling(api) == ("True", "NotFound")
    level = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    assert (await api("POST", LEVELS, {"metadata": {"name": "mine"}, "spec": level})).status == 201
    assert await dangling(api) == ("False", "Found")
    assert (await api("DELETE", f"{LEVELS}/mine")).status == 200
    assert await dangling(api) == ("True", "NotFound")
    await api.merge(f"{FLOW_SCHEMAS}/f", {"spec": {"priorityLevelConfiguration": {"name": "system"}}})
    assert await dangling(api) == ("False", "Found")
    entry = (await api("GET", f"{FLOW_SCHEMAS}/f")).body["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"], entry["subresource"]) == (
        *("api-priority-and-fairness-config-consumer-v1", "Apply", "status"),
    )


@pytest.mark.parametrize(
    ("certificate", "field", "message"),
    [
        ({"signerName": "a"}, "signerName", "must be a fully qualified domain and path"),
        ({"maxExpirationSeconds": 91 * 86400 + 1}, "maxExpirationSeconds", "must be <= 7862400"),
        (
            {"signerName": "kubernetes.io/x", "maxExpirationSeconds": 86401},
            "maxExpirationSeconds",
            "must be <= 86400",
        ),
        ({"userAnnotations": {"a": "b"}}, "userAnnotations", "must be a domain-prefixed key"),
        ({"userAnnotations": {"x.y/a": "b" * 262145}}, "userAnnotations", "Too long"),
        ({}, "", ""),
    ],
)
async def test_projected_certificates_of_pods_have_limits(
    api: Api, certificate: dict[str, Any], field: str, message: str
) -> None:
    assert (await api("POST", "/api/v1/namespaces/default/serviceaccounts", SERVICE_ACCOUNT)).status == 201
    source = {"signerName": "a.b/c", "keyType": "ED25519", "credentialBundlePath": "b", **certificate}
    volume = {"name": "v", "projected": {"sources": [{"podCertificate": source}]}}
    made = await api("POST", PODS, pod(volumes=[volume]))
    if not field:
        assert made.status == 201
        return
    (cause,) = made.body["details"]["causes"]
    assert cause["field"] == f"spec.volumes[0].projected.sources[0].podCertificate.{field}"
    assert message in cause["message"]


async def test_the_metadata_of_a_refused_review_is_shown_in_the_order_of_go(api: Api) -> None:
    path = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
    refused = await api("POST", path, {"metadata": {"annotations": {"y": "1"}}})
    message = next(cause["message"] for cause in refused.body["details"]["causes"] if cause["field"] == "metadata")
    begin = (
        'Invalid value: {"namespace":"default","annotations":{"y":"1"},"managedFields":[{"manager":"test","operation":'
    )
    assert message.startswith(begin)
    assert message.endswith("}}}}]}: must be empty except for namespace")


@pytest.mark.parametrize("patch", [{"apiVersion": "x"}, {"kind": "Other"}, {"apiVersion": "apps/v1", "kind": "Pod"}])
async def test_the_kind_in_a_strategic_patch_has_no_effect(api: Api, patch: dict[str, str]) -> None:
    assert (await api("POST", DEPLOYMENTS, deployment())).status == 201
    path = f"{DEPLOYMENTS}/d"
    answer = await api("PATCH", path, {**patch, "spec": {"replicas": 3}}, kind=STRATEGIC)
    assert (answer.status, answer.body["kind"], answer.body["spec"]["replicas"]) == (200, "Deployment", 3)
    # Other patches are decoded again.
    assert (await api.merge(path, patch)).status == 422


@pytest.mark.parametrize("body", [b"", b'[{"op":"replace","path":"/metada', b"{,}"])
@pytest.mark.parametrize("kind", ["application/json-patch+json", "application/merge-patch+json", STRATEGIC])
async def test_the_syntax_of_a_patch_is_checked_as_a_whole(api: Api, kind: str, body: bytes) -> None:
    assert (await api("POST", DEPLOYMENTS, deployment())).status == 201
    refused = await api("PATCH", f"{DEPLOYMENTS}/d", body, kind=kind)
    assert (refused.status, refused.body["message"]) == (400, "invalid JSON patch")


async def test_a_level_with_many_flow_schemas_gives_others_turns(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(120):
        spec = {"matchingPrecedence": 1000 + number, "priorityLevelConfiguration": {"name": "other"}}
        assert (await api("POST", FLOW_SCHEMAS, {"metadata": {"name": f"f{number}"}, "spec": spec})).status == 201
    pauses = 0
    pause = Context.pause

    async def counted(context: Context) -> None:
        nonlocal pauses
        pauses += 1
        await pause(context)

    monkeypatch.setattr(Context, "pause", counted)
    level = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    assert (await api("POST", LEVELS, {"metadata": {"name": "mine"}, "spec": level})).status == 201
    assert pauses >= 2
