"""What is in an archive: a zip file with `setpoint.json`, which says what it is, `revisions.jsonl`, a line for each
revision of an object, and `logs/UID/SOURCE.log`, as `setpoint logs -t` prints it. Whatever else is in it is for people.

A reader takes nothing on trust: what is no archive, or damaged, or made to do harm, is a `BadArchive` that says so.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from setpoint.objects.provenance import Actor, Cause, Reason
from setpoint.objects.times import format_micro_time, parse_micro_time
from setpoint.server.registry.storage import Encoding
from setpoint.store.contract import Entry, Purge
from setpoint.store.keys import check_key

FORMAT = 1
MANIFEST = "setpoint.json"
REVISIONS = "revisions.jsonl"
LONGEST_LINE = 16 << 20
_log_name = re.compile(r"logs/(?P<uid>[A-Za-z0-9][A-Za-z0-9-]{0,63})/(?P<source>[a-z_]{1,32})\.log").fullmatch


class BadArchive(Exception):  # noqa: N818 - says what it is
    """A file that cannot be opened as an archive; says why, and what to do."""


class LogOf(msgspec.Struct, frozen=True):
    """Whose output a log is."""

    uid: str
    source: str
    kind: str = ""
    name: str = ""

    @property
    def path(self) -> str:
        return f"logs/{self.uid}/{self.source}.log"


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an archive says of itself."""

    format: int
    setpoint: str
    app: str
    session: str
    # When it was made, to the microsecond, as RFC 3339.
    exported: str
    # The first revision at which everything can be read, and the last.
    oldest: int
    revision: int
    # How many lines of the log there are.
    revisions: int
    logs: list[LogOf] = []
    python: str = ""
    system: str = ""


def log_of(name: str) -> LogOf | None:
    """Which log a file of the archive is, if it is one."""
    found = _log_name(name)
    return LogOf(found["uid"], found["source"]) if found is not None else None


class _Who(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    field_manager: str = ""
    impersonator: str = ""


class _Because(msgspec.Struct, frozen=True, omit_defaults=True):
    event: str = ""
    kind: str = ""
    object: str = ""
    revision: str = ""


class _Why(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    id: str = ""
    controller: str = ""
    key: str = ""
    because: tuple[_Because, ...] = ()
    verified: bool = False
    claimed_by: str = ""


class _Purged(msgspec.Struct, frozen=True):
    user: str
    time: str
    reason: str


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the log: what one revision did to one object, who did it, when and why. The server tells the log in
    the same words, with its numbers as texts."""

    revision: int
    key: str
    time: str
    # The object as of then, as JSON; null: it was deleted, or its value was purged.
    value: msgspec.Raw
    previous: int = 0
    created: int = 0
    actor: _Who = _Who()
    cause: _Why | None = None
    # The tombstone, where the value was purged.
    purged: _Purged | None = None

    @classmethod
    def of(cls, entry: Entry, value: bytes | None) -> "Line":
        """An entry, with the value that is to be told in the place of its own."""
        actor, cause = entry.actor, entry.cause
        who = _Who(actor.user, actor.groups, actor.uid, actor.field_manager, actor.impersonator)
        why = None
        if cause is not None:
            because = tuple(_Because(each.event, each.kind, each.object, each.revision) for each in cause.because)
            claimant = cause.claimant(actor)
            why = _Why(cause.id, cause.controller, cause.key, because, cause.is_reconcile and not claimant, claimant)
        time = format_micro_time(datetime.fromtimestamp(entry.time, UTC))
        raw = msgspec.Raw(b"null" if value is None else value)
        purged = None
        if entry.purged is not None:
            user, moment, reason = entry.purged
            purged = _Purged(user, format_micro_time(datetime.fromtimestamp(moment, UTC)), reason)
        return cls(entry.revision, entry.key, time, raw, entry.previous, entry.created, who, why, purged)

    def entry(self, value: bytes | None) -> Entry:
        """The entry that it tells of, with its value. Raises ValueError."""
        who, why = self.actor, self.cause
        actor = Actor(who.user, who.groups, who.uid, who.field_manager, who.impersonator)
        cause = None
        if why is not None:
            because = tuple(Reason(each.event, each.kind, each.object, each.revision) for each in why.because)
            claimed_by = "" if why.verified else why.claimed_by or None
            cause = Cause(why.id, why.controller, why.key, because, claimed_by)
        time = parse_micro_time(self.time).timestamp()
        purge = None
        if self.purged is not None and value is None:
            purge = Purge(self.purged.user, parse_micro_time(self.purged.time).timestamp(), self.purged.reason)
        return Entry(self.revision, self.key, value, self.previous, self.created, time, actor, cause, purge)


_decode_line = msgspec.json.Decoder(Line).decode
_decode_tree = msgspec.json.Decoder(dict).decode


class Lines:
    """Reads the lines of an archive one by one, and sees to it that they make a log."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._last = 0
        self._number = 0
        # The revision that each key was last written at, and whether it is there.
        self._known: dict[str, tuple[int, bool]] = {}
        self._encodings: dict[tuple[str, str], Encoding] = {}

    def read(self, lines: Iterator[bytes]) -> Iterator[Entry]:
        """Raises BadArchive."""
        for line in lines:
            self._number += 1
            try:
                yield self._entry(line)
            except (ValueError, LookupError, TypeError, msgspec.DecodeError) as error:
                raise BadArchive(f"{REVISIONS}, line {self._number}, is no line of a log: {error}") from None
        if self._number != self._manifest.revisions:
            raise BadArchive(f"{REVISIONS} has {self._number} lines, and should have {self._manifest.revisions}")

    def _entry(self, text: bytes) -> Entry:
        line = _decode_line(text)
        check_key(line.key)
        if not self._last <= line.revision <= self._manifest.revision or line.revision < 1:
            raise ValueError(f"revision {line.revision} does not follow {self._last}")
        known, is_there = self._known.get(line.key, (0, False))
        if known == line.revision:
            raise ValueError(f"revision {line.revision} writes {line.key} twice")
        wanted = known if is_there else 0
        if line.revision > self._manifest.oldest and line.previous != wanted:
            raise ValueError(f"it follows revision {line.previous} of {line.key}, and there was {wanted or 'none'}")
        value = self._value(bytes(line.value))
        self._last = line.revision
        self._known[line.key] = line.revision, value is not None or line.purged is not None
        return line.entry(value)

    def _value(self, raw: bytes) -> bytes | None:
        """An object as stores have it, whatever the order of its fields was."""
        if raw == b"null":
            return None
        tree: dict[str, Any] = _decode_tree(raw)
        kind = str(tree["apiVersion"]), str(tree["kind"])
        if not tree["metadata"]["name"]:
            raise ValueError("an object has no name")
        if kind not in self._encodings:
            self._encodings[kind] = Encoding(*kind)
        return self._encodings[kind].encode(tree)
