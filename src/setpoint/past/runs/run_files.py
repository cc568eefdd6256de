"""The files of earlier runs. For each run, `NUMBER.json` has the record and `NUMBER.objects.gz` the snapshot of its
objects, one line of JSON for each; `current.json` has the beginning of the current run.

A record is written after its snapshot, and both in one step, so that a crash leaves a complete record or none. A
damaged file is skipped with a warning. All methods block.
"""

import gzip
import logging
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from setpoint.past.runs.record import RunObject, RunPart, RunRecord, resource_of
from setpoint.past.runs.settings import MOST_PINNED, RunSettings
from setpoint.store.contract import Item, Selection
from setpoint.store.files import make_directory, write_private

_CURRENT: Final = "current.json"
_RECORD: Final = ".json"
_OBJECTS: Final = ".objects.gz"
# The maximum bytes of a decompressed snapshot, above the largest setting with the names of the objects.
_MOST_BYTES: Final = 128 << 20
# The maximum number of characters in the name of a run.
_MOST_NAME: Final = 100
_UNREADABLE: Final = (OSError, ValueError, zlib.error)
T = TypeVar("T")
_log = logging.getLogger(__name__)
_line = msgspec.json.Decoder(RunObject)


class Refused(Exception):  # noqa: N818 - named for the state
    """Raised for a change of a record that is not possible, with the field and the remedy."""


class NoRun(LookupError):  # noqa: N818 - named for the state
    """Raised for a run without a record."""


class Damaged(Exception):  # noqa: N818 - named for the state
    """Raised for a snapshot that cannot be read."""


class RunFiles:
    """The files of the runs of one app."""

    def __init__(self, directory: Path, settings: RunSettings = RunSettings()) -> None:  # noqa: B008 - immutable
        self._directory, self._settings = directory, settings

    def records(self) -> list[RunRecord]:
        """Returns the records of the ended runs, newest first."""
        found = [self._read(path, RunRecord) for path in self._directory.glob(f"*{_RECORD}") if path.stem.isdigit()]
        return sorted(filter(None, found), key=lambda record: -record.number)

    def record(self, number: int) -> RunRecord:
        """Returns the record of an ended run. Raises NoRun."""
        found = self._read(self._path(number, _RECORD), RunRecord)
        if found is None:
            raise NoRun(f"run {number} is not recorded; `setpoint runs` lists the recorded ones")
        return found

    def objects(self, number: int) -> tuple[RunObject, ...]:
        """Returns the objects of an ended run; none without a snapshot. Raises Damaged."""
        path = self._path(number, _OBJECTS)
        try:
            return tuple(self._lines(path))
        except FileNotFoundError:
            return ()
        except _UNREADABLE as error:
            raise Damaged(f"{path}: the objects of run {number} cannot be read: {error}") from None

    def beginning(self) -> tuple[RunRecord | None, list[RunRecord], int]:
        """Returns the beginning of the run before if that run did not end normally, the records, and the number of the
        next run, which is greater than that of a damaged record."""
        current = self.current()
        numbers = [int(path.stem) for path in self._directory.glob(f"*{_RECORD}") if path.stem.isdigit()]
        numbers += [current.number] if current is not None else []
        return current, self.records(), max(numbers, default=0) + 1

    def current(self) -> RunRecord | None:
        """Returns the beginning of the run that has no record yet."""
        return self._read(self._directory / _CURRENT, RunRecord)

    def begin(self, record: RunRecord) -> None:
        """Writes the beginning of the current run. Raises OSError."""
        make_directory(self._directory)
        write_private(self._directory / _CURRENT, msgspec.json.encode(record))

    def discard_current(self) -> None:
        """Removes the beginning of a run that was recorded, or had no objects."""
        (self._directory / _CURRENT).unlink(missing_ok=True)

    def write(self, record: RunRecord, objects: tuple[RunObject, ...]) -> None:
        """Writes an ended run, and removes the runs that are not kept any more. Raises OSError."""
        make_directory(self._directory)
        if objects:
            self._write_objects(record.number, objects)
        write_private(self._path(record.number, _RECORD), msgspec.json.encode(record))
        self.discard_current()
        self._prune()

    def change(self, number: int, *, pinned: bool | None = None, name: str | None = None) -> RunRecord:
        """Pins, unpins or names a run. Raises NoRun, Refused and OSError."""
        if name is not None:
            _check_name(name)
        current = self.current()
        is_current = current is not None and current.number == number
        record = current if is_current and current is not None else self.record(number)
        if pinned and not record.pinned:
            self._check_pinned()
        changed = msgspec.structs.replace(
            record,
            pinned=record.pinned if pinned is None else pinned,
            name=record.name if name is None else name,
        )
        path = self._directory / _CURRENT if is_current else self._path(number, _RECORD)
        write_private(path, msgspec.json.encode(changed))
        return changed

    def has(self, key: str) -> bool:
        """Returns True if a snapshot has an object. A damaged snapshot may have any object."""
        for path in self._directory.glob(f"*{_OBJECTS}"):
            try:
                if any(each.key == key for each in self._lines(path)):
                    return True
            except _UNREADABLE:
                return True
        return False

    def purge(self, selection: Selection, log: str | None = None) -> int:
        """Removes the selected values of an object from the snapshots, and the states of its part from their records.
        The revisions of the selection are those of a log; by default, of the newest run. Returns the number of removed
        values. Raises OSError."""
        self._remove_unfinished()
        removed, key = 0, selection.key
        if log is None:
            latest = self.current() or next(iter(self.records()), None)
            log = latest.log if latest is not None else ""
        for path in list(self._directory.glob(f"*{_OBJECTS}")):
            record = self._read(path.with_name(path.name.removesuffix(_OBJECTS) + _RECORD), RunRecord)
            try:
                objects = tuple(self._lines(path)) if record is not None else ()
            except _UNREADABLE:
                objects = ()
            if record is None or not objects:
                # Without its record or its text, a snapshot has no use, but may have the value.
                path.unlink(missing_ok=True)
                continue
            meant = {place for place, each in enumerate(objects) if _is_selected(selection, record, each, log)}
            if not meant:
                continue
            without = RunObject(key, 0, purged=True)
            self._write_objects(
                record.number, tuple(without if place in meant else each for place, each in enumerate(objects))
            )
            removed += sum(not objects[place].purged for place in meant)
            parts = tuple(_without_state(part, key) for part in record.parts)
            purged = msgspec.structs.replace(record, parts=parts)
            write_private(self._path(record.number, _RECORD), msgspec.json.encode(purged))
        return removed

    def _check_pinned(self) -> None:
        pinned = [each.number for each in (*self.records(), self.current()) if each is not None and each.pinned]
        if len(pinned) >= MOST_PINNED:
            remedy = f"unpin one first, such as `setpoint runs unpin {min(pinned)}`"
            raise Refused(f"pinned: {MOST_PINNED} runs are pinned, which is the maximum; {remedy}")

    def _prune(self) -> None:
        """Removes the oldest runs beyond the number to keep, and snapshots without a record."""
        self._remove_unfinished()
        unpinned = [record.number for record in self.records() if not record.pinned]
        for number in unpinned[self._settings.keep :]:
            self._path(number, _RECORD).unlink(missing_ok=True)
        for path in self._directory.glob(f"*{_OBJECTS}"):
            if not path.with_name(path.name.removesuffix(_OBJECTS) + _RECORD).exists():
                path.unlink(missing_ok=True)

    def _remove_unfinished(self) -> None:
        """Removes the files of writes that a crash interrupted."""
        for path in self._directory.glob(".*.new"):
            path.unlink(missing_ok=True)

    def _read(self, path: Path, type_: type[T]) -> T | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=type_)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            _log.warning("%s: skipped the record of a run that cannot be read: %s", path, error)
            return None

    def _lines(self, path: Path) -> Iterator[RunObject]:
        reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        text = reader.decompress(path.read_bytes(), _MOST_BYTES)
        if not reader.eof:
            raise ValueError("the file is incomplete or too large")
        for line in text.split(b"\n"):
            yield _line.decode(line)

    def _write_objects(self, number: int, objects: tuple[RunObject, ...]) -> None:
        text = b"\n".join(map(msgspec.json.encode, objects))
        write_private(self._path(number, _OBJECTS), gzip.compress(text, mtime=0))

    def _path(self, number: int, suffix: str) -> Path:
        return self._directory / f"{number:06}{suffix}"


def past_of(selection: Selection, item: Item | None, revision: int) -> Selection:
    """Returns a selection without the current value of the object, which a purge spares, and without values that are
    written after a revision."""
    last = revision if item is None else item.revision - 1
    return selection._replace(through=last if selection.through is None else min(last, selection.through))


def _check_name(name: str) -> None:
    if len(name) > _MOST_NAME:
        raise Refused(f"name: must have at most {_MOST_NAME} characters")
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise Refused("name: must not contain control characters")


def _is_selected(selection: Selection, record: RunRecord, found: RunObject, log: str) -> bool:
    """Returns True for a value that a purge removes. Values of other logs are older than all revisions of this one;
    with `since`, which restricts a purge to the current namespace, they are not selected."""
    if found.key != selection.key:
        return False
    if record.log != log:
        return not selection.since
    return found.revision >= selection.since and (selection.through is None or found.revision <= selection.through)


def _without_state(part: RunPart, key: str) -> RunPart:
    """Returns a part with its names only if the key is that of its object."""
    if part.group_resource != resource_of(key) or key.rpartition("/")[2] != part.name:
        return part
    return RunPart(part.kind, part.name, part.resource, part.group, purged=True)
