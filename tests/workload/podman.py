"""A real engine for tests: Podman's service with a place of its own, and an image made from Debian's busybox.

Tests that run in several processes share one service: the first one starts it, the last one removes everything it made.
Nothing of the user's own containers is touched.
"""

import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest
from tests import debian

from setpoint.objects.clock import SystemClock
from setpoint.workload.engine.choice import connect
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.images import single_chunk

IMAGE = "localhost/setpoint-test:1"
_NEEDED = (
    ("podman", "podman"),
    ("runc", "runc"),
    ("conmon", "conmon"),
    # Podman only recommends the program that runs as the first process of a container with `init`.
    ("catatonit", "catatonit"),
    ("/usr/lib/podman/netavark", "netavark"),
    ("/usr/lib/podman/aardvark-dns", "aardvark-dns"),
    ("iptables", "iptables"),
    ("busybox", "busybox-static"),
)
_START_SECONDS = 20
_CONFIG = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
exit_command_delay = 1
tmp_dir = "{place}/tmp"
static_dir = "{place}/static"
volume_path = "{place}/volumes"
[network]
network_backend = "netavark"
network_config_dir = "{place}/networks"
default_subnet = "10.{block}.0.0/24"
default_subnet_pools = [{{"base" = "10.{next}.0.0/16", "size" = 24}}]
"""


class Service:
    """Podman's service at a place. Everything of it is below that, and goes with `remove`."""

    def __init__(self, place: Path, block: int = 213) -> None:
        self.place = place
        self.socket = place / "s"
        self._block = block
        self._pid = place / "pid"

    @property
    def address(self) -> str:
        return f"unix://{self.socket}"

    def configure(self) -> None:
        """Writes what the program reads."""
        for name in ("networks", "tmp"):
            (self.place / name).mkdir(parents=True, exist_ok=True)
        config = _CONFIG.format(place=self.place, block=self._block, next=self._block + 1)
        (self.place / "containers.conf").write_text(config)

    def write_program(self, path: Path) -> None:
        """Writes a program in place of Podman's, which uses this place: for a machine with Podman and no socket."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\nexec {shutil.which("podman")} {" ".join(self.podman[1:])} "$@"\n')
        path.chmod(0o755)

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self.configure()
        self.socket.unlink(missing_ok=True)
        command = [*self.podman, "system", "service", "--time=0", self.address]
        # Nobody's child: of several processes that test, the one that starts it may end before the others.
        script = 'setsid "$@" >> "$0" 2>&1 < /dev/null & echo $!'
        words = ["sh", "-c", script, str(self.place / "log"), *command]
        started = subprocess.run(words, capture_output=True, text=True, check=True, env=self.environ)
        self._pid.write_text(started.stdout)
        deadline = time.monotonic() + _START_SECONDS
        while not self.socket.exists():
            if not _runs(int(started.stdout)) or time.monotonic() > deadline:
                pytest.skip(f"podman's service does not start here: {(self.place / 'log').read_text()[-300:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Ends the service; containers go on."""
        pid = int(self._pid.read_text())
        os.kill(pid, signal.SIGKILL)
        while _runs(pid):
            time.sleep(0.02)

    def remove(self) -> None:
        """Ends everything and removes it."""
        for command in (["rm", "--all", "--force", "--time", "0"], ["network", "prune", "--force"]):
            subprocess.run([*self.podman, *command], capture_output=True, env=self.environ)
        if self._pid.exists():
            self.stop()
        self._await_monitors()
        # Podman's overlays are below a mount of its own, which stays.
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if (where := line.split(" ")[1]).startswith(f"{self.place}/"):
                subprocess.run(["umount", where], capture_output=True)
        shutil.rmtree(self.place, ignore_errors=True)

    def _await_monitors(self) -> None:
        """What watched a container or command goes a second after it; what does not is ended."""
        deadline = time.monotonic() + _START_SECONDS
        while (left := self._monitors()) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _monitors(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = entry.read_bytes()
                if str(self.place).encode() in words and b"conmon" in words:
                    found.append(int(entry.parent.name))
        return found

    @property
    def podman(self) -> list[str]:
        place = self.place
        # Overlays on overlays do not work, and copies take long: where these tests run in a container, only those do.
        kind = subprocess.run(["stat", "-f", "-c", "%T", place], capture_output=True, text=True).stdout.strip()
        driver = "overlay" if kind in ("ext2/ext3", "xfs", "btrfs", "tmpfs") else "vfs"
        return ["podman", "--root", f"{place}/root", "--runroot", f"{place}/run", "--storage-driver", driver]

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "CONTAINERS_CONF": f"{self.place}/containers.conf"}


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def require() -> None:
    """Skips the test where there can be no engine."""
    if os.geteuid() != 0:
        pytest.skip("containers of these tests need root: they have networks with a bridge")
    for program, package in _NEEDED:
        debian.require(program, package)


@contextmanager
def shared(place: Path) -> Iterator[Service]:
    """The service that all processes of one run of the tests use. `place` is the same for all of them."""
    require()
    place.mkdir(parents=True, exist_ok=True)
    service = Service(place / "engine")
    with _counted(place) as users:
        if users == 0:
            service.place.mkdir(exist_ok=True)
            service.start()
        _write(place, users + 1)
    try:
        yield service
    finally:
        with _counted(place) as users:
            _write(place, users - 1)
            if users == 1:
                service.remove()


@contextmanager
def _counted(place: Path) -> Iterator[int]:
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        count = place / "users"
        yield json.loads(count.read_text()) if count.exists() else 0


def _write(place: Path, users: int) -> None:
    (place / "users").write_text(json.dumps(users))


@asynccontextmanager
async def connected(service: Service) -> AsyncIterator[Engine]:
    """The engine, with the image in it."""
    engine = await connect(SystemClock(), {"HOME": str(service.place)}, service.address)
    assert isinstance(engine, Engine), engine
    try:
        if await engine.images.find(IMAGE) is None:
            await engine.images.import_root(single_chunk(root_archive()), IMAGE)
        yield engine
    finally:
        await engine.close()


def root_archive() -> bytes:
    """A root file system of nothing but busybox."""
    busybox = shutil.which("busybox") or "busybox"
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name in ("bin", "etc", "tmp", "data"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(folder)
        archive.add(Path(busybox).resolve(), "bin/busybox")
        for name in applets:
            if name != "busybox":
                link = tarfile.TarInfo(f"bin/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                archive.addfile(link)
        users = b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
        entry = tarfile.TarInfo("etc/passwd")
        entry.size = len(users)
        archive.addfile(entry, io.BytesIO(users))
    return made.getvalue()
