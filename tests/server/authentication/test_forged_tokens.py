"""Tokens as an attacker would make them: each is refused, and the server is not kept busy by any."""

import base64
import hmac
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.authentication.asking import Asking

from setpoint.server.access.authentication import jwt
from setpoint.server.access.authentication.token_result import TokenError


def encoded(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Victim:
    """A good token, taken apart, and what everybody can know of the key that signed it."""

    def __init__(self, token: str, jwk: dict[str, str]) -> None:
        self.token = token
        self.header_text, self.claims_text, self.signature = token.split(".")
        self.header = json.loads(decoded(self.header_text))
        self.claims = json.loads(decoded(self.claims_text))
        self.jwk = jwk
        x, y = (int.from_bytes(decoded(jwk[name]), "big") for name in ("x", "y"))
        self.public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()

    def unsigned(self, header: Any, claims: Any = None) -> str:
        return f"{encoded(header)}.{encoded(claims) if claims is not None else self.claims_text}"

    def by_secret(self, secret: bytes, **header: Any) -> str:
        signed = self.unsigned({**self.header, "alg": "HS256", **header})
        return f"{signed}.{encoded(hmac.digest(secret, signed.encode(), 'sha256'))}"

    def by_other_key(self, claims: Any = None, **header: Any) -> str:
        signed = self.unsigned({**self.header, **header}, claims)
        return f"{signed}.{encoded(raw_signature(other_key(), signed))}"


@cache
def other_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def raw_signature(key: ec.EllipticCurvePrivateKey, signed: str) -> bytes:
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def der_signature(victim: Victim) -> str:
    """The signature in the form that X.509 has, which is not that of tokens."""
    raw = decoded(victim.signature)
    numbers = (int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    parts = b"".join(b"\x02\x21" + number.to_bytes(33, "big") for number in numbers)
    return f"{victim.header_text}.{victim.claims_text}.{encoded(b'0' + bytes([len(parts)]) + parts)}"


def pem(victim: Victim) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return victim.public.public_bytes(serialization.Encoding.PEM, form)


def der(victim: Victim) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return victim.public.public_bytes(serialization.Encoding.DER, form)


def by_rsa(victim: Victim) -> str:
    signed = victim.unsigned({**victim.header, "alg": "RS256"})
    key = rsa.generate_private_key(65537, 2048)
    return f"{signed}.{encoded(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def own_jwk(victim: Victim) -> str:
    """A token that brings the key it is to be verified with along."""
    point = other_key().public_key().public_numbers()
    jwk = {"kty": "EC", "crv": "P-256", "x": encoded(point.x.to_bytes(32)), "y": encoded(point.y.to_bytes(32))}
    return victim.by_other_key(jwk=jwk)


def changed(victim: Victim, **claims: Any) -> str:
    """Other claims under the good signature."""
    return f"{victim.header_text}.{encoded({**victim.claims, **claims})}.{victim.signature}"


ADMIN = {"kubernetes.io": {"namespace": "kube-system", "serviceaccount": {"name": "admin", "uid": "1"}}}
NULL_SIGNATURE = encoded(bytes(64))

FORGERIES: dict[str, Callable[[Victim], str]] = {
    "no algorithm": lambda v: v.unsigned({**v.header, "alg": "none"}) + ".",
    "no algorithm, in capitals": lambda v: v.unsigned({**v.header, "alg": "NONE"}) + ".",
    "no algorithm, in mixed case": lambda v: v.unsigned({**v.header, "alg": "nOnE"}) + f".{v.signature}",
    "an algorithm that is no text": lambda v: v.unsigned({**v.header, "alg": ["ES256"]}) + f".{v.signature}",
    "an algorithm that is an object": lambda v: v.unsigned({**v.header, "alg": {"a": 1}}) + f".{v.signature}",
    "an algorithm that is missing": lambda v: v.unsigned({"kid": v.header["kid"]}) + f".{v.signature}",
    "no signature": lambda v: f"{v.header_text}.{v.claims_text}.",
    "an empty header": lambda v: f".{v.claims_text}.{v.signature}",
    "the public key in PEM as a secret": lambda v: v.by_secret(pem(v)),
    "the public key in DER as a secret": lambda v: v.by_secret(der(v)),
    "the published key as a secret": lambda v: v.by_secret(json.dumps(v.jwk).encode()),
    "an empty secret": lambda v: v.by_secret(b""),
    "the name of the key as a secret": lambda v: v.by_secret(v.header["kid"].encode()),
    "another key under the name of ours": lambda v: v.by_other_key(),
    "another key without a name": lambda v: v.by_other_key(kid=""),
    "another key under a name that is no text": lambda v: v.by_other_key(kid=[1]),
    "another key that is in a file": lambda v: v.by_other_key(kid="../../../../dev/null"),
    "another key that is in the token": own_jwk,
    "another key that is elsewhere": lambda v: v.by_other_key(
        jku="https://attacker.example/jwks", x5u="https://a.example"
    ),
    "another kind of key": by_rsa,
    "another account": lambda v: changed(v, **ADMIN),
    "a longer life": lambda v: changed(v, exp=v.claims["exp"] + 10_000_000),
    "another audience": lambda v: changed(v, aud=["anything"]),
    "another account by another key": lambda v: v.by_other_key({**v.claims, **ADMIN}),
    "another issuer by another key": lambda v: v.by_other_key({**v.claims, "iss": "https://attacker.example"}),
    "an issuer that is a list": lambda v: v.by_other_key({**v.claims, "iss": [v.claims["iss"]]}),
    "a signature of zeros": lambda v: f"{v.header_text}.{v.claims_text}.{NULL_SIGNATURE}",
    "a signature in the form of X.509": der_signature,
    "a longer signature": lambda v: v.token + "AAAA",
    "a padded signature": lambda v: v.token + "==",
    "a part too many": lambda v: v.token + "." + v.signature,
    "five parts": lambda v: f"{v.header_text}..{v.claims_text}.{v.signature}.{v.signature}",
    "an extension that must be known": lambda v: v.by_other_key(crit=["exp"], exp=1),
    "extensions that are no list": lambda v: v.by_other_key(crit=7),
    "extensions that are no texts": lambda v: v.by_other_key(crit=[["exp"]]),
    "claims that are not encoded": lambda v: v.by_other_key(b64=False, crit=["b64"]),
    "claims that are left out": lambda v: f"{encoded({**v.header, 'b64': False, 'crit': ['b64']})}..{v.signature}",
    "an algorithm for another curve": lambda v: v.by_other_key(alg="ES384"),
    "an algorithm of a curve that is not accepted": lambda v: v.by_other_key(alg="ES256K"),
    "a header that is a text": lambda v: f"{encoded('alg')}.{v.claims_text}.{v.signature}",
    "a header that is a text of two names": lambda v: f"{encoded('alg b64')}.{v.claims_text}.{v.signature}",
    "a header that is a list": lambda v: f"{encoded(['alg'])}.{v.claims_text}.{v.signature}",
    "a header that is a number": lambda v: f"{encoded(7)}.{v.claims_text}.{v.signature}",
    "a header that is null": lambda v: f"{encoded(None)}.{v.claims_text}.{v.signature}",
    "a token inside a token": lambda v: f"{v.header_text}.{encoded(v.token.encode())}.{v.signature}",
    "a token inside a token by another key": lambda v: v.by_other_key({"jwt": v.token}, cty="JWT"),
    "an encrypted token": lambda v: f"{encoded({'alg': 'dir', 'enc': 'A128GCM'})}..AAAA.AAAA.AAAA",
    "a token in JSON": lambda v: json.dumps({"payload": v.claims_text, "signature": v.signature}),
    "a line break inside": lambda v: v.token[:20] + "\n" + v.token[20:],
    "the other alphabet of base64": lambda v: f"{v.header_text}.{v.claims_text}.{v.signature[:-2]}+/",
}
DEEP = b'{"alg":'
OVERSIZED: dict[str, Callable[[Victim], str]] = {
    "dots": lambda v: "." * 2_000_000,
    "a long signature": lambda v: f"{v.header_text}.{v.claims_text}." + "A" * 2_000_000,
    "long claims": lambda v: f"{v.header_text}." + "A" * 2_000_000 + f".{v.signature}",
    "deep claims": lambda v: f"{v.header_text}.{encoded(b'[' * 40_000)}.{v.signature}",
    "deep objects": lambda v: f"{v.header_text}.{encoded(DEEP * 9_000)}.{v.signature}",
    "a deep header": lambda v: f"{encoded(DEEP * 6_000)}.{v.claims_text}.{v.signature}",
}


async def a_victim(ask: Asking) -> Victim:
    await ask.account()
    [jwk] = (await ask("GET", "/openid/v1/jwks")).body["keys"]
    victim = Victim(await ask.token(), jwk)
    assert await ask.whoami(victim.token) is not None
    return victim


@pytest.mark.parametrize("name", [*FORGERIES, *OVERSIZED])
async def test_a_forged_token_is_refused(ask: Asking, name: str) -> None:
    victim = await a_victim(ask)
    forged = {**FORGERIES, **OVERSIZED}[name](victim)
    assert (await ask("GET", "/version", token=forged)).status == 401
    found = await ask.review(forged)
    assert found["user"] == {}
    assert found["error"]


SIGNER = jwt.Signer(
    other_key().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
)
GOOD = SIGNER.sign({"iss": "us", "sub": "jane", "exp": 1})
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.="


@given(place=st.integers(0, len(GOOD) - 1), character=st.sampled_from(ALPHABET))
@settings(max_examples=300, deadline=None)
def test_a_token_is_not_the_same_with_any_other_character_in_any_place(place: int, character: str) -> None:
    mutant = GOOD[:place] + character + GOOD[place + 1 :]
    if mutant == GOOD:
        jwt.verify(jwt.read(mutant), SIGNER.key)
        return
    with pytest.raises(TokenError):
        jwt.verify(jwt.read(mutant), SIGNER.key)


@given(text=st.text(max_size=200) | st.from_regex(r"[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}\.[A-Za-z0-9_-]{0,40}"))
@settings(max_examples=100, deadline=None)
def test_what_is_no_token_is_refused_in_words(text: str) -> None:
    with pytest.raises(TokenError):
        jwt.verify(jwt.read(text), SIGNER.key)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": "1"},
        {"exp": True},
        {"nbf": []},
        {"aud": 7},
        {"aud": [1]},
        {"kubernetes.io": None},
        {"kubernetes.io": []},
        {"kubernetes.io": {"namespace": 3}},
        {"kubernetes.io": {"namespace": "default", "serviceaccount": {"name": ["bot"]}}},
        {"kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "bot", "uid": "1"}, "pod": "x"}},
        {"kubernetes.io": {"namespace": "../secrets", "serviceaccount": {"name": "bot"}}},
    ],
)
async def test_even_under_our_own_key_claims_of_the_wrong_form_are_refused(ask: Asking, claims: dict[str, Any]) -> None:
    victim = await a_victim(ask)
    signer = ask.authentication.issuer._signer
    assert await ask.whoami(signer.sign(victim.claims)) is not None
    odd = signer.sign({**victim.claims, **claims})
    assert (await ask("GET", "/version", token=odd)).status == 401
    assert (await ask.review(odd))["error"]


def published(public: object, **members: object) -> dict[str, Any]:
    return {**jwt.to_jwk(jwt.key_of(public)), **members}


def test_a_published_key_is_bound_to_its_own_kind() -> None:
    public = other_key().public_key()
    assert jwt.from_jwk(published(public)) == jwt.key_of(public)
    assert jwt.from_jwk(published(public, d=encoded(bytes(32)))) == jwt.key_of(public)
    for members in (
        {"use": "enc"},
        {"alg": "HS256"},
        {"alg": "RS256"},
        {"alg": "ES384"},
        {"alg": "none"},
        {"kty": "oct", "k": "AAAA"},
        {"kty": "RSA"},
        {"kty": ["EC"]},
        {"crv": "P-384"},
        {"crv": "secp256k1"},
        {"crv": 256},
        {"x": 7},
        {"x": "!"},
        {"y": encoded(bytes(32))},
    ):
        assert jwt.from_jwk(published(public, **members)) is None, members


def test_a_published_key_that_is_too_short_or_too_long_is_not_used() -> None:
    for modulus in (1 << 1023 | 1, 1 << 2046 | 1, 1 << 16384 | 1):
        size = (modulus.bit_length() + 7) // 8
        jwk = {"kty": "RSA", "n": encoded(modulus.to_bytes(size)), "e": "AQAB"}
        assert jwt.from_jwk(jwk) is None
    long = {"kty": "RSA", "n": encoded((1 << 2047 | 1).to_bytes(256)), "e": "AQAB"}
    assert jwt.from_jwk(long) is not None


def test_a_signature_is_verified_once_and_what_is_kept_of_it_is_bounded() -> None:
    from setpoint.server.access.authentication.token_cache import Verified

    kept: Verified[int] = Verified(kept=3)
    for number in range(5):
        kept.keep(f"token-{number}", number)
    assert [kept.get(f"token-{number}") for number in range(5)] == [None, None, 2, 3, 4]
