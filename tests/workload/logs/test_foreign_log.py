"""Logs that DCP's own controllers write, as clients read them."""

from pathlib import Path
from typing import Any

import pytest

from setpoint.objects.clock import SystemClock
from setpoint.workload.logs.foreign_log import foreign_lines
from setpoint.workload.logs.options import LogOptions

MARKED = b"".join(b"%d 2026-01-02T03:04:05.00%dZ line %d\n" % (number, number, number) for number in range(1, 6))


async def read(path: Path, over: bool = True, **options: Any) -> bytes:
    async def is_over() -> bool:
        return over

    return b"".join([each async for each in foreign_lines(path, LogOptions(**options), is_over, SystemClock())])


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, b"line 1\nline 2\nline 3\nline 4\nline 5\nrest"),
        ({"tail": 1}, b"line 5\nrest"),
        ({"skip": 4}, b"line 5\nrest"),
        ({"skip": 1, "limit": 2}, b"line 2\nline 3\n"),
        ({"limit": 1, "timestamps": True}, b"2026-01-02T03:04:05.001Z line 1\n"),
        ({"limit": 1, "skip": 2, "line_numbers": True}, b"3 line 3\n"),
        ({"follow": True, "skip": 4}, b"line 5\nrest"),
    ],
)
async def test_marked_lines_are_read_as_the_options_say(tmp_path: Path, options: dict[str, Any], found: bytes) -> None:
    path = tmp_path / "out"
    path.write_bytes(MARKED + b"6 2026-01-02T03:04:05.006Z rest")
    assert await read(path, **options) == found


async def test_plain_lines_and_missing_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"one\ntwo\n")
    assert await read(tmp_path / "plain", timestamps=True) == b"one\ntwo\n"
    assert await read(tmp_path / "none") == b""


async def test_following_ends_after_the_lines_that_were_written_before_the_end(tmp_path: Path) -> None:
    path, asked = tmp_path / "out", 0

    async def is_over() -> bool:
        nonlocal asked
        asked += 1
        if asked <= 3:
            with path.open("ab") as file:
                file.write(b"%d\n" % asked)
        return asked >= 3

    options = LogOptions(follow=True)
    assert b"".join([each async for each in foreign_lines(path, options, is_over, SystemClock())]) == b"1\n2\n3\n"


async def test_following_reads_what_was_written_before_the_file_was_deleted(tmp_path: Path) -> None:
    path, asked = tmp_path / "out", 0
    path.write_bytes(b"one\n")

    async def is_over() -> bool:
        nonlocal asked
        asked += 1
        if asked == 2:
            with path.open("ab") as file:
                file.write(b"two\n")
            path.unlink()
        return asked >= 2

    options = LogOptions(follow=True)
    assert b"".join([each async for each in foreign_lines(path, options, is_over, SystemClock())]) == b"one\ntwo\n"
