"""The provenance of a write: the `Actor` that made the write, and the `Cause` that led to the write.

The store keeps both beside every revision, encoded compactly; `why` and `history` read them. Encodings are stable: a
field may be added at the end with a default, so that data of older versions stays readable.
"""

import re
from typing import Self
from urllib.parse import quote, unquote

import msgspec

# Names the reconcile that a write comes from, for Setpoint's server; other servers ignore the header.
CAUSE_HEADER = "setpoint-cause"
_MAX_HEADER_LENGTH = 1024
# Setpoint's own controllers send at most four reasons.
_MAX_REASONS = 16
_encode = msgspec.msgpack.Encoder().encode
# A cause without characters that need encoding: nearly all causes.
_is_plain = re.compile(r"[A-Za-z0-9_.~-]+/[A-Za-z0-9_.~-]+/[A-Za-z0-9_.~/-]+").fullmatch
# The actors that older versions recorded for Setpoint's own controllers.
_MASTERS = "system:masters"
_SYSTEM_ACCOUNTS = "system:serviceaccount:kube-system:"
_is_plain_reason = re.compile(r"[A-Za-z0-9_.~-]+/[A-Za-z0-9_.~-]*/[A-Za-z0-9_.~-]*/[A-Za-z0-9_.~/-]*").fullmatch


class Actor(msgspec.Struct, frozen=True, array_like=True):
    """The author of a write: the effective user of the request, the field manager, and the real user if that user
    impersonates another one."""

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
    """The reason of a reconcile: the event, the object and its revision. The revision identifies the write, and thus
    its actor and its own cause."""

    # The name of the trigger: created, updated, deleted, initial, timer, retry, requested, …
    event: str
    # `Kind.group`; empty if the trigger is not an object.
    kind: str = ""
    # `namespace/name`, or a bare name; the name of the source if the trigger is not an object.
    object: str = ""
    revision: str = ""

    def to_text(self) -> str:
        parts = (self.event, self.kind, self.revision, self.object)
        if _is_plain_reason(text := "/".join(parts)):
            return text
        return "/".join(quote(part, safe="/" if part is self.object else "") for part in parts)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parses the result of `to_text`. Raises ValueError."""
        parts = _parts(text, 4)
        if len(parts) < 4 or not parts[0] or not "".join(parts).isprintable():
            raise ValueError("a reason should read EVENT/KIND/REVISION/OBJECT")
        event, kind, revision, object_ = parts
        return cls(event, kind, object_, revision)


class Cause(msgspec.Struct, frozen=True, array_like=True):
    """The cause of a write: a request, or one reconcile of one object by one controller."""

    id: str
    # Both are empty for a request. `key` is the reconciled object: `namespace/name`, or a bare name.
    controller: str = ""
    key: str = ""
    # The reasons of that reconcile, as many as fit.
    because: tuple[Reason, ...] = ()
    # The user that claims that the write came from this reconcile. Empty: a controller of the server itself, or a user
    # with that permission, made the statement. None: an older version wrote the entry without a check.
    claimed_by: str | None = None

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
        """Returns a reconcile as a header: `controller/id/key?reason&reason`, percent-encoded where needed. Reasons
        that exceed the maximum length or number are omitted."""
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
        """Parses the result of `to_header`. Raises ValueError for all other texts, because the log keeps the cause."""
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
        """Returns the same cause as a claim of a user; an empty user makes the cause verified."""
        return type(self)(self.id, self.controller, self.key, self.because, user)

    def claimant(self, actor: Actor) -> str:
        """Returns the user that claims that an actor's write came from this reconcile. Empty if the cause is verified,
        and for a request, which the server itself recorded."""
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
    """Splits the text at slashes into at most `number` parts, and decodes them if needed."""
    parts = text.split("/", number - 1)
    return list(map(unquote, parts)) if "%" in text else parts
