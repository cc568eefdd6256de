"""The format of an archive: a zip file with the manifest `setpoint.json`, `revisions.jsonl` with one line per revision
of an object, `logs/UID/SOURCE.log` in the format of `setpoint logs -t`, and `telemetry/NUMBER.jsonl` with one span, log
record or metric point per line. Other files are for human readers.

Archives are untrusted: invalid, damaged or malicious files raise `BadArchive` with the reason.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from setpoint.objects.provenance import Actor, Cause, Reason
from setpoint.objects.times import format_micro_time, parse_micro_time
from setpoint.server.registry.storage import Encoding
from setpoint.store.contract import LogEntry, Purge
from setpoint.store.keys import check_key

FORMAT = 1
MANIFEST = "setpoint.json"
REVISIONS = "revisions.jsonl"
LONGEST_LINE = 16 << 20
_log_name = re.compile(r"logs/(?P<uid>[A-Za-z0-9][A-Za-z0-9-]{0,63})/(?P<source>[a-z_]{1,32})\.log").fullmatch


class BadArchive(Exception):  # noqa: N818 - says what it is
    """Raised for a file that cannot be opened as an archive, with the reason and remedy."""


class LogOf(msgspec.Struct, frozen=True):
    """The workload and stream of a log."""

    uid: str
    source: str
    kind: str = ""
    name: str = ""

    @property
    def path(self) -> str:
        return f"logs/{self.uid}/{self.source}.log"


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The manifest of an archive."""

    format: int
    setpoint: str
    app: str
    session: str
    # The time of the export (RFC 3339, with microseconds).
    exported: str
    # The oldest revision at which all objects can be read, and the last revision.
    oldest: int
    revision: int
    # The number of lines in the log of revisions.
    revisions: int
    logs: list[LogOf] = []
    python: str = ""
    system: str = ""
    # The objects that the archive lacks, with the reasons.
    notes: list[str] = []


def log_of(name: str) -> LogOf | None:
    """Parses the name of a log file in the archive; None for other files."""
    found = _log_name(name)
    return LogOf(found["uid"], found["source"]) if found is not None else None


class _ActorRecord(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
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


class ArchivedRevision(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the log of revisions: the change of one object, with author, time and cause. The server's API uses the
    same format, with numbers as strings.
    """

    revision: int
    key: str
    time: str
    # The object as JSON; null if deleted or purged.
    value: msgspec.Raw
    previous: int = 0
    created: int = 0
    actor: _ActorRecord = _ActorRecord()
    cause: _Why | None = None
    # The tombstone of a purged value.
    purged: _Purged | None = None

    @classmethod
    def of(cls, entry: LogEntry, value: bytes | None) -> "ArchivedRevision":
        """Returns the line of an entry, with the given value instead of its own."""
        actor, cause = entry.actor, entry.cause
        who = _ActorRecord(actor.user, actor.groups, actor.uid, actor.field_manager, actor.impersonator)
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

    def entry(self, value: bytes | None) -> LogEntry:
        """Returns the entry of this line, with the given value. Raises ValueError."""
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
        return LogEntry(self.revision, self.key, value, self.previous, self.created, time, actor, cause, purge)


_decode_line = msgspec.json.Decoder(ArchivedRevision).decode
_decode_tree = msgspec.json.Decoder(dict).decode


class Lines:
    """Reads the lines of an archive and checks that they form a consistent log."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._last = 0
        self._number = 0
        # The last revision of each key, and whether the object exists.
        self._numbers: dict[str, tuple[int, bool]] = {}
        self._encodings: dict[tuple[str, str], Encoding] = {}

    def read(self, lines: Iterator[bytes]) -> Iterator[LogEntry]:
        """Yields the entries of the lines. Raises BadArchive."""
        for line in lines:
            self._number += 1
            try:
                yield self._entry(line)
            except (ValueError, LookupError, TypeError, msgspec.DecodeError) as error:
                raise BadArchive(f"{REVISIONS}: line {self._number} is invalid: {error}") from None
        if self._number != self._manifest.revisions:
            raise BadArchive(f"{REVISIONS} has {self._number} lines, expected {self._manifest.revisions}")

    def _entry(self, text: bytes) -> LogEntry:
        line = _decode_line(text)
        check_key(line.key)
        if not self._last <= line.revision <= self._manifest.revision or line.revision < 1:
            raise ValueError(f"revision {line.revision} does not follow {self._last}")
        known, is_there = self._numbers.get(line.key, (0, False))
        if known == line.revision:
            raise ValueError(f"revision {line.revision} writes {line.key} twice")
        wanted = known if is_there else 0
        if line.revision > self._manifest.oldest and line.previous != wanted:
            raise ValueError(f"the previous revision is {line.previous} for {line.key}, expected {wanted or 'none'}")
        value = self._value(bytes(line.value))
        self._last = line.revision
        self._numbers[line.key] = line.revision, value is not None or line.purged is not None
        return line.entry(value)

    def _value(self, raw: bytes) -> bytes | None:
        """Returns the object in the encoding of stores, with sorted fields."""
        if raw == b"null":
            return None
        tree: dict[str, Any] = _decode_tree(raw)
        kind = str(tree["apiVersion"]), str(tree["kind"])
        if not tree["metadata"]["name"]:
            raise ValueError("an object without name")
        if kind not in self._encodings:
            self._encodings[kind] = Encoding(*kind)
        return self._encodings[kind].encode(tree)
