"""What an attacker who reads the audit log may find: no secret, at any level, whatever was sent and whatever failed."""

import base64
import json
from typing import Any

import pytest
from tests.server.audit.audited import MAPS, SECRETS, audited

from setpoint.server.access.audit.policy import Level
from setpoint.server.access.audit.redaction import redacted, redacted_query

WORD = "hunter2-and-more"
CODED = base64.b64encode(WORD.encode()).decode()
SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s"},
    "type": "Opaque",
    "data": {"password": CODED},
}
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
PATCHES = {
    "merge": ("application/merge-patch+json", {"stringData": {"password": WORD}}),
    "strategic": ("application/strategic-merge-patch+json", {"data": {"password": CODED}}),
    "json": ("application/json-patch+json", [{"op": "replace", "path": "/data/password", "value": CODED}]),
    "whole": ("application/json-patch+json", [{"op": "test", "path": "", "value": SECRET}]),
    "apply": ("application/apply-patch+yaml", SECRET),
    "misspelt": ("application/merge-patch+json", {"dataa": {"password": WORD}}),
    "hidden": ("application/merge-patch+json", {"metadata": {"annotations": {APPLIED: json.dumps(SECRET)}}}),
    "odd": ("application/merge-patch+json", {"data": WORD, "metadata": WORD, "type": {"x": WORD}}),
    "text": ("application/merge-patch+json", WORD),
    "broken": ("application/merge-patch+json", f'{{"data": {{"password": "{CODED}"'.encode()),
}


@pytest.mark.parametrize("name", PATCHES)
async def test_a_patch_of_a_secret_is_not_shown(name: str) -> None:
    media_type, patch = PATCHES[name]
    async with audited() as server:
        assert (await server.ask(SECRETS, "POST", SECRET)).status == 201
        await server.ask(f"{SECRETS}/s?fieldManager=x&force=true", "PATCH", patch, content_type=media_type)
        assert server.last()["verb"] == "patch"
        assert_clean(server.text)


def assert_clean(text: str) -> None:
    for form in (WORD, CODED):
        assert form not in text


@pytest.mark.parametrize("accept", ["", TABLE, PARTIAL, "application/yaml"])
@pytest.mark.parametrize("path", [SECRETS, f"{SECRETS}?includeObject=Object", "/api/v1/secrets", f"{SECRETS}/s"])
async def test_a_secret_that_is_read_is_not_shown(accept: str, path: str) -> None:
    async with audited() as server:
        body = {**SECRET, "metadata": {"name": "s", "annotations": {APPLIED: json.dumps(SECRET)}}}
        await server.ask(SECRETS, "POST", body)
        headers = {"accept": accept} if accept else {}
        await server.ask(path, **headers)
        assert server.last()["verb"] in ("get", "list")
        assert_clean(server.text)


MISTAKES: dict[str, Any] = {
    "no kind": {"metadata": {"name": "s"}, "data": {"password": CODED}},
    "another kind": {**SECRET, "kind": "ConfigMap"},
    "an unknown field": {**SECRET, "extra": WORD},
    "a value of another type": {**SECRET, "data": {"password": {"a": WORD}}},
    "a value that is not encoded": {**SECRET, "data": {"password": f"{WORD} %"}},
    "a key that is none": {**SECRET, "data": {"a b": CODED}},
    "no object": WORD,
    "a list": [SECRET],
    "several": {"kind": "SecretList", "apiVersion": "v1", "items": [SECRET]},
    "a part": f'{{"data": {{"password": "{CODED}"'.encode(),
    "another encoding": f"data: {{password: {WORD}: x}}".encode(),
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("content_type", ["application/json", "application/yaml"])
async def test_a_secret_that_could_not_be_created_is_not_shown(name: str, content_type: str) -> None:
    async with audited() as server:
        path = f"{SECRETS}?fieldValidation=Strict"
        await server.ask(path, "POST", MISTAKES[name], content_type=content_type)
        event = server.last()
        assert event["verb"] == "create"
        assert event["responseStatus"]["code"]
        assert_clean(server.text)


MISPLACED: dict[str, Any] = {
    "as it is": SECRET,
    "in a list": {"kind": "List", "apiVersion": "v1", "items": [SECRET]},
    "with a wrong type": {**SECRET, "data": {"a": [WORD]}, "stringData": WORD},
    "cut off": f'{{"kind": "Secret", "data": {{"password": "{WORD}'.encode(),
    "not JSON": f"kind: Secret\nstringData: {WORD}".encode(),
}


@pytest.mark.parametrize("level", ["Metadata", "Request", "RequestResponse"])
@pytest.mark.parametrize("name", MISPLACED)
async def test_a_secret_that_was_sent_to_the_wrong_place_is_not_shown(name: str, level: Level) -> None:
    async with audited(level) as server:
        await server.ask(f"{MAPS}?fieldValidation=Strict", "POST", MISPLACED[name])
        assert server.last()["responseStatus"]["code"] == 400
        assert_clean(server.text)


async def test_a_conflict_or_an_absent_secret_still_says_what_happened() -> None:
    async with audited() as server:
        for _ in range(2):
            await server.ask(SECRETS, "POST", SECRET)
        assert server.last()["responseStatus"]["message"] == 'secrets "s" already exists'
        assert server.last()["requestObject"]["data"] == {"password": "<redacted>"}
        await server.ask(f"{SECRETS}/t")
        assert server.last()["responseStatus"]["message"] == 'secrets "t" not found'
        assert_clean(server.text)


async def test_a_token_under_review_is_not_shown() -> None:
    async with audited() as server:
        for body in (
            {"spec": {"token": "janes-token", "audiences": ["a"]}},
            {"spec": {"token": WORD}, "extra": WORD},
            {"Spec": {"Token": WORD}, "status": {"token": WORD}},
            {"spec": WORD},
        ):
            await server.ask("/apis/authentication.k8s.io/v1/tokenreviews", "POST", body)
            assert server.last()["objectRef"]["resource"] == "tokenreviews"
        assert "janes-token" not in server.text
        assert_clean(server.text)


async def test_a_token_that_was_made_is_not_shown() -> None:
    async with audited() as server:
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await server.ask(accounts, "POST", {"metadata": {"name": "x"}})
        response = await server.ask(f"{accounts}/x/token", "POST", {"spec": {"expirationSeconds": 3600}})
        assert isinstance(response.body, bytes)
        answered = json.loads(response.body)
        event = server.last()
        assert event["requestObject"]["spec"]["expirationSeconds"] == 3600
        token = answered.get("status", {}).get("token", "no token at all")
        assert token not in server.text


async def test_the_credentials_of_a_request_are_not_shown_wherever_they_were_put() -> None:
    async with audited() as server:
        for query in (f"token={WORD}", f"access_token={WORD}&limit=5", f"to%6ben={WORD}", f"Authorization={WORD}"):
            await server.ask(f"{MAPS}?{query}", authorization=f"Bearer {WORD}", cookie=WORD, x_token=WORD)
            assert "<redacted>" in server.last()["requestURI"]
        assert_clean(server.text)
        assert "admins-token" not in server.text


def test_a_query_without_credentials_is_shown_as_it_is() -> None:
    query = "limit=5&continue=eyJ2IjoibWV0&labelSelector=a%3Db&watch"
    assert redacted_query(query) == query
    assert redacted_query(f"{query}&token=x") == f"{query}&token=<redacted>"


def test_what_is_redacted_leaves_the_original_alone() -> None:
    body = json.loads(json.dumps(SECRET))
    assert redacted(body) != SECRET
    assert body == SECRET


PAST = "/apis/setpoint.dev/v1"
HISTORIES = [
    f"{PAST}/namespaces/default/secrets/s/history",
    f"{PAST}/namespaces/default/secrets/s/history?limit=1",
    f"{PAST}/revisions?objects=true",
    f"{PAST}/revisions",
    f"{SECRETS}/s?at={{revision}}",
    f"{SECRETS}?resourceVersion={{revision}}&resourceVersionMatch=Exact",
]


@pytest.mark.parametrize("path", HISTORIES)
@pytest.mark.parametrize("accept", ["", TABLE, "application/yaml"])
async def test_a_secret_in_the_past_is_not_shown(path: str, accept: str) -> None:
    async with audited() as server:
        made = await server.ask(SECRETS, "POST", SECRET)
        revision = json.loads(made.body)["metadata"]["resourceVersion"]  # type: ignore[arg-type]
        patch = {"stringData": {"password": f"{WORD}-again"}}
        await server.ask(f"{SECRETS}/s", "PATCH", patch, content_type="application/merge-patch+json")
        response = await server.ask(path.format(revision=revision), **({"accept": accept} if accept else {}))
        assert response.status == 200
        if "revisions" in path or "history" in path:
            assert set(server.last()["responseObject"]) == {"kind", "apiVersion", "metadata"}
        assert_clean(server.text)


async def test_a_refused_question_about_the_past_still_says_why() -> None:
    async with audited() as server:
        await server.ask(f"{PAST}/namespaces/default/secrets/absent/history")
        assert server.last()["responseStatus"]["message"] == 'secrets "absent" not found'
        assert server.last()["responseObject"]["kind"] == "Status"


INSIDE: dict[str, Any] = {
    "a field": {"spec": {"template": SECRET}},
    "a list in a field": {"spec": {"objects": [{"kind": "List", "items": [SECRET]}]}},
    "a list of secrets without kinds": {
        "kind": "SecretList",
        "items": [{"data": {"password": CODED}}],
        "note": WORD,
    },
    "a conversion": {"kind": "ConversionReview", "request": {"objects": [SECRET]}},
    "an admission": {"kind": "AdmissionReview", "request": {"object": SECRET, "oldObject": SECRET}},
    "a patch": [{"op": "add", "path": "/spec", "value": SECRET}],
    "what was applied": {"metadata": {"annotations": {APPLIED: json.dumps({"kind": "X", "spec": SECRET})}}},
    "a watch": {"type": "ADDED", "object": SECRET},
    "a token": {"spec": {"review": {"kind": "TokenReview", "spec": {"token": WORD}}}},
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_claims_to_be_secret_is_redacted_wherever_it_lies(name: str) -> None:
    assert_clean(json.dumps(redacted(INSIDE[name])))


async def test_what_goes_through_a_proxy_is_not_shown() -> None:
    async with audited() as server:
        await server.ask("/api/v1/namespaces/default/services/x/proxy/login", "POST", {"password": WORD})
        assert server.last()["objectRef"]["subresource"] == "proxy"
        assert "requestObject" not in server.last()
        assert_clean(server.text)
