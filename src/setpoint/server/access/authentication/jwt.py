"""JSON Web Tokens in compact form (RFC 7515, 7517 and 7519), read, signed and verified with joserfc.

A token is trusted only after `verify`. The type of the key determines the permitted algorithms, and the algorithm that
the token names must be one of them. Unsigned tokens and tokens signed with a shared secret are never accepted. The size
of a token is checked before any part is decoded.
"""

import hashlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import load_pem_x509_certificate
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from setpoint.objects.pem import pem_blocks
from setpoint.objects.tree import Json, Object
from setpoint.server.access.authentication.token_result import TokenError

PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

# The maximum size of a token.
MAX_BYTES = 64 << 10

_RSA_BITS = (2048, 16384)  # shorter keys are insecure, longer keys are slow
_CURVES: Mapping[str, str] = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS = frozenset((*_RSA, *_CURVES.values()))

_is_label = re.compile("[A-Z ]+").fullmatch
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


class _Registry(jws.JWSRegistry):
    """Limits the total size of a token only, because headers of other issuers can contain certificates and RSA keys can
    be long."""

    max_header_length = MAX_BYTES
    max_payload_length = MAX_BYTES
    max_signature_length = MAX_BYTES


# Issuers may add their own header parameters. Parameters listed in `crit` are refused in `verify`.
_REGISTRY = _Registry(algorithms=ALGORITHMS, strict_check_header=False)


class Key(NamedTuple):
    """A public key, its key ID, and the algorithms that the key verifies, with the signing algorithm first."""

    kid: str
    public: RSAKey | ECKey
    algorithms: tuple[str, ...]


class Token(NamedTuple):
    """A decoded token whose signature is not verified yet."""

    header: Object
    claims: Object
    compact: jws.CompactSignature


def key_of(public: object, kid: str = "") -> Key:
    """Returns a verification key. The default key ID is the one that Kubernetes derives. Raises TokenError."""
    if isinstance(public, rsa.RSAPublicKey):
        least, most = _RSA_BITS
        if not least <= public.key_size <= most:
            raise TokenError(f"RSA keys must have {least} to {most} bits, not {public.key_size}")
        return Key(kid or kid_of(public), RSAKey.import_key(public), _RSA)
    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in _CURVES:
        return Key(kid or kid_of(public), ECKey.import_key(public), (_CURVES[public.curve.name],))
    raise TokenError("unsupported key: expected RSA, or ECDSA on P-256, P-384 or P-521")


def read_keys(pem: bytes) -> list[Key]:
    """Returns the keys of a PEM file: public keys, private keys or certificates. Raises TokenError."""
    blocks = [block.text.encode("latin-1") for block in pem_blocks(pem.decode("latin-1"), _is_label)]
    if not blocks:
        raise TokenError("not a key in PEM")
    return [key_of(_public(block)) for block in blocks]


def _public(pem: bytes) -> object:
    try:
        if b"PRIVATE KEY-" in pem:
            return serialization.load_pem_private_key(pem, None).public_key()
        if b"BEGIN CERTIFICATE" in pem:
            return load_pem_x509_certificate(pem).public_key()
        return serialization.load_pem_public_key(pem)
    except (ValueError, TypeError) as error:
        raise TokenError(f"not a key in PEM: {error}") from None


def kid_of(public: PublicKey) -> str:
    """Returns the key ID that Kubernetes derives: the SHA-256 of the DER-encoded key."""
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode("ascii")


class Signer:
    """Signs tokens with one key: RS256, or the ECDSA algorithm of the key's curve."""

    def __init__(self, pem: bytes) -> None:
        """Loads the private key. Raises TokenError if the PEM contains no private key that can sign tokens."""
        try:
            private = serialization.load_pem_private_key(pem, None)
        except (ValueError, TypeError) as error:
            raise TokenError(f"not a private key in PEM: {error}") from None
        self.key = key_of(private.public_key())
        self._private: RSAKey | ECKey
        if isinstance(private, rsa.RSAPrivateKey):
            self._private = RSAKey.import_key(private)
        else:
            assert isinstance(private, ec.EllipticCurvePrivateKey)
            self._private = ECKey.import_key(private)

    def sign(self, claims: Object) -> str:
        """Returns a signed token with these claims."""
        header = {"alg": self.key.algorithms[0], "kid": self.key.kid}
        return jws.serialize_compact(header, _encode(claims), self._private, registry=_REGISTRY)


def read(text: str) -> Token:
    """Decodes a token without verifying its signature. Raises TokenError for malformed tokens."""
    if len(text) > MAX_BYTES:
        raise TokenError("the token is longer than 64 KiB")
    try:
        # The library accepts a header that is not a JSON object, and raises errors of many types for malformed tokens.
        compact = jws.extract_compact(text.encode("ascii"), registry=_REGISTRY)
        header = compact.headers()
        if not isinstance(header, dict):
            raise TokenError("the header of the token is not a JSON object")
        claims: Object = _decode(compact.payload)
    except (JoseError, msgspec.MsgspecError, ValueError, TypeError, AttributeError, RecursionError):
        raise TokenError("malformed token: expected three base64url parts, the first two JSON objects") from None
    return Token(header, claims, compact)


def verify(token: Token, key: Key, algorithms: Collection[str] = ALGORITHMS) -> None:
    """Verifies that the key signed the token with one of these algorithms. Raises TokenError otherwise."""
    algorithm = token.header.get("alg")
    if algorithm not in key.algorithms or algorithm not in algorithms:
        raise TokenError(f"the token is signed by {algorithm}, which is not accepted for this key")
    if "crit" in token.header:
        raise TokenError("the token requires unsupported extensions (crit)")
    try:
        is_good = jws.validate_compact(token.compact, key.public, registry=_REGISTRY)
    except JoseError as error:
        raise TokenError(f"invalid signature: {error}") from None
    if not is_good:
        raise TokenError("invalid signature")


def verify_by_one(token: Token, keys: Sequence[Key], algorithms: Collection[str] = ALGORITHMS) -> None:
    """Verifies that one of the keys signed the token; `keys` must not be empty. Raises TokenError otherwise."""
    for key in keys[:-1]:
        try:
            return verify(token, key, algorithms)
        except TokenError:
            continue
    return verify(token, keys[-1], algorithms)


def verified_claims(text: str, issuers: Collection[str], keys: Callable[[str], Sequence[Key]]) -> Object | None:
    """Verifies a token and returns its claims. `keys` returns the keys with a key ID. Returns None for text that is no
    token, and for tokens of other issuers. Raises TokenError for an invalid signature."""
    try:
        token = read(text)
    except TokenError:
        return None
    if token.claims.get("iss") not in issuers:
        return None
    found = keys(kid(token))
    if not found:
        raise TokenError("invalid signature, no keys found")
    verify_by_one(token, found)
    return token.claims


def kid(token: Token) -> str:
    """Returns the key ID in the header of the token, or an empty string."""
    found = token.header.get("kid")
    return found if isinstance(found, str) else ""


def number(claims: Object, name: str) -> float | None:
    """Returns a claim that is a time in seconds since 1970, or None if the claim is absent. Raises TokenError."""
    value = claims.get(name)
    if value is None:
        return None
    if type(value) not in (int, float):
        raise TokenError(f"the claim {name} is not a number")
    return float(value)


def audiences(claims: Object) -> list[str]:
    """Returns the audiences of a token. Raises TokenError."""
    value = claims.get("aud")
    if value is None:
        return []
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise TokenError("the claim aud is neither a string nor a list of strings")
    return found


def to_jwk(key: Key) -> Object:
    """Returns a key as a JSON Web Key, for publishing."""
    return dict(key.public.as_dict(use="sig", kid=key.kid, alg=key.algorithms[0]))


def from_jwk(jwk: Json) -> Key | None:
    """Reads a key that an issuer publishes. Returns None for keys that do not verify tokens with a supported
    algorithm."""
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig":
        return None
    try:
        # Only the public members are used; key ID and algorithm are read below.
        if jwk.get("kty") == "RSA":
            if _bits(jwk["n"]) < _RSA_BITS[0]:
                return None
            public: PublicKey = RSAKey.import_key({"kty": "RSA", "n": jwk["n"], "e": jwk["e"]}).public_key
        elif jwk.get("kty") == "EC":
            members = {"kty": "EC", "crv": jwk["crv"], "x": jwk["x"], "y": jwk["y"]}
            public = ECKey.import_key(members).public_key
        else:
            return None
        key = key_of(public, jwk["kid"] if isinstance(jwk.get("kid"), str) else "")
    except (JoseError, KeyError, TypeError, ValueError):
        return None
    wanted = jwk.get("alg")
    if wanted is None:
        return key
    return key._replace(algorithms=(wanted,)) if wanted in key.algorithms else None


def _bits(modulus: str) -> int:
    return int.from_bytes(urlsafe_b64decode(modulus + "=" * (-len(modulus) % 4)), "big").bit_length()
