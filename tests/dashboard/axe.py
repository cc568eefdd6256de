"""The accessibility checker axe-core, from npm: its script, for pages of a browser."""

import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path

import pytest
from tests.dashboard.browser import Page

_VERSION = "4.14.0"
_SHA256 = "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af"
_SECONDS = 120


@cache
def _script() -> str | None:
    """Returns the script; None without npm or without its registry."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        command = [npm, "pack", "--silent", f"axe-core@{_VERSION}"]
        done = subprocess.run(command, cwd=directory, capture_output=True, timeout=_SECONDS)
        archive = Path(directory) / f"axe-core-{_VERSION}.tgz"
        if done.returncode or not archive.exists():
            return None
        data = archive.read_bytes()
        assert hashlib.sha256(data).hexdigest() == _SHA256, "the package differs from the one that was checked"
        with tarfile.open(archive) as packed:
            member = packed.extractfile("package/axe.min.js")
            assert member is not None
            return member.read().decode()


async def violations(page: Page) -> list[str]:
    """Returns the violations of WCAG 2.2 AA on a page, each with its first elements. Skips the test without axe."""
    script = _script()
    if script is None:
        pytest.skip("axe-core could not be fetched with npm")
    await page.run(f"{script}; undefined")
    rules = json.dumps({"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
    found = await page.run(
        f"axe.run(document, {rules}).then((result) => result.violations.map((each) => `${{each.id}}: ${{each.help}}: `"
        " + each.nodes.slice(0, 3).map((node) => node.html + ' ' + node.failureSummary).join(' | ')))"
    )
    return list(found)
