"""Writes an archive in two passes: the first collects the secrets, the second writes everything with secrets masked.

Memory holds one page of the log, the names and secrets of objects, and with `since` the initial state. The file is
written atomically.
"""

import io
import os
import platform
import zipfile
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from setpoint.objects.clock import Clock
from setpoint.objects.times import format_micro_time
from setpoint.past.archive.format import FORMAT, MANIFEST, REVISIONS, ArchivedRevision, LogOf, Manifest
from setpoint.session.archive.secrets import Secrets
from setpoint.session.archive.sources import ArchiveSource, Owner, lines
from setpoint.session.archive.telemetry import write_telemetry
from setpoint.store.contract import LogEntry
from setpoint.version import VERSION
from setpoint.workload.kinds.api_names import GROUP, LOGGED

_OBJECT = b'{"apiVersion":'
_encode = msgspec.json.Encoder().encode


class ArchiveContents(NamedTuple):
    """The contents of an archive."""

    app: str
    session: str
    # The earliest time of changes to include; None for all.
    since: datetime | None = None
    logs: bool = True
    # Additional text files by name; secrets are masked in them.
    texts: Mapping[str, str] = {}
    # The directory of traces, metrics and logs of services, and the key of its receiver, which is masked.
    telemetry: Path | None = None
    telemetry_key: str = ""


class Written(NamedTuple):
    """The manifest and size of a written archive."""

    manifest: Manifest
    size: int


async def write_archive(path: Path, source: ArchiveSource, wanted: ArchiveContents, clock: Clock) -> Written:
    """Writes an archive. Raises OSError, StoreError, APIError, TransportError, and then leaves no file."""
    made = path.with_name(f".{path.name}.part")
    try:
        descriptor = os.open(made, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                manifest = await _Writing(archive, source, wanted, clock).write()
            file.flush()
            os.fsync(file.fileno())
        size = made.stat().st_size
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return Written(manifest, size)


class _Writing:
    def __init__(self, archive: zipfile.ZipFile, source: ArchiveSource, wanted: ArchiveContents, clock: Clock) -> None:
        self._archive, self._source, self._wanted, self._clock = archive, source, wanted, clock
        self._secrets = Secrets()
        # The keys of objects, and the workloads that may have logs.
        self._keys: set[str] = set()
        self._owners: dict[tuple[str, int], Owner] = {}
        self._begin = 0

    async def write(self) -> Manifest:
        _, current = await self._source.bounds()
        await self._collect_secrets(current)
        number = await self._revisions(current)
        oldest, _ = await self._source.bounds()
        written = await self._logs() if self._wanted.logs else []
        if self._wanted.logs and self._wanted.telemetry is not None:
            write_telemetry(self._archive, self._wanted.telemetry, self._wanted.since, self._secrets, self._new)
        for name, text in self._wanted.texts.items():
            self._archive.writestr(self._new(name), self._secrets.text(text))
        manifest = Manifest(
            FORMAT,
            VERSION,
            self._wanted.app,
            self._wanted.session,
            format_micro_time(self._clock.now()),
            max(oldest, self._begin),
            current,
            number,
            written,
            platform.python_version(),
            platform.platform(),
            list(self._source.notes),
        )
        self._archive.writestr(self._new(MANIFEST), msgspec.json.format(_encode(manifest)))
        return manifest

    def _new(self, name: str) -> zipfile.ZipInfo:
        """Returns the header of a new file in the archive."""
        made = zipfile.ZipInfo(name, self._clock.now().timetuple()[:6])
        made.compress_type = zipfile.ZIP_DEFLATED
        made.external_attr = 0o600 << 16
        return made

    async def _entries(self, until: int) -> AsyncIterator[LogEntry]:
        """Yields the entries of objects up to a revision."""
        async for entries in self._source.entries():
            for entry in entries:
                if entry.revision > until:
                    return
                is_object = entry.value is not None and entry.value.startswith(_OBJECT)
                if is_object or entry.purged is not None:
                    self._keys.add(entry.key)
                    yield entry
                elif entry.value is None and entry.key in self._keys:
                    yield entry

    async def _collect_secrets(self, until: int) -> None:
        since = self._wanted.since.timestamp() if self._wanted.since is not None else None
        async for entry in self._entries(until):
            if since is not None and entry.time < since:
                self._begin = entry.revision
            if entry.value is not None:
                self._secrets.record(entry.key.rpartition("/")[2], entry.value)
                self._note_owner(entry, entry.value)
        self._secrets.record_value(self._wanted.telemetry_key)
        self._secrets.compile()

    def _note_owner(self, entry: LogEntry, value: bytes) -> None:
        _, group, resource, name = entry.key.split("/", 3)
        if group == GROUP and resource in LOGGED and (entry.key, entry.created) not in self._owners:
            uid = msgspec.json.decode(value)["metadata"]["uid"]
            self._owners[entry.key, entry.created] = Owner(uid, LOGGED[resource], name)

    async def _revisions(self, until: int) -> int:
        """Writes the log of revisions and returns the number of lines."""
        number = 0
        state: dict[str, LogEntry] = {}
        with self._archive.open(self._new(REVISIONS), "w", force_zip64=True) as file:
            out = io.BufferedWriter(file, 1 << 16)

            def put(entry: LogEntry) -> None:
                nonlocal number
                value = None if entry.value is None else self._secrets.object(entry.value)
                out.write(_encode(ArchivedRevision.of(entry, value)) + b"\n")
                number += 1

            async for entry in self._entries(until):
                if entry.revision <= self._begin:
                    # Only the final state of earlier revisions is included.
                    state.pop(entry.key, None)
                    if entry.value is not None or entry.purged is not None:
                        state[entry.key] = entry
                    continue
                for each in state.values():
                    put(each)
                state = {}
                put(entry)
            for each in state.values():
                put(each)
            out.flush()
            out.detach()
        return number

    async def _logs(self) -> list[LogOf]:
        written = []
        for log in await self._source.logs(list(self._owners.values())):
            pieces = lines(self._source.output(log, self._wanted.since))
            first = await anext(pieces, b"")
            if not first:
                continue
            with self._archive.open(self._new(log.path), "w", force_zip64=True) as file:
                file.write(self._secrets.output(first))
                async for piece in pieces:
                    file.write(self._secrets.output(piece))
            written.append(log)
        return written
