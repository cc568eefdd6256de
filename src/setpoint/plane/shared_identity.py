"""The keys that the servers of a store share: authorities, the key of tokens, the administrator's token.

The first server stores its keys, and the others use them: a client trusts all servers, and all accept its credentials.
The keys are stored beside the log, so that no API, history or export has them. Unless a key of the operator encrypts
them, every program that can read the store has them.
"""

import base64
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from setpoint.objects.clock import SystemClock
from setpoint.plane.errors import PlaneError
from setpoint.server.access.authentication.token_issuer import SERVICE_ACCOUNTS, new_key
from setpoint.server.edge.certificates import Authority, CertificateError
from setpoint.server.edge.front_proxy import CALLED, FRONT_PROXY
from setpoint.server.edge.identity import ADMIN_TOKEN, AUTHORITY, joined, new_token, valid_authority
from setpoint.server.server_keys import OtherKeysError, ServerKeys
from setpoint.store.contract import SharedIdentity

_NAMES = frozenset((AUTHORITY, FRONT_PROXY, SERVICE_ACCOUNTS, ADMIN_TOKEN))
_UNREADABLE = "the identity of the servers of this store cannot be read"
_LEAST_KEY_BYTES, _NONCE_BYTES = 32, 12
_PURPOSE = b"setpoint identity 1"
_NOT_ENCRYPTED = (
    "the identity of the servers of this store is stored without encryption: start without --identity-key. To encrypt "
    "it, stop all servers, delete the key `identity` below the root of the store in etcd (/setpoint/identity by "
    "default), and start them with --identity-key and empty directories (--data); then all clients need new credentials"
)
_ENCRYPTED = (
    "the identity of the servers of this store is encrypted: start with --identity-key and the file of the others"
)
_WRONG_KEY = "does not decrypt the identity of the servers of this store: use the file of the others"


class _Stored(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The stored identity: the keys by the names of their files, or their encrypted form."""

    version: int = 1
    keys: dict[str, str] = {}
    sealed: str = ""


async def share(keys: ServerKeys, store: SharedIdentity, key_file: str) -> None:
    """Makes a server use the keys of its store; stores its own if there are none. Raises PlaneError, OSError or
    StoreError."""
    key = _key(key_file)
    stored = await store.identity()
    if stored is None:
        made = _makers(SystemClock().now())
        # New keys are not kept before they are stored: another server may store its own first.
        own = {name: keys.existing(name) or make() for name, make in made.items()}
        _check(keys, own)
        stored = await store.keep_identity(_sealed({name: each.decode("ascii") for name, each in own.items()}, key))
    found = _opened(stored, key, key_file)
    # The names become names of files: a program that can write to etcd must not choose them.
    if found.keys() != _NAMES or not all(text.isascii() for text in found.values()):
        raise PlaneError(f"{_UNREADABLE}: expected exactly the keys {', '.join(sorted(_NAMES))}")
    try:
        keys.adopt({name: text.encode("ascii") for name, text in found.items()})
    except OtherKeysError as error:
        raise PlaneError(str(error)) from None


def _check(keys: ServerKeys, own: Mapping[str, bytes]) -> None:
    """Checks the keys that all servers are going to have. Raises PlaneError."""
    from setpoint.server.access.authentication.jwt import Signer
    from setpoint.server.access.authentication.token_result import TokenError

    try:
        for name in (AUTHORITY, FRONT_PROXY):
            valid_authority(own[name], SystemClock().now(), keys.place(name))
        Signer(own[SERVICE_ACCOUNTS])
    except CertificateError as error:
        raise PlaneError(str(error)) from None
    except TokenError as error:
        raise PlaneError(f"{keys.place(SERVICE_ACCOUNTS)}: {error}; move the file away to generate a new key") from None
    for name, each in own.items():
        if not each.strip() or not each.isascii():
            raise PlaneError(f"{keys.place(name)} has no text in ASCII; move the file away to generate a new one")


def _makers(now: datetime) -> Mapping[str, Callable[[], bytes]]:
    """Returns the functions that make the shared keys."""
    return {
        AUTHORITY: lambda: joined(Authority.create(now).pair),
        FRONT_PROXY: lambda: joined(Authority.create(now, CALLED).pair),
        SERVICE_ACCOUNTS: new_key,
        ADMIN_TOKEN: new_token,
    }


def _key(file: str) -> bytes | None:
    """Returns the key that encrypts the identity, derived from a file; None without a file."""
    if not file:
        return None
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise PlaneError(f"identityKey (--identity-key): cannot read {file}: {error.strerror}") from None
    if len(content) < _LEAST_KEY_BYTES:
        raise PlaneError(
            f"identityKey (--identity-key): {file} has {len(content)} bytes: at least {_LEAST_KEY_BYTES} random bytes "
            f"are needed, such as those of `head -c {_LEAST_KEY_BYTES} /dev/urandom`"
        )
    return HKDF(SHA256(), 32, None, _PURPOSE).derive(content)


def _sealed(keys: dict[str, str], key: bytes | None) -> bytes:
    if key is None:
        return msgspec.json.encode(_Stored(keys=keys))
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE_BYTES)
    sealed = nonce + AESGCM(key).encrypt(nonce, msgspec.json.encode(keys), _PURPOSE)
    return msgspec.json.encode(_Stored(sealed=base64.b64encode(sealed).decode("ascii")))


def _opened(stored: bytes, key: bytes | None, file: str) -> dict[str, str]:
    try:
        found = msgspec.json.decode(stored, type=_Stored)
        if found.version != 1:
            raise ValueError(f"its version is {found.version}, and this version of Setpoint knows version 1")
    except ValueError as error:
        raise PlaneError(f"{_UNREADABLE}: {error}") from None
    if key is None:
        if found.sealed:
            raise PlaneError(_ENCRYPTED)
        return found.keys
    if not found.sealed:
        raise PlaneError(_NOT_ENCRYPTED)
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        sealed = base64.b64decode(found.sealed)
        text = AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _PURPOSE)
    except (InvalidTag, ValueError):
        raise PlaneError(f"identityKey (--identity-key): {file} {_WRONG_KEY}") from None
    return msgspec.json.decode(text, type=dict[str, str])
