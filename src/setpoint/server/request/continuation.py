"""Where a list goes on: the token that a page ends with, and that the next one begins from."""

import base64
import re
from typing import NamedTuple

import msgspec

from setpoint.objects import jsonfault
from setpoint.objects.errors import BadRequest

_VERSION = "meta.k8s.io/v1"
_WRONG = "invalid continue token: continue key is not valid"
_ALPHABET = re.compile(r"[A-Za-z0-9_-]*")
# A revision that means: at the newest state, whatever changed since.
NEWEST = -1


class Position(NamedTuple):
    """A place in a collection: the revision it is read at, and the last key, below the collection's own prefix."""

    revision: int
    last: str


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def encode(position: Position) -> str:
    """The token of a place. It has the real server's form, but nobody should look inside."""
    token = {"v": _VERSION, "rv": position.revision, "start": position.last + "\0"}
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).rstrip(b"=").decode()


def decode(text: str) -> Position:
    """The place of a token. Raises BadRequest."""
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
    # A key must not lead out of the collection.
    last = token.start.removeprefix("/").removesuffix("\0")
    if any(part in ("", ".", "..") for part in last.split("/")):
        raise BadRequest(f"{_WRONG}: {token.start}")
    return Position(token.rv, last)
