"""Tokens of service accounts: how they are had, who they are, and when they stop being good."""

import base64
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from tests.server.authentication.asking import ACCOUNTS, ADMINS, JANES, PODS, Asking, bound_to, new_asking, pod

from setpoint.objects.tree import Object
from setpoint.server.access.authentication.settings import AuthenticationSettings, ServiceAccountSettings
from setpoint.server.access.authentication.token_issuer import Issuer
from setpoint.server.server_keys import ServerKeys

ISSUER = "https://kubernetes.default.svc.cluster.local"
CASES = yaml.safe_load((Path(__file__).parent / "cases" / "token_requests.yaml").read_text())
EXTRA = "authentication.kubernetes.io"


def part(token: str, place: int) -> Any:
    """A part of a token, without asking whether it is good."""
    text = token.split(".")[place]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def claims_of(token: str) -> Any:
    return part(token, 1)


def with_accounts(**changes: Any) -> AuthenticationSettings:
    return AuthenticationSettings(service_accounts=replace(ServiceAccountSettings(), **changes))


async def test_a_token_is_its_service_account(ask: Asking) -> None:
    account = await ask.account()
    answer = await ask.request()
    token = answer.body["status"]["token"]
    user = await ask.whoami(token)
    assert user == {
        "username": "system:serviceaccount:default:bot",
        "uid": account["metadata"]["uid"],
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
        "extra": {f"{EXTRA}/credential-id": [f"JTI={claims_of(token)['jti']}"]},
    }
    assert answer.status == 201
    assert answer.body["spec"] == {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None}
    assert answer.body["status"]["expirationTimestamp"] == "2026-01-02T04:04:05Z"
    metadata = answer.body["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("bot", "default")
    assert metadata["uid"] == account["metadata"]["uid"]


async def test_a_token_says_what_it_is_good_for(ask: Asking) -> None:
    account = await ask.account()
    claims = claims_of(await ask.token(expirationSeconds=1200, audiences=["vault", "db"]))
    now = int(ask.clock.now().timestamp())
    assert claims.pop("jti")
    assert claims == {
        "iss": ISSUER,
        "sub": "system:serviceaccount:default:bot",
        "aud": ["vault", "db"],
        "iat": now,
        "nbf": now,
        "exp": now + 1200,
        "kubernetes.io": {
            "namespace": "default",
            "serviceaccount": {"name": "bot", "uid": account["metadata"]["uid"]},
        },
    }


async def test_a_token_is_good_from_the_moment_it_is_issued_until_a_minute_after_its_end(ask: Asking) -> None:
    await ask.account()
    token = await ask.token(expirationSeconds=600)
    for seconds in (0, 600, 59):
        ask.clock.advance(seconds)
        assert await ask.whoami(token) is not None
    ask.clock.advance(2)
    assert await ask.whoami(token) is None
    assert (await ask.review(token)) == {"user": {}, "error": "service account token has expired"}


async def test_a_token_from_the_future_is_not_good_yet(tmp_path: Path) -> None:
    async with new_asking(directory=tmp_path) as ask:
        await ask.account()
        ask.clock.advance(3600)
        token = await ask.token()
        earlier = Asking(directory=tmp_path)  # with the same key, an hour before
        assert (await earlier.review(token))["error"] == "service account token is not valid yet"
        assert await earlier.whoami(token) is None


async def test_an_account_that_is_deleted_is_refused_with_the_next_request_and_so_is_its_namesake(ask: Asking) -> None:
    await ask.account()
    token = await ask.token()
    assert await ask.whoami(token) is not None
    assert (await ask("DELETE", f"{ACCOUNTS}/bot")).status == 200
    assert await ask.whoami(token) is None
    assert (await ask.review(token))["error"] == 'serviceaccounts "bot" not found'
    await ask.account()
    assert await ask.whoami(token) is None
    assert "does not match claim" in (await ask.review(token))["error"]
    assert await ask.whoami(await ask.token()) is not None


async def test_a_token_ends_with_the_pod_it_is_bound_to(ask: Asking) -> None:
    await ask.account()
    made = await ask.made(PODS, pod())
    token = await ask.token(boundObjectRef=bound_to("Pod", "a"))
    user = await ask.whoami(token)
    assert user["extra"][f"{EXTRA}/pod-name"] == ["a"]
    assert user["extra"][f"{EXTRA}/pod-uid"] == [made["metadata"]["uid"]]
    assert (await ask("DELETE", f"{PODS}/a", query="gracePeriodSeconds=0")).status == 200
    assert await ask.whoami(token) is None
    assert (await ask.review(token))["error"] == "service account token has been invalidated"
    await ask.made(PODS, pod())
    assert await ask.whoami(token) is None
    assert "does not match service account pod ref claim" in (await ask.review(token))["error"]


async def test_a_pod_that_is_being_deleted_keeps_its_token_for_a_minute_more(ask: Asking) -> None:
    await ask.account()
    held = pod()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await ask.made(PODS, held)
    token = await ask.token(boundObjectRef=bound_to("Pod", "a"))
    assert (await ask("DELETE", f"{PODS}/a", query="gracePeriodSeconds=0")).status in (200, 202)
    ask.clock.advance(59)
    assert await ask.whoami(token) is not None
    ask.clock.advance(2)
    assert await ask.whoami(token) is None


async def test_the_token_of_a_pod_on_a_node_tells_the_node_but_does_not_end_with_it(ask: Asking) -> None:
    await ask.account()
    node = await ask.made("/api/v1/nodes", {"metadata": {"name": "n1"}})
    await ask.made(PODS, pod(nodeName="n1"))
    token = await ask.token(boundObjectRef=bound_to("Pod", "a"))
    extra = (await ask.whoami(token))["extra"]
    assert extra[f"{EXTRA}/node-name"] == ["n1"]
    assert extra[f"{EXTRA}/node-uid"] == [node["metadata"]["uid"]]
    await ask("DELETE", "/api/v1/nodes/n1")
    assert await ask.whoami(token) is not None


@pytest.mark.parametrize(
    ("kind", "path"), [("Secret", "/api/v1/namespaces/default/secrets"), ("Node", "/api/v1/nodes")]
)
async def test_a_token_ends_with_the_secret_or_node_it_is_bound_to(ask: Asking, kind: str, path: str) -> None:
    await ask.account()
    await ask.made(path, {"metadata": {"name": "s"}})
    token = await ask.token(boundObjectRef=bound_to(kind, "s"))
    assert await ask.whoami(token) is not None
    await ask("DELETE", f"{path}/s")
    assert await ask.whoami(token) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
async def test_a_request_that_cannot_be_met_is_refused(ask: Asking, case: Object) -> None:
    await ask.account()
    await ask.account("other")
    await ask.made(PODS, pod(account="other"))
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", **case["body"]}
    answer = await ask("POST", f"{ACCOUNTS}/{case.get('account', 'bot')}/token", body)
    assert (answer.status, answer.body["message"]) == (case["status"], case["message"])


async def test_a_token_is_good_only_where_it_is_meant_for(ask: Asking) -> None:
    await ask.account()
    token = await ask.token(audiences=["vault", "db"])
    assert await ask.whoami(token) is None
    fault = f'token audiences ["vault" "db"] is invalid for the target audiences ["{ISSUER}"]'
    assert (await ask.review(token))["error"] == fault
    found = await ask.review(token, "db", "mail")
    assert (found["authenticated"], found["audiences"]) == (True, ["db"])
    both = await ask.token(audiences=["vault", ISSUER])
    assert await ask.whoami(both) is not None


async def test_a_review_tells_of_static_tokens_too_which_are_for_this_server(ask: Asking) -> None:
    found = await ask.review(JANES)
    user = {"username": "jane", "uid": "u-jane", "groups": ["dev", "system:authenticated"]}
    assert found == {"authenticated": True, "user": user, "audiences": [ISSUER]}
    assert await ask.review(JANES, "vault") == {"user": {}, "error": "invalid bearer token"}
    assert await ask.review("nonsense") == {"user": {}, "error": "invalid bearer token"}


async def test_an_injected_token_lives_on_for_a_year_and_notes_when_it_should_have_been_replaced(ask: Asking) -> None:
    await ask.account()
    await ask.made(PODS, pod())
    answer = await ask.request(expirationSeconds=3607, boundObjectRef=bound_to("Pod", "a"))
    claims = claims_of(answer.body["status"]["token"])
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert answer.body["status"]["expirationTimestamp"] == "2026-01-02T04:04:12Z"
    for spec in ({"expirationSeconds": 3607}, {"boundObjectRef": bound_to("Pod", "a")}):
        claims = claims_of(await ask.token(**spec))
        assert "warnafter" not in claims["kubernetes.io"]


async def test_no_token_is_issued_for_longer_than_the_settings_allow() -> None:
    async with new_asking(with_accounts(max_expiration_seconds=7200)) as ask:
        await ask.account()
        answer = await ask.request(expirationSeconds=86400)
        assert answer.body["spec"]["expirationSeconds"] == 7200
        said = '299 - "requested expiration of 86400 seconds shortened to 7200 seconds"'
        assert ("Warning", said) in answer.headers
        for seconds in (600, 7200):
            answer = await ask.request(expirationSeconds=seconds)
            assert answer.body["spec"]["expirationSeconds"] == seconds
            assert "Warning" not in dict(answer.headers)
    async with new_asking(with_accounts(max_expiration_seconds=1)) as ask:
        await ask.account()
        assert (await ask.request()).body["spec"]["expirationSeconds"] == 1


@pytest.mark.parametrize("seconds", [600, 601, 2**32 - 1, 2**32])
async def test_the_shortest_and_the_longest_life_are_granted(ask: Asking, seconds: int) -> None:
    await ask.account()
    answer = await ask.request(expirationSeconds=seconds)
    assert answer.status == 201
    assert answer.body["spec"]["expirationSeconds"] == seconds
    claims = claims_of(answer.body["status"]["token"])
    assert claims["exp"] - claims["iat"] == seconds
    assert "Warning" not in dict(answer.headers)


async def test_a_token_is_bound_only_to_the_object_with_the_given_uid(ask: Asking) -> None:
    await ask.account()
    made = await ask.made(PODS, pod())
    uid = made["metadata"]["uid"]
    refused = await ask.request(boundObjectRef={**bound_to("Pod", "a"), "uid": "another"})
    assert refused.status == 409
    assert "the UID in the bound object reference (another) does not match the UID in record" in refused.body["message"]
    for given in (uid, ""):
        answer = await ask.request(boundObjectRef={**bound_to("Pod", "a"), "uid": given})
        assert answer.status == 201
        assert claims_of(answer.body["status"]["token"])["kubernetes.io"]["pod"] == {"name": "a", "uid": uid}


async def test_a_request_for_an_account_with_another_uid_is_a_conflict(ask: Asking) -> None:
    account = await ask.account()
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"{ACCOUNTS}/bot/token"
    refused = await ask("POST", path, {**request, "metadata": {"uid": "another"}})
    assert refused.status == 409
    assert (
        "the UID in the token request (another) does not match the UID of the service account"
        in (refused.body["message"])
    )
    uid = account["metadata"]["uid"]
    for metadata in ({"uid": uid}, {"name": "bot"}, {"name": "bot", "namespace": "default"}):
        answer = await ask("POST", path, {**request, "metadata": metadata})
        assert answer.status == 201
        assert answer.body["metadata"]["uid"] == uid
        assert answer.body["metadata"]["creationTimestamp"] == "2026-01-02T03:04:05Z"


async def test_only_who_may_create_the_subresource_gets_a_token(ask: Asking) -> None:
    await ask.account()
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"{ACCOUNTS}/bot/token"
    assert (await ask("POST", path, request, token=JANES)).status == 403
    await ask.allow("jane", {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["*"]})
    assert (await ask("POST", path, request, token=JANES)).status == 403
    await ask.allow("jane2", {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]})
    as_other = {"impersonate-user": "jane2"}
    assert (await ask("POST", path, request, headers=as_other)).status == 201


async def test_others_can_verify_tokens_by_the_published_keys(ask: Asking) -> None:
    await ask.account()
    token = await ask.token(audiences=["vault"])
    host = {"host": "plane.example:6443"}
    found = await ask("GET", "/.well-known/openid-configuration", headers=host)
    assert found.body == {
        "issuer": ISSUER,
        "jwks_uri": "https://plane.example:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    assert ("Cache-Control", "public, max-age=3600") in found.headers
    [key] = (await ask("GET", "/openid/v1/jwks")).body["keys"]
    assert (key["kid"], key["alg"], key["use"]) == (part(token, 0)["kid"], "ES256", "sig")
    x, y = (int.from_bytes(base64.urlsafe_b64decode(key[name] + "="), "big") for name in ("x", "y"))
    public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    signed, _, signature = token.rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")
    r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
    public.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(hashes.SHA256()))


async def test_the_keys_are_told_to_service_accounts_and_not_to_anybody(ask: Asking) -> None:
    await ask.account()
    token = await ask.token()
    for path in ("/.well-known/openid-configuration", "/openid/v1/jwks"):
        assert (await ask("GET", path, token=token)).status == 200
        assert (await ask("GET", path, token=JANES)).status == 403
        assert (await ask("GET", path, token=None)).status == 403
        assert (await ask("POST", path, token=ADMINS)).status == 405


def test_a_kept_key_makes_tokens_good_in_the_next_life(tmp_path: Path) -> None:
    def issued() -> str:
        return Issuer(keys=ServerKeys(tmp_path)).keys("")[0].kid

    assert issued() == issued()
    [file] = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("nonsense")
    with pytest.raises(ValueError, match=r"service-accounts.pem: .* Move the file away to generate a new key"):
        issued()


def write_key(path: Path, private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, *, public: bool = False) -> Path:
    if public:
        found = private.public_key()
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        path.write_bytes(found.public_bytes(serialization.Encoding.PEM, form))
    else:
        none = serialization.NoEncryption()
        path.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, none))
    return path


async def test_tokens_of_the_key_before_stay_good_after_a_change_of_keys(tmp_path: Path) -> None:
    old = rsa.generate_private_key(65537, 2048)
    before = with_accounts(signing_key=write_key(tmp_path / "old.pem", old))
    made: list[str] = []

    async def first(ask: Asking) -> None:
        await ask.account()
        made.append(await ask.token())
        assert part(made[0], 0)["alg"] == "RS256"

    async with new_asking(before) as ask:
        await first(ask)
    after = with_accounts(verification_keys=(write_key(tmp_path / "old.pub", old, public=True),))

    async def second(ask: Asking) -> None:
        await ask.account()  # the same seed gives it the same uid
        assert await ask.whoami(made[0]) is not None
        assert await ask.whoami(await ask.token()) is not None
        keys = (await ask("GET", "/openid/v1/jwks")).body["keys"]
        assert [key["alg"] for key in keys] == ["ES256", "RS256"]

    async with new_asking(after) as ask:
        await second(ask)

    async def without(ask: Asking) -> None:
        await ask.account()
        assert await ask.whoami(made[0]) is None

    async with new_asking() as ask:
        await without(ask)


@pytest.mark.parametrize("field", ["signing_key", "verification_keys"])
def test_a_key_that_cannot_be_used_is_named_by_its_field_and_file(tmp_path: Path, field: str) -> None:
    path = tmp_path / "key.pem"
    for content in (b"nonsense", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"):
        path.write_bytes(content)
        given = path if field == "signing_key" else (path,)
        with pytest.raises(ValueError, match=rf"service_accounts\.{field}: .*key\.pem: not a"):
            Issuer(ServiceAccountSettings(**{field: given}))  # type: ignore[arg-type]
    short = rsa.generate_private_key(65537, 1024)
    with pytest.raises(ValueError, match="2048 to 16384 bits, not 1024"):
        Issuer(ServiceAccountSettings(signing_key=write_key(path, short)))
