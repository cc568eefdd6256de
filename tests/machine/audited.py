"""Runs processes, files and logs with the portable layer, and fails on every function of Linux that it must not use.

    python -m tests.machine.audited DIRECTORY

psutil may read /proc; our modules may not. The same hook runs in the guardian.
"""

import asyncio
import os
import sys
from pathlib import Path

HOOK = """
import os as _os, sys as _sys
def _forbidden(*_args, **_named): raise SystemError("a function of Linux is used by the portable layer")
for _name in ("pidfd_open", "memfd_create", "pipe2", "eventfd"):
    if hasattr(_os, _name): setattr(_os, _name, _forbidden)
def _hook(event, arguments):
    if event == "ctypes.dlsym" and arguments[1] in ("prctl", "inotify_init1", "inotify_add_watch"):
        _os.write(2, b"FORBIDDEN " + arguments[1].encode() + b"\\n"); _os._exit(99)
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        frame = _sys._getframe(1)
        if "/src/setpoint/" in frame.f_code.co_filename:
            _os.write(2, f"FORBIDDEN {arguments[0]} {frame.f_code.co_filename}\\n".encode()); _os._exit(99)
_sys.addaudithook(_hook)
"""


async def main(directory: Path) -> None:
    from setpoint.machine.chosen import system
    from setpoint.objects.clock import SystemClock
    from setpoint.objects.ids import SystemIds
    from setpoint.workload.filewatch.notifier import open_notifier
    from setpoint.workload.filewatch.patterns import root_of
    from setpoint.workload.filewatch.watcher import Watcher
    from setpoint.workload.ignore_patterns import by_git
    from setpoint.workload.logs.file_follower import FollowedFile
    from setpoint.workload.process import link
    from setpoint.workload.process.command import Command
    from setpoint.workload.process.exit_wait import wait_exit
    from setpoint.workload.process.processes import Processes
    from setpoint.workload.proxy.holder import holder_of

    assert system.NAME == "portable"
    link._PROGRAM = HOOK + link._PROGRAM
    clock = SystemClock()
    processes = Processes(clock, SystemIds(), {})
    cookie = processes.cookie("uid", keep=True)
    environ = {"PATH": os.environ["PATH"]}
    command = Command("sh", ("-c", "echo hello; sleep 1000 & wait"), environ, "/", cookie, keep=True)
    running = await processes.start(command, directory / "out", directory / "err")
    ended = asyncio.ensure_future(wait_exit(running.identity, clock))
    stopped = await processes.stop(running, grace=5)
    assert stopped.signalled == 2, stopped
    assert not stopped.left
    await ended
    queue: asyncio.Queue[list[str]] = asyncio.Queue()
    watcher = Watcher([root_of(".", str(directory))], by_git([]), 0.01, queue.put_nowait, clock)
    notifier = open_notifier()
    await watcher.start(notifier)
    assert not watcher.problem, watcher.problem
    (directory / "changed").touch()
    assert await queue.get() == [str(directory / "changed")]
    watcher.close()
    assert not isinstance(notifier, OSError)
    notifier.close()
    FollowedFile(directory / "out", clock).release()
    holder_of(1)
    await processes.sweep()
    await processes.close()
    sys.stdout.write("done\n")


if __name__ == "__main__":
    exec(HOOK)
    asyncio.run(asyncio.wait_for(main(Path(sys.argv[1])), 60))
