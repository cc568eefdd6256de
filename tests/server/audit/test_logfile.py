"""The file: a line for each event, old files set aside, and a disk that is slow, full or gone."""

import gzip
import json
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.server.audit.audited import MAPS, audited

from setpoint.objects.clock import ManualClock
from setpoint.server.access.audit.audit_settings import Audit
from setpoint.server.access.audit.logfile import AuditFile, BatchLog, BlockingLog, open_log

START = datetime(2026, 1, 1, tzinfo=UTC)
MEGABYTE = 1 << 20


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("mode", ["batch", "blocking", "blocking-strict"])
async def test_events_are_lines_of_json_in_a_file_for_our_own_eyes(tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "logs" / "audit.log"
    log = open_log(Audit(log_path=str(path), log_mode=mode), ManualClock(START))
    async with audited("Metadata", sink=log) as server:
        for _ in range(50):
            await server.ask(MAPS)
        server.auditor.close()
    assert len(lines(path)) == 100
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_standard_output_is_a_log_too(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    log = open_log(Audit(log_path="-"), ManualClock(START))
    async with audited("Metadata", sink=log) as server:
        await server.ask(MAPS)
        server.auditor.close()
    assert [json.loads(line)["stage"] for line in capfdbinary.readouterr().out.splitlines()] == [
        "RequestReceived",
        "ResponseComplete",
    ]


def rotated(tmp_path: Path, **settings: Any) -> list[Path]:
    """The old files, after five of them were set aside, one a day."""
    clock = ManualClock(START)
    (tmp_path / "audit-notes.log").write_text("not ours")
    file = AuditFile(tmp_path / "audit.log", Audit(log_max_size=1, **settings), clock)
    for _ in range(6):
        file.append(b"x" * (MEGABYTE - 1) + b"\n")
        clock.advance(86400)
    file.close()
    assert (tmp_path / "audit.log").stat().st_size == MEGABYTE
    assert (tmp_path / "audit-notes.log").exists()
    return sorted(path for path in tmp_path.iterdir() if path.name.startswith("audit-2"))


def test_a_file_that_grew_too_large_is_set_aside(tmp_path: Path) -> None:
    found = rotated(tmp_path)
    assert [path.name for path in found[:2]] == [
        "audit-2026-01-02T00-00-00.000.log",
        "audit-2026-01-03T00-00-00.000.log",
    ]
    assert len(found) == 5
    assert {path.stat().st_size for path in found} == {MEGABYTE}


def test_old_files_are_deleted_when_they_are_too_many_or_too_old(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert [path.name[:16] for path in rotated(tmp_path / "a", log_max_backup=2)] == [
        "audit-2026-01-05",
        "audit-2026-01-06",
    ]
    assert [path.name[:16] for path in rotated(tmp_path / "b", log_max_age=1)] == [
        "audit-2026-01-05",
        "audit-2026-01-06",
    ]


def test_old_files_may_be_compressed(tmp_path: Path) -> None:
    found = rotated(tmp_path, log_compress=True, log_max_backup=1)
    [path] = found
    assert path.name == "audit-2026-01-06T00-00-00.000.log.gz"
    assert gzip.decompress(path.read_bytes()) == b"x" * (MEGABYTE - 1) + b"\n"


class Stuck:
    """A disk that takes nothing until it is let."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.written = b""

    def append(self, lines: bytes) -> None:
        self.free.wait(30)
        self.written += lines

    def close(self) -> None: ...


class Full:
    """A disk that is full, until it is not."""

    def __init__(self) -> None:
        self.is_full = True
        self.written = b""

    def append(self, lines: bytes) -> None:
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.written += lines

    def close(self) -> None: ...


async def test_a_disk_that_hangs_holds_up_no_request_and_what_is_lost_is_counted() -> None:
    disk = Stuck()
    log = BatchLog(disk, 10)
    async with audited("Metadata", sink=log) as server:
        for _ in range(50):
            assert (await server.ask(MAPS)).status == 200
        lost = (await server.metrics("apiserver_audit_error_total"))['{plugin="buffered"}']
        assert lost >= 100 - 10 - 10
        disk.free.set()
        server.auditor.close()
        assert len(disk.written.splitlines()) == 102 - log.errors()["buffered"]


async def test_a_full_disk_holds_up_no_request() -> None:
    for make in (lambda disk: BatchLog(disk, 100), BlockingLog):
        disk = Full()
        log = make(disk)
        async with audited("Metadata", sink=log) as server:
            assert (await server.ask(MAPS)).status == 200
            server.auditor.close()
        assert log.errors() == {"log": 2}


async def test_in_strict_mode_what_cannot_be_recorded_is_not_done() -> None:
    disk = Full()
    async with audited("Metadata", sink=BlockingLog(disk), strict=True) as server:
        body = {"metadata": {"name": "a"}}
        assert (await server.ask(MAPS, "POST", body)).status == 500
        disk.is_full = False
        assert (await server.ask(f"{MAPS}/a")).status == 404
        assert (await server.ask(MAPS, "POST", body)).status == 201
        assert (await server.metrics("apiserver_audit_requests_rejected_total"))[""] == 1


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = AuditFile(tmp_path / "audit.log", Audit(), ManualClock(START))
    raw = file._file
    with monkeypatch.context() as patch:
        patch.setattr(file, "_file", _Short(raw))
        with pytest.raises(OSError, match="No space"):
            file.append(b'{"a": 1}\n')
    file.append(b'{"b": 2}\n')
    file.close()
    assert (tmp_path / "audit.log").read_text().splitlines() == ['{"a"', '{"b": 2}']


class _Short:
    """A file whose disk is full after some bytes."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = 4

    def write(self, data: bytes) -> int:
        if not self._left:
            raise OSError(28, "No space left on device")
        written: int = self._file.write(bytes(data[: self._left]))
        self._left -= written
        return written
