"""Programs from Debian's packages that tests need: found, or installed where that is possible."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

_WAIT = "DPkg::Lock::Timeout=300"


@cache
def missing(program: str, package: str) -> str | None:
    """Why the program is not here, after trying to install it; None if it is."""
    if shutil.which(program):
        return None
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return f"{program} is not installed; on Debian: apt-get install {package}"
    # Tests run in several processes, and only one of them may install at a time.
    with (Path(tempfile.gettempdir()) / "setpoint-tests-install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return None if shutil.which(program) else _install(program, package)


def _install(program: str, package: str) -> str | None:
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    tried = ""
    for command in (["update"], ["install", "-y", "--no-install-recommends", package]):
        done = subprocess.run(["apt-get", "-o", _WAIT, *command], capture_output=True, text=True, env=quietly)
        tried = done.stderr.strip()[-200:]
    return None if shutil.which(program) else f"{program} is not installed and apt-get could not do it: {tried}"


@cache
def unpacked(package: str, path: str) -> Path | None:
    """A file of Debian's own package, whatever of its kind is installed; None where the package can't be had."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return None
    place = Path(tempfile.gettempdir()) / f"setpoint-tests-{os.getuid()}-{package}"
    with (Path(tempfile.gettempdir()) / "setpoint-tests-install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / path).exists():
            _unpack(package, place)
    return place / path if (place / path).exists() else None


def _unpack(package: str, place: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        download = ["apt-get", "-o", _WAIT, "download", package]
        if subprocess.run(download, cwd=directory, capture_output=True).returncode and os.geteuid() == 0:
            subprocess.run(["apt-get", "-o", _WAIT, "update"], capture_output=True)
            subprocess.run(download, cwd=directory, capture_output=True)
        for archive in Path(directory).glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", str(archive), str(place)], check=True)


def require(program: str, package: str) -> str:
    """The path of the program. Skips the test, with the reason, where it can't be had."""
    reason = missing(program, package)
    if reason:
        pytest.skip(reason)
    return shutil.which(program) or program
