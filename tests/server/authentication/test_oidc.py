"""Tokens of an OpenID Connect issuer: a real one, which answers over HTTPS and changes its keys."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from tests.server.authentication.asking import Asking
from tests.server.authentication.issuing import IssuerServer, issuing, signer

from setpoint.objects.clock import SystemClock
from setpoint.server.access.authentication.assembly import assemble
from setpoint.server.access.authentication.settings import DEFAULT_ISSUER, AuthenticationSettings, OIDCSettings

RSA = signer(rsa.generate_private_key(65537, 2048))
ECDSA = signer(ec.generate_private_key(ec.SECP256R1()))
STRANGER = signer(ec.generate_private_key(ec.SECP256R1()))


class World:
    """A server, and the issuer that it believes."""

    def __init__(self, issuer: IssuerServer, ask: Asking) -> None:
        self.issuer = issuer
        self.ask = ask

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(self.ask.clock.now().timestamp())
        found = {"iss": self.issuer.url, "aud": "setpoint", "sub": "jane", "exp": now + 600, "iat": now, **changes}
        return {name: value for name, value in found.items() if value is not None}

    def token(self, by: Any = RSA, **changes: Any) -> str:
        text: str = by.sign(self.claims(**changes))
        return text

    async def user(self, token: str) -> Any:
        return await self.ask.whoami(token)

    async def fault(self, token: str) -> str:
        assert await self.ask.whoami(token) is None
        fault: str = (await self.ask.review(token))["error"]
        return fault


@asynccontextmanager
async def new_world(directory: Path, **changes: Any) -> AsyncIterator[World]:
    """Provides a server that believes an issuer, with these changes to its settings."""
    async with asyncio.timeout(30), issuing() as issuer:
        issuer.use(RSA)
        ask = Asking(issuer.settings(directory, **changes))
        await ask.server.start()
        try:
            yield World(issuer, ask)
        finally:
            ask.authentication.close()


async def test_a_token_of_the_issuer_is_its_user(tmp_path: Path) -> None:
    async with new_world(tmp_path, groups_claim="roles", groups_prefix="oidc:") as world:
        user = await world.user(world.token(roles=["a", "b"], jti="j1"))
        assert user == {
            "username": f"{world.issuer.url}#jane",
            "groups": ["oidc:a", "oidc:b", "system:authenticated"],
            "extra": {"authentication.kubernetes.io/credential-id": ["JTI=j1"]},
        }
        assert (await world.user(world.token(roles="single")))["groups"] == ["oidc:single", "system:authenticated"]
        assert (await world.user(world.token()))["groups"] == ["system:authenticated"]
        review = await world.ask.review(world.token())
        assert (review["authenticated"], review["audiences"]) == (True, [DEFAULT_ISSUER])
        assert (await world.ask.review(world.token(), "vault"))["error"] == "invalid bearer token"


@pytest.mark.parametrize(
    ("settings", "claims", "name"),
    [
        ({"username_prefix": "-"}, {}, "jane"),
        ({"username_prefix": "corp:"}, {}, "corp:jane"),
        ({"username_claim": "email"}, {"email": "j@example.com"}, "j@example.com"),
        ({"username_claim": "email"}, {"email": "j@example.com", "email_verified": True}, "j@example.com"),
        ({"username_claim": "email", "username_prefix": "e:"}, {"email": "j@example.com"}, "e:j@example.com"),
    ],
)
async def test_user_names_are_made_as_the_settings_say(
    settings: dict[str, Any], claims: dict[str, Any], name: str, tmp_path: Path
) -> None:
    async with new_world(tmp_path, **settings) as world:
        assert (await world.user(world.token(**claims)))["username"] == name


@pytest.mark.parametrize(
    ("settings", "claims", "fault"),
    [
        ({}, {"aud": "another"}, 'oidc: expected audience in ["setpoint" "other"] got ["another"]'),
        ({}, {"aud": None}, "expected audience"),
        ({}, {"exp": 1}, "oidc: token is expired"),
        ({}, {"exp": None}, "oidc: token has no expiry"),
        ({}, {"exp": "9999999999"}, "the claim exp is not a number"),
        ({}, {"nbf": 9999999999}, "current time is before the nbf"),
        ({}, {"sub": None}, 'oidc: parse username claims "sub": claim not present'),
        ({}, {"sub": ""}, 'oidc: parse username claims "sub"'),
        ({}, {"sub": 7}, 'oidc: parse username claims "sub"'),
        ({"username_claim": "email"}, {"email": "x", "email_verified": False}, "oidc: email not verified"),
        ({"username_claim": "email"}, {"email": "x", "email_verified": "true"}, "oidc: email not verified"),
        ({"required_claims": {"hd": "corp"}}, {}, "oidc: required claim hd not present in ID token"),
        ({"required_claims": {"hd": "corp"}}, {"hd": "x"}, "value does not match. Got = x, want = corp"),
        ({"groups_claim": "g"}, {"g": 7}, 'oidc: parse groups claim "g"'),
        ({"groups_claim": "g"}, {"g": ["a", 7]}, 'oidc: parse groups claim "g"'),
        ({"signing_algorithms": ("ES256",)}, {}, "id token signed with unsupported algorithm, RS256"),
    ],
)
async def test_a_token_that_is_not_as_it_should_be_is_refused(
    settings: dict[str, Any], claims: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    async with new_world(tmp_path, **settings) as world:
        assert fault in await world.fault(world.token(**claims))


async def test_a_token_of_nobodys_key_is_refused_and_the_issuer_is_not_asked_about_each(tmp_path: Path) -> None:
    async with new_world(tmp_path) as world:
        assert await world.user(world.token()) is not None
        asked = len(world.issuer.calls)
        assert asked == 2  # the discovery document, and the keys
        for number in range(20):
            assert await world.user(world.token(STRANGER, sub=f"user-{number}")) is None
        assert len(world.issuer.calls) == asked
        world.ask.clock.advance(11)
        for number in range(20):
            assert await world.user(world.token(STRANGER, sub=f"user-{number}")) is None
        assert len(world.issuer.calls) == asked + 2
        assert await world.user(world.token()) is not None


async def test_an_issuer_that_changes_its_keys_is_asked_again(tmp_path: Path) -> None:
    async with new_world(tmp_path) as world:
        before = world.token(sub="before")
        assert await world.user(world.token()) is not None
        world.issuer.use(ECDSA)
        world.ask.clock.advance(11)
        assert await world.user(world.token(ECDSA)) is not None
        assert await world.user(before) is None


async def test_many_who_come_at_once_wait_for_one_call(tmp_path: Path) -> None:
    async with new_world(tmp_path) as world:
        tokens = [world.token(sub=f"user-{number}") for number in range(10)]
        found = await asyncio.gather(*(world.user(token) for token in tokens))
        assert all(found)
        assert len(world.issuer.calls) == 2


async def test_while_the_issuer_is_away_the_keys_that_are_known_stay_good(tmp_path: Path) -> None:
    async with new_world(tmp_path) as world:
        world.issuer.is_broken = True
        fault = await world.fault(world.token())
        assert "the keys of the issuer cannot be had" in fault
        assert "answers 503" in fault
        world.issuer.is_broken = False
        assert await world.user(world.token()) is None  # it is too soon to ask again
        world.ask.clock.advance(11)
        assert await world.user(world.token()) is not None
        world.issuer.is_broken = True
        world.ask.clock.advance(11)
        assert await world.user(world.token(STRANGER)) is None
        assert await world.user(world.token(sub="new")) is not None


@pytest.mark.parametrize(
    ("discovery", "fault"),
    [
        ({"issuer": "https://attacker.example"}, "issuer did not match"),
        ({"jwks_uri": None}, "names no jwks_uri"),
        ({"jwks_uri": "http://127.0.0.1:1/keys"}, "names no jwks_uri that begins with https://"),
    ],
)
async def test_a_discovery_document_that_lies_is_not_believed(
    discovery: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    async with new_world(tmp_path) as world:
        world.issuer.discovery = discovery
        assert fault in await world.fault(world.token())


async def test_an_issuer_whose_certificate_is_not_trusted_is_not_believed(tmp_path: Path) -> None:
    async with new_world(tmp_path, authority=None) as world:
        assert "failed to verify certificate" in await world.fault(world.token())


async def test_keys_of_odd_kinds_are_passed_over(tmp_path: Path) -> None:
    async with new_world(tmp_path) as world:
        good = world.issuer.keys[0]
        world.issuer.keys = [
            {"kty": "oct", "k": "c2VjcmV0", "kid": "s"},
            {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "short"},
            {"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"},
            {**good, "use": "enc", "kid": "enc"},
            {**good, "alg": "HS256", "kid": "hs"},
            {"kty": []},
            good,
        ]
        assert await world.user(world.token()) is not None


async def test_a_token_that_has_expired_is_refused_though_it_was_good_a_moment_ago(tmp_path: Path) -> None:
    async with new_world(tmp_path) as world:
        token = world.token()
        assert await world.user(token) is not None
        world.ask.clock.advance(601)
        assert "token is expired" in await world.fault(token)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"issuer": "http://a.example"}, r"oidc\[0\].issuer: 'http://a.example' must be an https:// URL"),
        ({"issuer": "https://a.example?x=y"}, r"oidc\[0\].issuer"),
        ({"issuer": DEFAULT_ISSUER}, r"is the issuer of this server.s service accounts"),
        ({"audiences": ()}, r"oidc\[0\].audiences: at least one audience is required"),
        ({"username_claim": ""}, r"oidc\[0\].username_claim"),
        ({"signing_algorithms": ("HS256",)}, r"oidc\[0\].signing_algorithms: 'HS256' is not one of ES256"),
        ({"signing_algorithms": ("none",)}, r"oidc\[0\].signing_algorithms"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_by_their_field(changes: dict[str, Any], fault: str) -> None:
    settings = OIDCSettings(**{"issuer": "https://a.example", "audiences": ("x",), **changes})
    with pytest.raises(ValueError, match=fault):
        assemble(AuthenticationSettings(oidc=(settings,)), {}, SystemClock())
