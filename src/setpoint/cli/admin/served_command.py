"""The command of `setpoint serve -- CMD`: a child process with the server's kubeconfig.

The command inherits the standard streams. On a terminal the command stays in the process group of this process,
where Ctrl-C reaches both; elsewhere the command leads a session of its own, and all processes of the session receive
every signal, so that none stays behind.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from setpoint.cli.support.errors import Failure

CANNOT_RUN = 126
NOT_FOUND = 127
_SIGNALLED = 128
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


class ServedCommand:
    """A command that runs while a server runs. `exit_code` is that of the command, or 128 + n after signal n."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Raises Failure if there is no such command."""
        self.exit_code = 0
        self._arguments = list(arguments)
        self._process: asyncio.subprocess.Process | None = None
        self._is_foreground = _is_foreground()
        self._interrupts = 0
        # The signal that arrived before the start of the command, which is not started then.
        self._early: int | None = None
        if shutil.which(arguments[0]) is None:
            if Path(arguments[0]).exists():
                raise Failure(f"cannot run {arguments[0]}: the file is not executable (chmod +x)", CANNOT_RUN)
            raise Failure(f"command not found: {arguments[0]}; check its name and PATH", NOT_FOUND)

    def take_signals(self) -> None:
        """Passes the signals of this process on to the command. Call this method in the event loop."""
        for name in _FORWARDED:
            if (number := getattr(signal, name, None)) is not None:
                with suppress(NotImplementedError):
                    asyncio.get_running_loop().add_signal_handler(number, self._forward, number)

    async def run(self, kubeconfig: Path) -> None:
        """Runs the command to its end. Raises Failure if the command cannot be started; kills the command if this call
        is cancelled."""
        if self._early is None:
            process = await self._start(kubeconfig)
            try:
                code = await process.wait()
            except BaseException:
                self._send(signal.SIGKILL)
                await process.wait()
                raise
            self.exit_code = _SIGNALLED - code if code < 0 else code
        if self._early is not None:
            self.exit_code = _SIGNALLED + self._early

    async def _start(self, kubeconfig: Path) -> asyncio.subprocess.Process:
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._arguments, env=environment, start_new_session=not self._is_foreground
            )
        except FileNotFoundError as error:  # the interpreter of a script is missing
            raise Failure(f"cannot run {self._arguments[0]}: {error.strerror}", NOT_FOUND) from error
        except OSError as error:
            raise Failure(f"cannot run {self._arguments[0]}: {error.strerror}", CANNOT_RUN) from error
        if self._early is not None:  # while the process was created
            self._send(self._early)
            self._early = None
        return self._process

    def _forward(self, number: int) -> None:
        if self._process is None:
            self._early = number
            return
        if number == signal.SIGINT and self._is_foreground:
            # The terminal has sent the first one to the command, too.
            self._interrupts += 1
            if self._interrupts == 1:
                return
        self._send(number)

    def _send(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                if self._is_foreground:
                    os.kill(self._process.pid, number)
                else:
                    os.killpg(self._process.pid, number)


def _is_foreground() -> bool:
    """Returns True if this process belongs to the foreground group of its terminal."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            if os.isatty(stream.fileno()):
                return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    return False
