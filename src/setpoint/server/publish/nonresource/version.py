"""Serves `/version`: the emulated Kubernetes version, and the version of Setpoint."""

import platform

from setpoint.objects.tree import Object
from setpoint.schema.builtin import RELEASE
from setpoint.server.codec.request_body import JSON
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.publish.read_only import check_consumed, check_method
from setpoint.server.request.context import Context
from setpoint.version import VERSION

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def version() -> Object:
    """Returns the document of `/version`. Clients read the numbers, and `gitVersion` as a semantic version."""
    major, minor, _ = RELEASE.removeprefix("v").split(".")
    machine = platform.machine()
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{RELEASE}+setpoint.{VERSION}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_ARCHITECTURES.get(machine, machine)}",
    }


class VersionPage:
    """Serves the version document."""

    def __init__(self) -> None:
        self._version = version()

    async def respond(self, context: Context) -> Response | None:
        if context.request.path.strip("/") != "version":
            return None
        check_method(context, head=False)
        check_consumed(context, (JSON,))
        return await json_answer(context, self._version)
