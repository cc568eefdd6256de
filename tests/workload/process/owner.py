"""A stand-in for a control plane, made to be killed: starts processes of every sort, and stops and starts them anew.

    python -m tests.workload.process.owner NAP KEPT_NAP FOLDER

It prints its session first, `ready` when all have been started once, and goes on until somebody ends it.
"""

import asyncio
import sys
from itertools import cycle, islice
from pathlib import Path

from tests.workload.process.stage import PATH, SORTS, Recorder

from setpoint.client.loop import loop_factory
from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds
from setpoint.workload.process.command import Command
from setpoint.workload.process.processes import Processes

NUMBER = 20
GRACE = 0.1


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def main(nap: str, kept_nap: str, folder: Path) -> None:
    processes = Processes(SystemClock(), SystemIds(), {})
    say(processes.session)

    def command(uid: str, text: str, keep: bool) -> Command:
        return Command(
            "sh",
            ("-c", text.replace("NAP", kept_nap if keep else nap)),
            {"PATH": PATH},
            "/",
            processes.cookie(uid, keep=keep),
            keep=keep,
            grace=GRACE,
        )

    async def keep_busy(number: int, text: str) -> None:
        while True:
            running = await processes.start(command(f"uid-{number}", text, keep=False), Recorder(), Recorder())
            started.release()
            await asyncio.sleep(0.01 * number)
            if number % 2:
                await asyncio.sleep(1000)
            await processes.stop(running, grace=GRACE)

    started = asyncio.Semaphore(0)
    kept = await processes.start(
        command(f"kept-{kept_nap}", SORTS["forking"], keep=True), folder / "out", folder / "err"
    )
    (folder / "kept").write_text(kept.identity.text())
    busy = [asyncio.ensure_future(keep_busy(*which)) for which in enumerate(islice(cycle(SORTS.values()), NUMBER))]
    for _ in busy:
        await started.acquire()
    say("ready")
    await asyncio.gather(*busy)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
