"""Checks that contact other programs: the container engine, the server of this directory, kubectl, and the app file."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from setpoint.cli.admin.doctor_finding import Finding
from setpoint.cli.support.connection import Server, ServerLocation, connect, find
from setpoint.cli.support.errors import Failure
from setpoint.objects.errors import APIError

if TYPE_CHECKING:
    from setpoint.objects.tree import Object

_SECONDS = 0.8
# Certificates that expire within this time cause a warning.
_SOON_DAYS = 7
# The accepted difference in minor versions between kubectl and the server.
_SKEW = 1


class App(NamedTuple):
    """The finding about the app file of this directory, and whether the app needs a container engine."""

    finding: Finding | None = None
    has_containers: bool = False


async def check_environment(environ: Mapping[str, str], server: Server, now: datetime) -> list[Finding]:
    """Runs these checks concurrently and returns their findings."""
    app = await asyncio.to_thread(_app, environ)
    engine, (answers, found), kubectl = await asyncio.gather(
        _engine(environ, needed=app.has_containers), _server(server, environ), asyncio.to_thread(_kubectl)
    )
    certificates = [_certificates(found, now)] if found is not None else []
    stale = await asyncio.to_thread(_kubeconfig, environ)
    return [*([app.finding] if app.finding is not None else []), engine, answers, stale, *certificates, kubectl]


async def _engine(environ: Mapping[str, str], *, needed: bool) -> Finding:
    from setpoint.objects.clock import SystemClock
    from setpoint.workload.engine.choice import Unavailable
    from setpoint.workload.engine.choice import connect as connect_engine

    engine = await connect_engine(SystemClock(), environ, seconds=_SECONDS, starts=True)
    if isinstance(engine, Unavailable):
        if needed:
            return Finding(
                "engine", "problem", f"the app in this directory has containers, but {engine.message}", engine.remedy
            )
        return Finding("engine", "warning", f"containers are unavailable: {engine.message}", engine.remedy)
    version = engine.version
    await engine.close()
    return Finding("engine", "ok", f"{version.name} {version.version}")


async def _server(server: Server, environ: Mapping[str, str]) -> tuple[Finding, ServerLocation | None]:
    """Checks that the server of this directory answers. Also returns its location, or None if there is none."""
    try:
        found = find(server, environ, clearing=False)
    except Failure as failure:
        if any(server) or environ.get("KUBECONFIG"):
            return Finding("server", "problem", failure.message, "choose another server, or start this one"), None
        return Finding("server", "ok", "no server or app is running here"), None
    try:
        async with connect(server, quiet=True) as client:
            await client.raw("GET", "/readyz", timeout=_SECONDS)
    except Failure as failure:
        return Finding("server", "problem", failure.message, f"restart the server, or remove {found.paths[0]}"), found
    return Finding("server", "ok", f"answers (found by {found.by})"), found


def _kubeconfig(environ: Mapping[str, str]) -> Finding:
    """Checks that the default kubeconfig does not belong to a stopped server."""
    from setpoint.session.registry import state_directory

    path = state_directory(environ) / "kubeconfig"
    if not is_stale(path):
        return Finding("kubeconfig", "ok", str(path) if path.exists() else "no stale kubeconfig")
    says = f"{path} belongs to a server that is no longer running"
    return Finding(
        "kubeconfig", "warning", says, "`setpoint doctor --fix` removes the file; `setpoint serve` writes a new one"
    )


def is_stale(kubeconfig: Path) -> bool:
    """Returns True if no server listens at the address in the kubeconfig."""
    from urllib.parse import urlsplit

    try:
        url = urlsplit(_tree(kubeconfig)["clusters"][0]["cluster"]["server"])
        with socket.create_connection((url.hostname or "", url.port or 443), timeout=_SECONDS):
            return False
    except FileNotFoundError:
        return False
    except (OSError, ValueError, LookupError, TypeError, APIError):
        return True


def _tree(kubeconfig: Path) -> Any:
    from setpoint.objects import yamltext

    return yamltext.load(kubeconfig.read_text("utf-8")).tree


def _certificates(found: ServerLocation, now: datetime) -> Finding:
    """Checks the expiry dates of the certificates in a kubeconfig."""
    import base64

    from cryptography import x509

    ends: list[tuple[datetime, str]] = []
    for path in found.paths:
        with suppress(OSError, ValueError, LookupError, TypeError, APIError):  # reported by the check of the server
            tree = _tree(path)
            parts = [(each["name"], each["cluster"], "certificate-authority-data") for each in tree["clusters"]]
            parts += [(each["name"], each["user"], "client-certificate-data") for each in tree["users"]]
            for name, part, field in parts:
                if data := part.get(field):
                    found_here = x509.load_pem_x509_certificates(base64.b64decode(data))
                    ends += [(each.not_valid_after_utc, f"{name} in {path}") for each in found_here]
    if not ends:
        return Finding("certificates", "ok", "no certificates in use")
    end, whose = min(ends)
    if end <= now:
        remedy = "restart the server, or create a new kubeconfig with `setpoint user`"
        return Finding("certificates", "problem", f"certificate of {whose} expired at {end:%Y-%m-%d %H:%M}", remedy)
    if (end - now).days < _SOON_DAYS:
        return Finding(
            "certificates",
            "warning",
            f"certificate of {whose} expires at {end:%Y-%m-%d %H:%M}",
            "renew the certificate",
        )
    return Finding("certificates", "ok", f"valid until {end:%Y-%m-%d}")


def _kubectl() -> Finding:
    """Checks that kubectl is installed in a version compatible with the server."""
    from setpoint.schema.builtin import RELEASE

    path = shutil.which("kubectl")
    if path is None:
        return Finding(
            "kubectl", "ok", "not installed (optional: `setpoint get` and similar commands work without kubectl)"
        )
    try:
        done = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True, timeout=2, check=True)
        version = str(json.loads(done.stdout)["clientVersion"]["gitVersion"])
        minor = int(version.split(".")[1])
    except (OSError, subprocess.SubprocessError, ValueError, LookupError):
        return Finding("kubectl", "warning", f"cannot determine the version of {path}", "reinstall kubectl")
    if abs(minor - int(RELEASE.split(".")[1])) > _SKEW:
        remedy = f"install kubectl {RELEASE.rpartition('.')[0]} or one minor version next to that"
        return Finding("kubectl", "warning", f"{version} at {path} does not match the server version {RELEASE}", remedy)
    return Finding("kubectl", "ok", f"{version} at {path}")


def _app(environ: Mapping[str, str]) -> App:
    """Checks that the app file of this directory is valid and that its fixed ports are free."""
    from setpoint.cli.app.app_file import find_file

    try:
        file = find_file("")
    except Failure:
        return App()
    from setpoint.app.loader import load_app
    from setpoint.objects.typedyaml import Mistakes
    from setpoint.session.registry import Sessions

    shown = os.path.relpath(file)
    if file.suffix == ".py":
        return App()
    try:
        objects = load_app(file, environ).objects
    except (Mistakes, OSError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        return App(Finding("app", "problem", f"{shown} is invalid: {first}", "`setpoint render` prints all errors"))
    has_containers = any(tree["kind"] == "Container" for tree in objects)
    if Sessions.of(environ).here(file.parent):
        return App(Finding("app", "ok", f"{shown} is running"), has_containers)
    held = [(port, holder) for port in _fixed_ports(objects) if (holder := _holder(port))]
    if held:
        says = "; ".join(f"port {port} of {shown} is in use by {holder}" for port, holder in held)
        return App(
            Finding("app", "problem", says, "stop that program, or choose another port in the file"), has_containers
        )
    return App(Finding("app", "ok", f"{shown} is ready to run"), has_containers)


def _fixed_ports(objects: "list[Object]") -> list[int]:
    """Returns the fixed ports of this machine that the app asks for."""
    found = [tree["spec"].get("port", 0) for tree in objects if tree["kind"] == "Service"]
    for tree in objects:
        if tree["kind"] == "Container":
            found += [port.get("hostPort", 0) for port in tree["spec"].get("ports") or ()]
    return sorted({port for port in found if isinstance(port, int) and port > 0})


def _holder(port: int) -> str:
    """Returns a description of the program that listens on a port, or an empty string if the port is free."""
    from setpoint.workload.proxy.holder import holder_of

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return holder_of(port) or f"another program ({error.strerror})"
    return ""
