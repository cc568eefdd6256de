"""The output of real processes in real logs: all of it, followed while it comes, through files that fill up."""

import asyncio
from pathlib import Path

from tests.workload.process.stage import Recorder, Stage

from setpoint.objects.clock import SystemClock
from setpoint.workload.logs.capture import Capture, Limits
from setpoint.workload.logs.file_follower import FollowedFile
from setpoint.workload.logs.log_reader import read
from setpoint.workload.logs.options import LogOptions


async def test_a_chatty_process_is_captured_whole_and_followed_to_its_last_line(stage: Stage, tmp_path: Path) -> None:
    clock = SystemClock()
    out = Capture(tmp_path, "stdout", clock, Limits(max_bytes=100_000, max_files=100))
    done = asyncio.Event()

    async def follow() -> bytes:
        wanted = LogOptions(follow=True)
        return b"".join([data async for data in read({"stdout": out}, wanted, done, clock)])

    follower = asyncio.ensure_future(follow())
    for _ in range(2):
        out.begin()
        running = await stage.processes.start(stage.command("seq", "200000"), out, Recorder())
        assert (await running.wait()).code == 0
    await running.drained()
    done.set()
    expected = b"".join(b"%d\n" % number for number in range(1, 200_001)) * 2
    assert await follower == expected
    assert out.complete() == 400_000
    assert len(list(tmp_path.glob("*.log"))) > 20
    out.remove()


async def test_a_kept_process_s_file_is_a_log(stage: Stage, tmp_path: Path) -> None:
    clock, done = SystemClock(), asyncio.Event()
    log = FollowedFile(tmp_path / "out", clock)
    command = stage.command("seq", "50000", keep=True)
    running = await stage.processes.start(command, tmp_path / "out", tmp_path / "err")
    await running.wait()
    log.close()
    done.set()
    wanted = LogOptions(follow=True, tail=2, line_numbers=True)
    last = b"".join([data async for data in read({"stdout": log}, wanted, done, clock)])
    assert last == b"49999 49999\n50000 50000\n"
    log.remove()
