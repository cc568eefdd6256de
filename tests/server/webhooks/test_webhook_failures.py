"""Webhooks that fail: the documented outcome for each, by their failure policy, and no request left hanging."""

import asyncio
import json
from base64 import b64encode

import pytest
from tests.server.outbound.peer import Answer as Behaviour
from tests.server.outbound.peer import Asked, identity, response, saying, silence
from tests.server.webhooks.world import World, answering, bundle, new_world, requests, webhook

CALLING = 'failed calling webhook "h.example.com": '


def _review(**fields: object) -> bytes:
    body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"} | fields
    return response(json.dumps(body).encode())


NO_STRUCT = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type "
    'struct {{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }}'
)
# What a webhook answers, and what is said of it.
LIES: dict[str, tuple[Behaviour, str]] = {
    "not JSON": (saying(response(b"hello")), f"failed to call webhook: {NO_STRUCT.format('string')}"),
    "a list": (saying(response(b"[]")), f"failed to call webhook: {NO_STRUCT.format('array')}"),
    "nothing": (
        saying(response(b"")),
        "failed to call webhook: 0-length response with status code: 200 and content type: application/json",
    ),
    "an empty object": (saying(response(b"{}")), "received invalid webhook response: webhook response was absent"),
    "no response": (saying(_review()), "received invalid webhook response: webhook response was absent"),
    "another kind": (
        saying(_review(kind="Pod", apiVersion="v1", response={})),
        'failed to call webhook: no kind "Pod" is registered for version "v1"',
    ),
    "another version": (
        saying(_review(apiVersion="admission.k8s.io/v1beta1", response={})),
        "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ),
    "no kind": (
        answering(),
        "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
        "Kind=AdmissionReview, got /, Kind=",
    ),
    "another uid": (
        answering(uid="u2"),
        'received invalid webhook response: expected response.uid="{uid}", got "u2"',
    ),
    "a text for allowed": (
        answering(allowed="yes"),
        "failed to call webhook: json: cannot unmarshal string into Go struct field "
        "AdmissionResponse.response.allowed of type bool",
    ),
    "a patch from who may not": (
        answering(patch="e30="),
        "received invalid webhook response: validating webhook may not return response.patch",
    ),
    "a patch type from who may not": (
        answering(patchType="JSONPatch"),
        "received invalid webhook response: validating webhook may not return response.patchType",
    ),
    "500": (
        saying(response(b"boom", 500, "Content-Type: text/plain")),
        'failed to call webhook: an error on the server ("boom") has prevented the request from succeeding',
    ),
    "503": (
        saying(response(b"", 503)),
        "failed to call webhook: the server is currently unable to handle the request",
    ),
    "a redirect": (
        saying(response(b"", 307, "Location: https://127.0.0.1:1/other")),
        "failed to call webhook: the server responded with the status code 307 but did not return more information",
    ),
    "a Status": (
        saying(response(b'{"kind":"Status","message":"no such path"}', 404)),
        "failed to call webhook: no such path",
    ),
}


async def _without_kind(asked: Asked, writer: asyncio.StreamWriter) -> None:
    uid = json.loads(asked.body)["request"]["uid"]
    writer.write(response(json.dumps({"response": {"uid": uid, "allowed": True}}).encode()))


@pytest.mark.parametrize("case", LIES)
async def test_an_answer_that_is_none_fails_the_request_or_is_left_out(world: World, case: str) -> None:
    behaviour, why = LIES[case]
    behaviour = _without_kind if case == "no kind" else behaviour
    peer = await world.hook(behaviour)
    answer = await world.create()
    why_now = why.replace("{uid}", requests(peer)[0]["uid"])
    assert answer.status == 500
    assert answer.body["message"] == f"Internal error occurred: {CALLING}{why_now}"
    assert answer.body["reason"] == "InternalError"
    assert (await world("GET", "/api/v1/namespaces/default/configmaps/a")).status == 404
    await world("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w")
    await world.register(webhook(peer, failurePolicy="Ignore"))
    assert (await world.create()).status == 201
    assert world.annotations["failed-open.validating.webhook.admission.k8s.io/round_0_index_0"] == "h.example.com"


BAD_PATCHES = {
    "no base64": ("!!", "JSONPatch", f"{CALLING}failed to call webhook: illegal base64 data in response.patch"),
    "no JSON": (
        b64encode(b"hello").decode(),
        "JSONPatch",
        f"{CALLING}received undecodable patch in webhook response: "
        "invalid character 'h' looking for beginning of value",
    ),
    "no type": (
        "W10=",
        None,
        f"{CALLING}received invalid webhook response: webhook returned response.patch but not response.patchType",
    ),
    "a type alone": (
        None,
        "JSONPatch",
        f"{CALLING}received invalid webhook response: webhook returned response.patchType but not response.patch",
    ),
    "an unknown type": (
        b64encode(b'[{"op":"add","path":"/data/x","value":"y"}]').decode(),
        "MergePatch",
        f'{CALLING}unsupported patch type "MergePatch"',
    ),
    "no such place": (
        b64encode(b'[{"op":"remove","path":"/data/nope"}]').decode(),
        "JSONPatch",
        "error in remove for path: '/data/nope': Unable to remove nonexistent key: nope: missing value",
    ),
    "a wrong type": (
        b64encode(b'[{"op":"add","path":"/data","value":7}]').decode(),
        "JSONPatch",
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string",
    ),
    "another kind": (
        b64encode(b'[{"op":"replace","path":"/kind","value":"Secret"}]').decode(),
        "JSONPatch",
        "admission must not change the kind or apiVersion of a ConfigMap of v1",
    ),
}


@pytest.mark.parametrize("case", BAD_PATCHES)
async def test_a_bad_patch_fails_the_request(world: World, case: str) -> None:
    patch, kind, why = BAD_PATCHES[case]
    fields = {name: value for name, value in (("patch", patch), ("patchType", kind)) if value is not None}
    await world.hook(answering(**fields), mutates=True)
    answer = await world.create(a="b")
    assert answer.status == 500
    assert answer.body["message"] == f"Internal error occurred: {why}"


@pytest.mark.parametrize("mutates", [False, True])
@pytest.mark.parametrize("begins", ["nothing", "half an answer"])
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_a_webhook_that_hangs_costs_its_timeout_and_no_more(
    world: World, begins: str, policy: str, mutates: bool
) -> None:
    behaviour = silence if begins == "nothing" else saying(response(b"{", length=99))
    peer = await world.hook(behaviour, mutates=mutates, timeoutSeconds=3, failurePolicy=policy)
    request = asyncio.ensure_future(world.create())
    await peer.was_asked.wait()
    assert peer.asked[0].target == "/x?timeout=3s"
    world.clock.advance(2.9)
    await asyncio.sleep(0.05)
    assert not request.done()
    world.clock.advance(0.2)
    answer = await request
    if policy == "Ignore":
        assert answer.status == 201
    else:
        assert answer.status == 500
        assert answer.body["message"].endswith("context deadline exceeded")


async def test_a_dead_webhook_and_one_with_a_wrong_certificate_are_named_with_the_reason() -> None:
    async def scenario(world: World) -> None:
        peer = await world.hook(answering())
        await peer.__aexit__()
        answer = await world.create()
        url = f"{peer.url}/x?timeout=10s"
        refused = f"dial tcp 127.0.0.1:{peer.port}: connect: connection refused"
        assert answer.body["message"] == (
            f'Internal error occurred: {CALLING}failed to call webhook: Post "{url}": {refused}'
        )

    async def with_certificate(world: World) -> None:
        peer = await world.peer(answering(), identity(("elsewhere.example",)))
        await world.register(webhook(peer))
        answer = await world.create()
        assert answer.status == 500
        assert "x509: certificate is not valid for '127.0.0.1'" in answer.body["message"]
        assert peer.asked == []

    async with new_world() as world:
        await scenario(world)
    async with new_world() as world:
        await with_certificate(world)


async def test_a_service_is_found_where_it_is_said_to_be_and_not_found_before(world: World) -> None:
    service = {"namespace": "shop", "name": "hook", "path": "/admit", "port": 8443}
    peer = await world.peer(answering(), identity(("hook.shop.svc",)))
    await world.register(webhook(peer, clientConfig={"service": service, "caBundle": bundle()}))
    url = "https://hook.shop.svc:8443/admit?timeout=10s"
    answer = await world.create()
    why = f'failed to call webhook: Post "{url}": service "hook" not found'
    assert answer.body["message"] == f"Internal error occurred: {CALLING}{why}"
    world.server.services.resolver.put("shop", "hook", "127.0.0.1", peer.port)
    assert (await world.create()).status == 201
    assert peer.asked[0].target == "/admit?timeout=10s"
    assert peer.asked[0].headers["host"] == "hook.shop.svc:8443"
    world.server.services.resolver.remove("shop", "hook")
    assert (await world.create("b")).status == 500


async def test_a_request_that_is_given_up_gives_up_its_webhooks(world: World) -> None:
    peer = await world.hook(silence)
    await world.register(webhook(await world.peer(silence)), name="another")
    request = asyncio.ensure_future(world.create())
    await peer.was_asked.wait()
    request.cancel()
    await asyncio.wait((request,))
    calls = [task for task in asyncio.all_tasks() if "outbound" in repr(task.get_coro())]
    assert calls == []
