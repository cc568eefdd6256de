"""Adds the commit and the time of a build to the wheel, as `setpoint/build.json`: a build hook of hatchling.

The time is `SOURCE_DATE_EPOCH` if set, so that builds can be reproduced. A build outside of a git checkout has no
commit.
"""

import json
import os
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import (  # type: ignore[import-not-found,unused-ignore]
    BuildHookInterface,
)

PLACE = "setpoint/build.json"


def stamp(root: str) -> dict[str, str]:
    """Returns the fields of the file."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdecimal() else datetime.now(UTC)
    found = {"buildTimestamp": at.isoformat(timespec="seconds").replace("+00:00", "Z")}
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return found
    return {"commitHash": done.stdout.strip(), **found}


class BuildStamp(BuildHookInterface):  # type: ignore[misc,unused-ignore]
    """The hook of `pyproject.toml`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        directory = Path(tempfile.mkdtemp(prefix="setpoint-build-"))
        path = directory / "build.json"
        path.write_text(json.dumps(stamp(self.root)))
        build_data["force_include"][str(path)] = PLACE
