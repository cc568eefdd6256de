"""The projects of the page about other languages: their files, dependencies, and runs with a server."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, blocks

SECONDS = 1200
FILES = {block.file: block.body for block in blocks(DOCS / "other-languages.md") if block.file}
# Builds are kept between runs: compiling a client takes minutes.
BUILDS = ROOT / "build" / "languages"


def project(name: str, *tools: str) -> Path:
    """Writes the files of one language, and returns their directory. Skips the test without the tools."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    for file, body in FILES.items():
        if file.startswith(f"{name}/"):
            path = BUILDS / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
    return BUILDS / name


def fetch(directory: Path, *command: str) -> None:
    """Fetches the dependencies. Skips the test if the registry of the language does not answer."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        pytest.skip(f"`{' '.join(command)}` failed: {(done.stdout + done.stderr)[-500:]}")


def require_compiled(output: Path) -> None:
    """Skips the test if compiling the client would take many minutes, except in `make test-languages`."""
    if not output.exists() and "LANGUAGES" not in os.environ:
        pytest.skip("the client of this language is not compiled; run `make test-languages`")


def run(directory: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "setpoint", "serve", "--", *command],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **environment},
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    return printed
