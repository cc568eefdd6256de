"""The continue token of a list: each page ends with one, and the next page starts from there."""

import base64
import re
from typing import NamedTuple

import msgspec

from setpoint.objects import jsonfault
from setpoint.objects.errors import BadRequest

_VERSION = "meta.k8s.io/v1"
_WRONG = "invalid continue token: continue key is not valid"
_ALPHABET = re.compile(r"[A-Za-z0-9_-]*")
# A revision that stands for the newest state: the next page includes later changes.
NEWEST = -1


class Position(NamedTuple):
    """A position in a collection: the revision of the list, and the last key, relative to the collection's prefix."""

    revision: int
    last: str


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def encode(position: Position) -> str:
    """Returns the token of a position. Clients must treat the token as opaque, though the format is
    kube-apiserver's."""
    token = {"v": _VERSION, "rv": position.revision, "start": position.last + "\0"}
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).rstrip(b"=").decode()


def decode(text: str) -> Position:
    """Returns the position of a token. Raises BadRequest."""
    end = _ALPHABET.match(text)
    valid = end.end() if end else 0
    if valid < len(text) or len(text) % 4 == 1:
        at = valid if valid < len(text) else len(text) - 1
        raise BadRequest(f"{_WRONG}: illegal base64 data at input byte {at}")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        token = msgspec.json.decode(data, type=_Token)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadRequest(f"{_WRONG}: {jsonfault.describe(data) or error}") from None
    if token.v != _VERSION:
        raise BadRequest(f"{_WRONG}: server does not recognize this encoded version {token.v}")
    if token.rv == 0:
        raise BadRequest(f"{_WRONG}: incorrect encoded start resourceVersion (version {_VERSION})")
    if not token.start:
        raise BadRequest(f"{_WRONG}: encoded start key empty (version {_VERSION})")
    # A key must not point outside the collection.
    last = token.start.removeprefix("/").removesuffix("\0")
    if any(part in ("", ".", "..") for part in last.split("/")):
        raise BadRequest(f"{_WRONG}: {token.start}")
    return Position(token.rv, last)
