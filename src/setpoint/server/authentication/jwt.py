"""JSON Web Tokens in their compact form (RFC 7515, 7517 and 7519): read, signed, verified.

A token is believed only after `verify`, with a key whose own kind says which algorithms it may be used by: what a token
says about its algorithm chooses among those, and nothing else. Without a signature, or by a shared secret, no token is
ever good. What is read is bounded, and read in one pass.
"""

import hashlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.x509 import load_pem_x509_certificate

from setpoint.objects.tree import Json, Object
from setpoint.server.authentication.accepted import TokenError

PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

# More than this is no token, whatever it is.
MAX_BYTES = 64 << 10

_RSA_BITS = (2048, 16384)  # shorter ones are broken, longer ones take long
_HASHES: Mapping[str, hashes.HashAlgorithm] = {
    "256": hashes.SHA256(),
    "384": hashes.SHA384(),
    "512": hashes.SHA512(),
}
_CURVES: Mapping[str, tuple[str, str]] = {
    "secp256r1": ("P-256", "ES256"),
    "secp384r1": ("P-384", "ES384"),
    "secp521r1": ("P-521", "ES512"),
}
_CURVE_TYPES: Mapping[str, ec.EllipticCurve] = {
    "P-256": ec.SECP256R1(),
    "P-384": ec.SECP384R1(),
    "P-521": ec.SECP521R1(),
}
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS = frozenset((*_RSA, "ES256", "ES384", "ES512"))

_PEM = re.compile(rb"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----", re.DOTALL)
_SEGMENT = re.compile(r"[A-Za-z0-9_-]*")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


class Key(NamedTuple):
    """A public key, what it is called, and the algorithms it may verify by, the one it signs by first."""

    kid: str
    public: PublicKey
    algorithms: tuple[str, ...]


class Token(NamedTuple):
    """A token as it reads. Nobody has looked at its signature yet."""

    header: Object
    claims: Object
    signed: bytes
    signature: bytes


def key_of(public: object, kid: str = "") -> Key:
    """A public key for verifying; without a name it gets the one that Kubernetes would give it. Raises TokenError."""
    if isinstance(public, rsa.RSAPublicKey):
        least, most = _RSA_BITS
        if not least <= public.key_size <= most:
            raise TokenError(f"an RSA key has {least} to {most} bits, and this one {public.key_size}")
        return Key(kid or kid_of(public), public, _RSA)
    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in _CURVES:
        return Key(kid or kid_of(public), public, (_CURVES[public.curve.name][1],))
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
    return _base64(hashlib.sha256(der).digest())


class Signer:
    """Signs tokens with one key: RS256, or the ECDSA algorithm of the key's curve."""

    def __init__(self, pem: bytes) -> None:
        """Raises TokenError if that is no private key that can sign tokens."""
        try:
            private = serialization.load_pem_private_key(pem, None)
        except (ValueError, TypeError) as error:
            raise TokenError(f"not a private key in PEM: {error}") from None
        self.key = key_of(private.public_key())
        assert isinstance(private, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey)
        self._private = private

    def sign(self, claims: Object) -> str:
        """The token with these claims."""
        algorithm = self.key.algorithms[0]
        header = _encode({"alg": algorithm, "kid": self.key.kid})
        signed = f"{_base64(header)}.{_base64(_encode(claims))}".encode()
        return f"{signed.decode()}.{_base64(self._signature(algorithm, signed))}"

    def _signature(self, algorithm: str, signed: bytes) -> bytes:
        algorithm_hash = _HASHES[algorithm[2:]]
        if isinstance(self._private, rsa.RSAPrivateKey):
            return self._private.sign(signed, padding.PKCS1v15(), algorithm_hash)
        r, s = decode_dss_signature(self._private.sign(signed, ec.ECDSA(algorithm_hash)))
        size = _size(self._private.curve)
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def read(text: str) -> Token:
    """A token as it reads. Raises TokenError for what is none."""
    parts = text.split(".", 3)
    if len(text) > MAX_BYTES or len(parts) != 3:
        raise TokenError("not a token of three parts")
    header, claims, signature = parts
    return Token(_object(header), _object(claims), f"{header}.{claims}".encode(), _bytes(signature))


def verify(token: Token, key: Key, algorithms: Collection[str] = ALGORITHMS) -> None:
    """Raises TokenError unless the key has signed the token, by one of these algorithms."""
    algorithm = token.header.get("alg")
    if algorithm not in key.algorithms or algorithm not in algorithms:
        raise TokenError(f"the token is signed by {algorithm}, which is not accepted for this key")
    if "crit" in token.header:
        raise TokenError("the token asks for extensions that are not known")
    algorithm_hash, public = _HASHES[algorithm[2:]], key.public
    try:
        if isinstance(public, rsa.RSAPublicKey):
            public.verify(token.signature, token.signed, _padding(algorithm, algorithm_hash), algorithm_hash)
            return
        size = _size(public.curve)
        if len(token.signature) != 2 * size:
            raise InvalidSignature
        r, s = int.from_bytes(token.signature[:size], "big"), int.from_bytes(token.signature[size:], "big")
        public.verify(encode_dss_signature(r, s), token.signed, ec.ECDSA(algorithm_hash))
    except InvalidSignature:
        raise TokenError("invalid signature") from None


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
    public = key.public
    found: Object = {"use": "sig", "kty": "RSA", "kid": key.kid, "alg": key.algorithms[0]}
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        return {**found, "n": _integer(numbers.n), "e": _integer(numbers.e)}
    point, size = public.public_numbers(), _size(public.curve)
    found |= {"kty": "EC", "crv": _CURVES[public.curve.name][0]}
    return {**found, "x": _integer(point.x, size), "y": _integer(point.y, size)}


def from_jwk(jwk: Json) -> Key | None:
    """A key as somebody publishes it; None for one that does not verify tokens by what we know."""
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig":
        return None
    try:
        if jwk.get("kty") == "RSA":
            public: PublicKey = rsa.RSAPublicNumbers(_number(jwk["e"]), _number(jwk["n"])).public_key()
        elif jwk.get("kty") == "EC":
            curve = _CURVE_TYPES[jwk["crv"]]
            public = ec.EllipticCurvePublicNumbers(_number(jwk["x"]), _number(jwk["y"]), curve).public_key()
        else:
            return None
        key = key_of(public, jwk["kid"] if isinstance(jwk.get("kid"), str) else "")
    except (KeyError, TypeError, ValueError):
        return None
    wanted = jwk.get("alg")
    if wanted is None:
        return key
    return key._replace(algorithms=(wanted,)) if wanted in key.algorithms else None


def _padding(algorithm: str, algorithm_hash: hashes.HashAlgorithm) -> padding.AsymmetricPadding:
    if algorithm.startswith("RS"):
        return padding.PKCS1v15()
    return padding.PSS(padding.MGF1(algorithm_hash), algorithm_hash.digest_size)


def _size(curve: ec.EllipticCurve) -> int:
    return (curve.key_size + 7) // 8


def _object(segment: str) -> Object:
    try:
        found: Object = _decode(_bytes(segment))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise TokenError("a part of the token is not a JSON object") from None
    return found


def _bytes(segment: str) -> bytes:
    # Python's own decoder passes over what does not belong there, and over bits that do not count.
    if _SEGMENT.fullmatch(segment) and len(segment) % 4 != 1:
        found = urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
        if _base64(found) == segment:
            return found
    raise TokenError("a part of the token is not base64url")


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _integer(value: int, size: int = 0) -> str:
    return _base64(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text), "big")
