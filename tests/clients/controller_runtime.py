"""controller-runtime's own tests: `python -m tests.clients.controller_runtime DIR [--long]` builds them.

They come from its published module. A suite is a program of its own that runs in the directory of its package. Building
them takes minutes the first time; after that Go remembers.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

MODULE = "sigs.k8s.io/controller-runtime"

_HERE = Path(__file__).parent


class Suite(NamedTuple):
    """What is expected of one package."""

    passed: int
    pending: int
    long: bool = False
    known: Mapping[str, str] = {}


SUITES = {
    name: Suite(**fields) for name, fields in yaml.safe_load((_HERE / "controller_runtime.yaml").read_text()).items()
}


def program(directory: Path, suite: str) -> Path:
    """Where the program of a suite is built."""
    return directory / f"{suite.replace('/', '_')}.test"


def package(directory: Path, suite: str) -> Path:
    """Where it is to be run."""
    return directory / "module" / "pkg" / suite


def build(directory: Path, long: bool) -> None:
    """Copies the module out of Go's cache, where nothing can be written, and builds the programs of the suites."""
    copy = directory / "module"
    version = re.findall(rf"^\s*{re.escape(MODULE)} (\S+)", (_HERE / "go" / "go.mod").read_text(), re.M)[0]
    stamp = directory / "version"
    if not stamp.exists() or stamp.read_text() != version:
        shutil.rmtree(directory, ignore_errors=True)
        source = json.loads(_go("mod", "download", "-json", f"{MODULE}@{version}", cwd=_HERE / "go"))["Dir"]
        shutil.copytree(source, copy, copy_function=shutil.copyfile)
        for path in copy.rglob("*"):
            # A module's archive does not tell which files are programs.
            path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)
        stamp.write_text(version)
    for name, suite in SUITES.items():
        if long or not suite.long:
            # Without tables for debuggers, which nobody reads here, they are linked faster.
            _go("test", "-c", "-ldflags=-s -w", "-o", str(program(directory, name)), f"./pkg/{name}", cwd=copy)


def _go(*arguments: str, cwd: Path) -> str:
    return subprocess.run(["go", *arguments], cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    build(Path(sys.argv[1]).absolute(), "--long" in sys.argv)
