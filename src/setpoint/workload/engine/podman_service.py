"""Podman's API on a machine where no socket of Podman responds: `podman system service`, started by us.

The service ends when asked to, and by itself a few seconds after its last connection, so that none is left of a killed
control plane, whose guardian first removes its containers through the same service. The service runs beside the
guardian and not below: the guardian would end the monitors of persistent containers with the session.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from setpoint.objects.clock import Clock
from setpoint.workload.process import detached_process

# The guardian connects again within a second, and the events of an engine are one permanent connection.
_IDLE_SECONDS = 5
_LOOK_SECONDS = 0.02
_END_SECONDS = 10.0
# Also removes the directory of the socket if the starter was killed. A signal ends the first `wait` early.
_SCRIPT = """trap 'kill $pid' TERM
"$0" system service --time="$1" "unix://$2/s" & pid=$!
wait $pid; wait $pid
/bin/rm -rf -- "$2"
"""


class PodmanService:
    """One service with a socket of its own, which only this user can reach."""

    def __init__(self, program: str, environ: Mapping[str, str], clock: Clock) -> None:
        self._program, self._environ, self._clock = program, environ, clock
        base = environ.get("XDG_RUNTIME_DIR", "")
        # The paths of sockets are limited to about 100 bytes.
        self._directory = Path(tempfile.mkdtemp(prefix="setpoint-podman-", dir=base if Path(base).is_dir() else None))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"unix://{self._socket}"

    @property
    def _socket(self) -> Path:
        return self._directory / "s"

    async def start(self, seconds: float) -> str:
        """Starts the service unless it is running, and waits for its socket. Returns the error, or an empty text."""
        if self._process is not None and self._process.poll() is None:
            return ""
        with tempfile.TemporaryFile() as errors:
            try:
                self._directory.mkdir(mode=0o700, exist_ok=True)
                self._process = self._begin(errors)
            except OSError as error:
                return f"{self._program} cannot be started: {error.strerror}"
            process, deadline = self._process, self._clock.monotonic() + seconds
            while not self._socket.exists():
                if process.poll() is not None:
                    return _last_line(errors) or f"{self._program} system service ended"
                if self._clock.monotonic() > deadline:
                    await self.stop()
                    return f"{self._program} system service did not start within {seconds:g} s"
                await self._clock.sleep(_LOOK_SECONDS)
        return ""

    def _begin(self, errors: IO[bytes]) -> "subprocess.Popen[bytes]":
        command = ["/bin/sh", "-c", _SCRIPT, self._program, str(_IDLE_SECONDS), str(self._directory)]
        return detached_process.start(command, self._environ, stderr=errors, directory="/")

    async def stop(self) -> None:
        """Ends the service, and waits for its end."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
            try:
                await asyncio.to_thread(process.wait, _END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def leave(self) -> None:
        """Leaves the service to end by itself, after its last connection."""
        if self._process is not None:
            detached_process.stop_tracking(self._process)


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
