"""JSON Web Tokens in their compact form (RFC 7515, 7517 and 7519), read, signed and verified by joserfc.

A token is believed only after `verify`, with a key whose own kind says which algorithms it may be used by: the
algorithm that a token names chooses among those, and nothing else. Without a signature, or by a shared secret, no token
is ever good. The size of a token is bounded before any of it is decoded.
"""

import hashlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import load_pem_x509_certificate
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from setpoint.objects.tree import Json, Object
from setpoint.server.access.authentication.token_result import TokenError

PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

# No token is larger.
MAX_BYTES = 64 << 10

_RSA_BITS = (2048, 16384)  # shorter ones are broken, longer ones take long
_CURVES: Mapping[str, str] = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS = frozenset((*_RSA, *_CURVES.values()))

_PEM = re.compile(rb"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----", re.DOTALL)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


class _Registry(jws.JWSRegistry):
    """Bounds a token as a whole: headers of other issuers can hold certificates, and RSA keys can be long."""

    max_header_length = MAX_BYTES
    max_payload_length = MAX_BYTES
    max_signature_length = MAX_BYTES


# Issuers may put parameters of their own in a header. Those that `crit` names are refused in `verify`.
_REGISTRY = _Registry(algorithms=ALGORITHMS, strict_check_header=False)


class Key(NamedTuple):
    """A public key, what it is called, and the algorithms it may verify by, the one it signs by first."""

    kid: str
    public: RSAKey | ECKey
    algorithms: tuple[str, ...]


class Token(NamedTuple):
    """A token as it reads. Nobody has looked at its signature yet."""

    header: Object
    claims: Object
    compact: jws.CompactSignature


def key_of(public: object, kid: str = "") -> Key:
    """A public key for verifying; without a name it gets the one that Kubernetes would give it. Raises TokenError."""
    if isinstance(public, rsa.RSAPublicKey):
        least, most = _RSA_BITS
        if not least <= public.key_size <= most:
            raise TokenError(f"an RSA key has {least} to {most} bits, and this one {public.key_size}")
        return Key(kid or kid_of(public), RSAKey.import_key(public), _RSA)
    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in _CURVES:
        return Key(kid or kid_of(public), ECKey.import_key(public), (_CURVES[public.curve.name],))
    raise TokenError("only RSA keys, and ECDSA keys on P-256, P-384 and P-521, verify tokens")


def read_keys(pem: bytes) -> list[Key]:
    """The keys of a file, each public, private or that of a certificate. Raises TokenError."""
    blocks = [found.group() for found in _PEM.finditer(pem)]
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
    """The name of a key as Kubernetes makes it: the SHA-256 of the key in DER."""
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return urlsafe_b64encode(hashlib.sha256(der).digest()).rstrip(b"=").decode("ascii")


class Signer:
    """Signs tokens with one key: RS256, or the ECDSA algorithm of the key's curve."""

    def __init__(self, pem: bytes) -> None:
        """Raises TokenError if that is no private key that can sign tokens."""
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
        """The token with these claims."""
        header = {"alg": self.key.algorithms[0], "kid": self.key.kid}
        return jws.serialize_compact(header, _encode(claims), self._private, registry=_REGISTRY)


def read(text: str) -> Token:
    """A token as it reads. Raises TokenError for what is none."""
    if len(text) > MAX_BYTES:
        raise TokenError("not a token: it is too long")
    try:
        # The library lets what is in a header that is no object through, and says so in errors of many kinds.
        compact = jws.extract_compact(text.encode("ascii"), registry=_REGISTRY)
        header = compact.headers()
        if not isinstance(header, dict):
            raise TokenError("the header of the token is not a JSON object")
        claims: Object = _decode(compact.payload)
    except (JoseError, msgspec.MsgspecError, ValueError, TypeError, AttributeError, RecursionError):
        raise TokenError("not a token of three parts, each base64url, the first two of JSON objects") from None
    return Token(header, claims, compact)


def verify(token: Token, key: Key, algorithms: Collection[str] = ALGORITHMS) -> None:
    """Raises TokenError unless the key has signed the token, by one of these algorithms."""
    algorithm = token.header.get("alg")
    if algorithm not in key.algorithms or algorithm not in algorithms:
        raise TokenError(f"the token is signed by {algorithm}, which is not accepted for this key")
    if "crit" in token.header:
        raise TokenError("the token asks for extensions that are not known")
    try:
        is_good = jws.validate_compact(token.compact, key.public, registry=_REGISTRY)
    except JoseError as error:
        raise TokenError(f"invalid signature: {error}") from None
    if not is_good:
        raise TokenError("invalid signature")


def verify_by_one(token: Token, keys: Sequence[Key], algorithms: Collection[str] = ALGORITHMS) -> None:
    """Raises TokenError unless one of the keys, of which there must be some, has signed the token."""
    for key in keys[:-1]:
        try:
            return verify(token, key, algorithms)
        except TokenError:
            continue
    return verify(token, keys[-1], algorithms)


def kid(token: Token) -> str:
    """What the key is called that the token says it is signed with; empty if it does not say."""
    found = token.header.get("kid")
    return found if isinstance(found, str) else ""


def number(claims: Object, name: str) -> float | None:
    """A claim that is a time, in seconds since 1970; None if it is absent. Raises TokenError."""
    value = claims.get(name)
    if value is None:
        return None
    if type(value) not in (int, float):
        raise TokenError(f"the claim {name} is not a number")
    return float(value)


def audiences(claims: Object) -> list[str]:
    """Whom a token is for. Raises TokenError."""
    value = claims.get("aud")
    if value is None:
        return []
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise TokenError("the claim aud is neither a string nor a list of strings")
    return found


def to_jwk(key: Key) -> Object:
    """A key as JSON, for publishing."""
    return dict(key.public.as_dict(use="sig", kid=key.kid, alg=key.algorithms[0]))


def from_jwk(jwk: Json) -> Key | None:
    """A key as an issuer publishes it; None for one that does not verify tokens by a known algorithm."""
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig":
        return None
    try:
        # Only what is public of it: the name and algorithm are read below, and other members do not matter.
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
