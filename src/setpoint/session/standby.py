"""A standby host, which starts while the app file is still being read.

The standby imports its modules and waits for its orders; until then it has no visible effects, and if not needed, it is
killed. This saves about a sixth of the startup time of an app.
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

# The modules that every host imports.
_NEEDED = (
    "setpoint.plane",
    "setpoint.schema.cel",
    "setpoint.server.edge.certificates",
    "setpoint.server.edge.listener",
    "setpoint.server.edge.tls",
    "setpoint.session.controllers.supervisor",
    "setpoint.session.controllers.page",
    "setpoint.store.sqlite.store",
    "setpoint.workload.workload_host",
    "setpoint.workload.workloads",
)


class Orders(msgspec.Struct, frozen=True):
    """The orders for a standby host: the arguments of the host, and the path of its log."""

    arguments: list[str]
    log: str


class Standby:
    """A standby host from the view of its parent process. Raises OSError."""

    def __init__(self, environ: Mapping[str, str], file: Path) -> None:
        self._has_orders = False
        # The path of the app file is shown in process listings.
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
        """Kills the standby host if it has no orders."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for end in (self._process.stdin, self._process.stdout):
            end.close()
        if not self._has_orders:
            self._process.kill()
            self._process.wait()
            return
        detached_process.stop_tracking(self._process)

    def host(self, arguments: Sequence[str], log: Path) -> bytes:
        """Sends the orders and returns the answer of the host. Raises OSError if the host has exited."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._has_orders = True
        with self._process.stdin as orders:
            orders.write(msgspec.json.encode(Orders(list(arguments), str(log))) + b"\n")
        return self._process.stdout.read()


def main() -> int:
    """Imports modules, waits for orders, and becomes a host. Returns the exit code."""
    import gc
    from importlib import import_module

    # Importing creates no garbage; collections would take a tenth of the time. The host enables the collector later.
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
