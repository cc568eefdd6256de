"""`info` and `version`: JSON output that DCP's clients read before they start an instance."""

import asyncio
import os
import platform
import shutil
from typing import Any

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.errors import Failure
from setpoint.version import VERSION

# The version of DCP that is emulated: clients reject versions that are too old.
DCP_VERSION = "0.25.13"
_HOSTS = {"docker": "host.docker.internal", "podman": "host.containers.internal"}
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_SECONDS, _DIAGNOSTIC_SECONDS = 10.0, 90.0


def _version() -> dict[str, Any]:
    return {"version": DCP_VERSION, **_build(), "setpointVersion": VERSION}


def _build() -> dict[str, str]:
    """Returns the commit and the time of the build; empty in a checkout, which was not built."""
    import importlib.resources

    import msgspec

    try:
        text = importlib.resources.files("setpoint").joinpath("build.json").read_bytes()
    except FileNotFoundError:
        return {}
    return msgspec.json.decode(text, type=dict[str, str])


def runtime_option(command: Any) -> Any:
    """Adds the option that selects a container engine."""
    return click.option(
        "--container-runtime",
        type=click.Choice(["docker", "podman"]),
        default=None,
        help="Container engine to use. [default: the first one found]",
    )(command)


@click.command()
def version() -> None:
    """Print the version as JSON."""
    _print(_version())


@click.command()
@runtime_option
@click.option("--diagnostics", is_flag=True, help="Include more details.")
@click.option("-t", "--timeout", metavar="DURATION", default="", help="Time to wait for the engine, e.g. 10s.")
def info(container_runtime: str | None, diagnostics: bool, timeout: str) -> None:
    """Print the available container engine as JSON."""
    from setpoint.objects.duration import SECOND, parse

    try:
        seconds = parse(timeout) / SECOND if timeout else 0.0
    except ValueError as error:
        raise Failure(f"--timeout: {error}") from None
    seconds = seconds or (_DIAGNOSTIC_SECONDS if diagnostics else _SECONDS)
    found: dict[str, Any] = {
        **_version(),
        "containers": asyncio.run(_containers(container_runtime or "", seconds, diagnostics)),
    }
    if diagnostics:
        found["os"] = platform.system().lower()
        found["architecture"] = _ARCHITECTURES.get(platform.machine(), platform.machine())
    _print(found)


async def _containers(preference: str, seconds: float, diagnostics: bool) -> dict[str, Any]:
    from setpoint.objects.clock import SystemClock
    from setpoint.workload.engine.choice import Unavailable, connect

    engine = await connect(SystemClock(), os.environ, preference, seconds=seconds, starts=True)
    if isinstance(engine, Unavailable):
        name = preference or next((each for each in _HOSTS if shutil.which(each)), "docker")
        installed = engine.reason != "NotInstalled"
        return {
            "runtime": name if installed or preference else "",
            "hostName": _HOSTS[name] if installed else "",
            "installed": installed,
            "running": False,
            "error": f"{engine.message}: {engine.remedy}",
        }
    try:
        name, number = engine.version.name, engine.version.version
    finally:
        await engine.close()
    tree: dict[str, Any] = {"runtime": name, "hostName": _HOSTS[name], "installed": True, "running": True}
    # There is no separate client: Setpoint speaks the engine's API directly.
    return {**tree, "clientVersion": VERSION, "serverVersion": number} if diagnostics else tree


def _print(found: dict[str, Any]) -> None:
    import msgspec

    echo(msgspec.json.encode(found).decode())
