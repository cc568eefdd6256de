"""Where a write came from: the `Actor` who made it and the `Cause` that led to it.

The store keeps both beside every revision, encoded compactly; `why` and `history` read them back. Encodings are stable:
a field may be added at the end with a default, so that what an older version wrote stays readable.
"""

import re
from typing import Self
from urllib.parse import quote, unquote

import msgspec

# Tells our server which reconcile a write comes from; any other one passes over it.
CAUSE_HEADER = "setpoint-cause"
_MAX_HEADER_LENGTH = 1024
# Our own controllers send four reasons at most.
_MAX_REASONS = 16
_encode = msgspec.msgpack.Encoder().encode
# A cause that needs no encoding: nearly all.
_is_plain = re.compile(r"[A-Za-z0-9_.~-]+/[A-Za-z0-9_.~-]+/[A-Za-z0-9_.~/-]+").fullmatch
# What the actors of entries were that an older version wrote for our own controllers.
_MASTERS = "system:masters"
_SYSTEM_ACCOUNTS = "system:serviceaccount:kube-system:"
_is_plain_reason = re.compile(r"[A-Za-z0-9_.~-]+/[A-Za-z0-9_.~-]*/[A-Za-z0-9_.~-]*/[A-Za-z0-9_.~/-]*").fullmatch


class Actor(msgspec.Struct, frozen=True, array_like=True):
    """Who writes: the user the request counts as, the field manager it writes as, and who really asked where that was
    somebody else."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    field_manager: str = ""
    impersonator: str = ""

    def encode(self) -> bytes:
        return _encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return msgspec.msgpack.decode(data, type=cls)


class Reason(msgspec.Struct, frozen=True, array_like=True):
    """Why a reconcile ran: what happened to which object, at which revision. With the revision one finds the write that
    it was, and so who made that, and why."""

    # As triggers say it: created, updated, deleted, initial, timer, retry, requested, …
    event: str
    # `Kind.group`; empty for what is no object.
    kind: str = ""
    # `namespace/name`, or a bare name; for what is no object, who told of it.
    object: str = ""
    revision: str = ""

    def to_text(self) -> str:
        parts = (self.event, self.kind, self.revision, self.object)
        if _is_plain_reason(text := "/".join(parts)):
            return text
        return "/".join(quote(part, safe="/" if part is self.object else "") for part in parts)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The way back. Raises ValueError."""
        parts = _parts(text, 4)
        if len(parts) < 4 or not parts[0] or not "".join(parts).isprintable():
            raise ValueError("a reason should read EVENT/KIND/REVISION/OBJECT")
        event, kind, revision, object_ = parts
        return cls(event, kind, object_, revision)


class Cause(msgspec.Struct, frozen=True, array_like=True):
    """What a write came from: a request, or one reconcile of one object by one controller."""

    id: str
    # Both are empty for a request. `key` is what the controller reconciled: `namespace/name`, or a bare name.
    controller: str = ""
    key: str = ""
    # Why that reconcile ran, as far as there is room to say.
    because: tuple[Reason, ...] = ()
    # The user who claims that the write came from this reconcile. Empty: a controller of the server itself said so, or
    # a user with the right to. None: an older version wrote the entry and checked nothing.
    claimed_by: str | None = None

    @classmethod
    def request(cls, id: str) -> Self:  # noqa: A002 - the field's own name
        return cls(id)

    @classmethod
    def reconcile(
        cls,
        controller: str,
        key: str,
        id: str,  # noqa: A002 - the field's own name
        because: tuple[Reason, ...] = (),
    ) -> Self:
        return cls(id, controller, key, because)

    def to_header(self) -> str:
        """A reconcile as a header tells it: `controller/id/key?reason&reason`, what is not plain percent-encoded. There
        are as many reasons as there is room for."""
        if not _is_plain(text := f"{self.controller}/{self.id}/{self.key}"):
            text = f"{quote(self.controller, safe='')}/{quote(self.id, safe='')}/{quote(self.key)}"
        between = "?"
        for reason in self.because:
            more = f"{between}{reason.to_text()}"
            if len(text) + len(more) > _MAX_HEADER_LENGTH or text.count("&") >= _MAX_REASONS - 1:
                break
            text, between = text + more, "&"
        return text

    @classmethod
    def from_header(cls, text: str) -> Self:
        """The way back. Raises ValueError for what no client of ours would send: it goes into the log."""
        if len(text) > _MAX_HEADER_LENGTH:
            raise ValueError(f"it is longer than {_MAX_HEADER_LENGTH} characters")
        text, asked, reasons = text.partition("?")
        parts = _parts(text, 3)
        if len(parts) < 3 or not all(parts):
            raise ValueError("it should read CONTROLLER/RECONCILE-ID/KEY")
        if not "".join(parts).isprintable():
            raise ValueError("it has characters that cannot be shown")
        controller, id_, key = parts
        listed = reasons.split("&") if asked else []
        if len(listed) > _MAX_REASONS:
            raise ValueError(f"it has {len(listed)} reasons, and at most {_MAX_REASONS} are kept: send the first ones")
        because = tuple(map(Reason.from_text, listed))
        return cls(id_, controller, key, because)

    @property
    def is_reconcile(self) -> bool:
        return bool(self.controller)

    def with_claimant(self, user: str) -> Self:
        """The same cause as a claim of a user; as a fact where the user is empty."""
        return type(self)(self.id, self.controller, self.key, self.because, user)

    def claimant(self, actor: Actor) -> str:
        """The user who claims that a write of an actor came from this reconcile. Empty where that is a fact, and for a
        request, which the server knows of itself."""
        if not self.controller:
            return ""
        if self.claimed_by is not None:
            return self.claimed_by
        own = _MASTERS in actor.groups or actor.user.startswith(_SYSTEM_ACCOUNTS)
        return "" if own and not actor.impersonator else actor.user or "an unknown user"

    def encode(self) -> bytes:
        return _encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        return msgspec.msgpack.decode(data, type=cls)


def _parts(text: str, number: int) -> list[str]:
    """The parts between slashes, at most so many; few have something encoded in them."""
    parts = text.split("/", number - 1)
    return list(map(unquote, parts)) if "%" in text else parts
