"""A shell in which the commands of a page are typed, in a directory and with a home of its own.

When it is left, everything that was started from it must be gone; what is not is ended, and named.
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

PATIENCE = 60.0
_NOT_INHERITED = ("KUBECONFIG", "DOCKER_HOST", "NO_COLOR", "FORCE_COLOR", "EDITOR", "VISUAL", "COLUMNS", "LINES")
_KEYS = {"Ctrl-C": "\x03"}
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[@-Z\\-_]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


class Typed(NamedTuple):
    """What a command printed, on both of its outputs, and its exit code."""

    printed: str
    code: int


class Terminal:
    """A pseudo-terminal in which a program goes on, and what it has shown there."""

    def __init__(self, command: list[str], directory: Path, environ: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        own = {**environ, "TERM": "xterm-256color"}
        # It is the program's controlling terminal, so that Ctrl-C reaches it.
        command = ["setsid", "--ctty", *command]
        self._process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=directory, env=own)
        os.close(slave)
        self._pieces: list[bytes] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def shown(self) -> str:
        text = b"".join(self._pieces).decode(errors="replace")
        return _ESCAPES.sub("", text).replace("\r", "\n")

    def shows(self, is_far_enough: Callable[[str], bool]) -> bool:
        """Waits until it has shown enough; whether it has."""
        with self._news:
            return self._news.wait_for(lambda: is_far_enough(self.shown()), PATIENCE)

    def press(self, key: str) -> int:
        """Presses a key that ends the program, and waits for that. Returns its exit code."""
        os.write(self._master, _KEYS.get(key, key).encode())
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """Ends the program, as one who closes the window does, if it has not ended."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGHUP)
        self._process.wait(PATIENCE)
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        with suppress(OSError):  # Linux says so when the last one at the other end has left
            while piece := os.read(self._master, 65536):
                with self._news:
                    self._pieces.append(piece)
                    self._news.notify_all()


class Shell:
    """bash, with the directory, the variables and the exit code that the commands before left."""

    def __init__(self, directory: Path, environ: Mapping[str, str] = {}, *, seconds: float = 10.0) -> None:
        """`seconds` is how long what was started has to be gone once the page is at its end."""
        self._seconds = seconds
        self._home = directory / "home"
        self.place = directory / "app"
        for made in (self._home, self.place):
            made.mkdir(parents=True)
        self._environ = {
            **{name: value for name, value in os.environ.items() if name not in _NOT_INHERITED},
            "HOME": str(self._home),
            "XDG_STATE_HOME": str(self._home / "state"),
            "XDG_CACHE_HOME": str(self._home / "cache"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environ,
        }
        self._terminals: list[Terminal] = []
        self._mark = f"end-of-{os.getpid()}"
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.place,
            env=self._environ,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Shell":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.close()
        for terminal in self._terminals:
            terminal.close()
        left = self._left_after(self._seconds)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._bash.kill()
        self._bash.wait()
        self._reader.join()
        self._bash.stdout.close()
        assert error is not None or not left, f"the page leaves this running: {list(left.values())}"

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables with which the commands run."""
        return self._environ

    def type(self, command: str) -> Typed:
        """Types a command and waits for its end."""
        with self._news:
            self._lines.clear()
        # What the next command reads as $? is this one's exit code.
        self._send(f"{command}\n_code=$?; printf '\\n{self._mark} %d\\n' $_code; (exit $_code)\n")
        if not self._await(lambda: any(line.startswith(self._mark) for line in self._lines)):
            raise TimeoutError(f"{command} did not end; it printed:\n{''.join(self._lines)}")
        lines = list(self._lines)
        end = next(number for number, line in enumerate(lines) if line.startswith(self._mark))
        printed = "".join(lines[:end])
        # The mark begins a line of its own, whether or not the output ended one.
        return Typed(printed[:-1] if lines[end - 1] == "\n" else printed, int(lines[end].split()[1]))

    def type_apart(self, command: str, is_far_enough: Callable[[str], bool]) -> None:
        """Types a command in a terminal of its own, where it goes on, and waits until it has shown enough."""
        place = Path(self.type("pwd").printed.strip())
        self._terminals.append(Terminal(["bash", "-c", command], place, self._environ))
        self.look_apart(is_far_enough)

    def look_apart(self, is_far_enough: Callable[[str], bool]) -> None:
        """Looks at the terminal of the last command that goes on, and waits until it has shown enough."""
        terminal = self._terminals[-1]
        if not terminal.shows(is_far_enough):
            raise TimeoutError(f"it showed only:\n{terminal.shown()}")

    def press(self, key: str) -> Typed:
        """Presses a key in the terminal of the last command that goes on, and waits until it ends."""
        terminal = self._terminals[-1]
        code = terminal.press(key)
        return Typed(terminal.shown(), code)

    def _send(self, text: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(text)
        self._bash.stdin.flush()

    def _read(self) -> None:
        assert self._bash.stdout is not None
        for line in self._bash.stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()

    def _await(self, holds: Callable[[], bool]) -> bool:
        with self._news:
            return self._news.wait_for(holds, PATIENCE)

    def _left_after(self, seconds: float) -> dict[int, str]:
        """What was started from here and still runs: those who were given this home."""
        deadline = time.monotonic() + seconds
        while (left := self._running()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def _running(self) -> dict[int, str]:
        sign = f"HOME={self._home}".encode()
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if sign in (entry / "environ").read_bytes().split(b"\0"):
                    words = (entry / "cmdline").read_bytes()
                    if words:
                        found[int(entry.name)] = words.replace(b"\0", b" ").decode().strip()
        return found
