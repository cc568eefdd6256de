"""A host that does not know its app yet. It gets ready while the app file is still being read and checked, and is told
then what to host; until that nothing of it is to be seen, and when nobody wants it, it is gone.

It saves who waits for their app about a sixth of the time.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from setpoint.workload.process import detached_process

# What a host imports in any case, by the time it serves.
_NEEDED = (
    "setpoint.plane",
    "setpoint.schema.cel",
    "setpoint.server.edge.certificates",
    "setpoint.server.edge.listener",
    "setpoint.server.edge.tls",
    "setpoint.session.controllers.supervisor",
    "setpoint.session.controllers.page",
    "setpoint.store.sqlite.store",
    "setpoint.workload.assembly",
    "setpoint.workload.workloads",
)


class Orders(msgspec.Struct, frozen=True):
    """What to host: the arguments of the host, and the file of its log."""

    arguments: list[str]
    log: str


class Standby:
    """Such a host, for those who start it. Raises OSError."""

    def __init__(self, environ: Mapping[str, str], file: Path) -> None:
        self._has_orders = False
        # The file is for those who look at what runs on their machine, and wonder.
        self._process = detached_process.start_module(
            __name__, [str(file)], environ, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nobody wants it, unless it has had its orders."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for end in (self._process.stdin, self._process.stdout):
            end.close()
        if not self._has_orders:
            self._process.kill()
            self._process.wait()
            return
        detached_process.let_go(self._process)

    def host(self, arguments: Sequence[str], log: Path) -> bytes:
        """Has it host an app; what it says to that. Raises OSError where it is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._has_orders = True
        with self._process.stdin as orders:
            orders.write(msgspec.json.encode(Orders(list(arguments), str(log))) + b"\n")
        return self._process.stdout.read()


def main() -> int:
    """Gets ready, waits for its orders, and is a host. Returns the exit code."""
    import gc
    from importlib import import_module

    # Modules are no garbage, and looking for some among them takes a tenth of the time; a host begins again.
    gc.disable()
    from setpoint.session import host

    for name in _NEEDED:
        import_module(name)
    with open(0, "rb") as stdin:
        line = stdin.readline()
    if not line:
        return 0
    orders = msgspec.json.decode(line, type=Orders)
    log = os.open(orders.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, own in ((log, 2), (nothing, 0)):
        os.dup2(descriptor, own)
        if descriptor != own:
            os.close(descriptor)
    return host.main(orders.arguments)


if __name__ == "__main__":
    sys.exit(main())
