"""kopf's source distribution, whose examples the tests run. The source is not part of this repository."""

import fcntl
import os
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / "build" / "kopf"
_DOWNLOAD_SECONDS = 120


def kopf_source() -> Path:
    """Returns the directory of kopf's source: the one that KOPF_SOURCE names, or the source distribution of the
    installed version, downloaded once. Skips the test if there is none."""
    if found := os.environ.get("KOPF_SOURCE"):
        return Path(found)
    name = f"kopf-{version('kopf')}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (CACHE / name / "examples").is_dir():
            _download(name)
    return CACHE / name


def _download(name: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "kopf"]
    try:
        subprocess.run(
            [*command, "--dest", str(CACHE), name.replace("-", "==")],
            check=True,
            capture_output=True,
            timeout=_DOWNLOAD_SECONDS,
        )
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"the source of kopf cannot be downloaded ({error}); set KOPF_SOURCE to a copy of it")
    with tarfile.open(CACHE / f"{name}.tar.gz") as archive:
        archive.extractall(CACHE, filter="data")
