"""Selects the container engine: the requested one, or the first healthy one at the usual addresses.

An engine is requested, in this order, by an address as the preference, `DOCKER_HOST`, `DOCKER_CONTEXT` or
`CONTAINER_HOST`. A requested engine is used exclusively: containers in another engine would be unexpected. The current
context of Docker's client is only tried first, because its engine may be stopped or removed. Addresses with `ssh:` are
reached through the programs of the engines (`docker system dial-stdio`). If no engine responds but Podman is installed,
its service is started on request. If no engine is found, the result is a value with the reason and the remedy, not an
exception.
"""

import asyncio
import errno
import hashlib
import os
import shutil
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from setpoint.client.http.endpoint import Endpoint
from setpoint.objects.clock import Clock
from setpoint.workload.engine.auth import config_directory, read_json
from setpoint.workload.engine.engine import Engine, TooOld
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine.podman_service import PodmanService
from setpoint.workload.engine.wire import Wire

Reason: TypeAlias = Literal[
    "NotInstalled", "NotRunning", "PermissionDenied", "Timeout", "TooOld", "BadAddress", "Failing"
]
_NAMES = ("docker", "podman")
_START_SECONDS = 30.0
# The order in which errors are reported if several engines were tried.
_TELLING: tuple[Reason, ...] = ("PermissionDenied", "Timeout", "TooOld", "Failing", "BadAddress", "NotRunning")


class Unavailable(NamedTuple):
    """The reason why no engine is available, and the remedy."""

    reason: Reason
    message: str
    remedy: str


class Candidate(NamedTuple):
    """A possible address of an engine. `name` is docker or podman if known in advance."""

    name: str
    address: str
    # Set if the user requested this engine: then no other is tried.
    source: str = ""
    # Certificates for TLS: ca.pem, cert.pem, key.pem.
    certificates: Path | None = None
    verify: bool = True


async def connect(
    clock: Clock, environ: Mapping[str, str], preference: str = "", *, seconds: float = 10.0, starts: bool = False
) -> Engine | Unavailable:
    """Returns the engine to use, or the reason why none is available. With `starts`, an installed Podman that serves no
    socket is started; closing the engine ends it."""
    found: list[Unavailable] = []
    for candidate in candidates(environ, preference):
        outcome = await _try(candidate, clock, environ, seconds)
        if isinstance(outcome, Engine):
            return outcome
        if candidate.source:
            return outcome
        found.append(outcome)
    if starts and preference in ("", "podman") and (podman := _program("podman", environ)):
        outcome = await _started(podman, clock, environ, seconds)
        if isinstance(outcome, Engine):
            return outcome
        found.append(outcome)
    for reason in _TELLING:
        for each in found:
            if each.reason == reason:
                return each
    for name in _NAMES:
        if preference in ("", name) and _program(name, environ):
            tried = ", ".join(_descriptions(found))
            remedy = _start(Candidate(name, ""))
            return Unavailable(
                "NotRunning", f"{name.capitalize()} is installed, but does not run: tried {tried}", remedy
            )
    wanted = preference or "Docker or Podman"
    return Unavailable(
        "NotInstalled",
        f"no container engine found on this machine: tried {', '.join(_descriptions(found))}",
        f"install {wanted}, or set DOCKER_HOST to the address of an engine",
    )


def candidates(environ: Mapping[str, str], preference: str = "") -> list[Candidate]:
    """Returns the addresses to try, in order."""
    if preference and preference not in _NAMES:
        return [Candidate("", preference, "the preference")]
    if preference != "podman":
        if host := environ.get("DOCKER_HOST"):
            return [Candidate("docker", host, "DOCKER_HOST", *_client_tls(environ))]
        if environ.get("DOCKER_CONTEXT", "default") != "default":
            return [_context(environ, environ["DOCKER_CONTEXT"], "DOCKER_CONTEXT")]
    if preference != "docker" and (host := environ.get("CONTAINER_HOST")):
        return [Candidate("podman", host, "CONTAINER_HOST")]
    runtime = environ.get("XDG_RUNTIME_DIR")
    home = environ.get("HOME")
    podman = [f"{runtime}/podman/podman.sock"] if runtime else []
    podman.append("/run/podman/podman.sock")
    docker = [f"{runtime}/docker.sock"] if runtime else []
    docker.append("/var/run/docker.sock")
    if home:
        docker.append(f"{home}/.docker/run/docker.sock")
    current = read_json(config_directory(environ) / "config.json").get("currentContext") or "default"
    found = [_context(environ, current)] if current != "default" and not environ.get("DOCKER_CONTEXT") else []
    found += [Candidate("podman", f"unix://{path}") for path in podman]
    found += [Candidate("docker", f"unix://{path}") for path in docker]
    return [each for each in found if preference in ("", each.name)]


def _context(environ: Mapping[str, str], name: str, source: str = "") -> Candidate:
    """Returns the engine of a context of Docker's client."""
    contexts = config_directory(environ) / "contexts"
    key = hashlib.sha256(name.encode()).hexdigest()
    endpoint = (read_json(contexts / "meta" / key / "meta.json").get("Endpoints") or {}).get("docker") or {}
    certificates = contexts / "tls" / key / "docker"
    return Candidate(
        "docker",
        str(endpoint.get("Host") or ""),
        f"{source}={name}" if source else "",
        certificates if certificates.is_dir() else None,
        not endpoint.get("SkipTLSVerify"),
    )


def _client_tls(environ: Mapping[str, str]) -> tuple[Path | None, bool]:
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    if not verify and not environ.get("DOCKER_TLS"):
        return None, True
    return Path(environ.get("DOCKER_CERT_PATH") or config_directory(environ)), verify


def endpoint_of(candidate: Candidate) -> Endpoint | Unavailable:
    """Returns the endpoint of a candidate, or the reason why its address cannot be used."""
    parts = urlsplit(candidate.address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme in ("unix", "") and parts.path.startswith("/"):
        return Endpoint("localhost", 80, unix=parts.path)
    if parts.scheme in ("tcp", "http", "https") and parts.hostname:
        is_tls = parts.scheme == "https" or candidate.certificates is not None
        try:
            tls = _tls(candidate) if is_tls else None
        except (OSError, ssl.SSLError) as error:
            where = candidate.certificates or "the default location"
            return Unavailable(
                "BadAddress", f"the certificates in {where} cannot be read: {error}", "correct the files"
            )
        return Endpoint(parts.hostname, port or (2376 if is_tls else 2375), tls, prefix=parts.path.rstrip("/"))
    if parts.scheme == "ssh" and parts.hostname:
        # The programs of the engines know the user's keys and settings, and the socket on the other machine.
        podman, docker = ("podman", "--remote", "--url"), ("docker", "--host")
        program = podman if candidate.name == "podman" else docker
        return Endpoint(parts.hostname, 80, command=(*program, candidate.address, "system", "dial-stdio"))
    by = f" (from {candidate.source})" if candidate.source else ""
    remedy = "use unix:///path/to/the.sock, tcp://HOST:PORT or ssh://USER@HOST"
    return Unavailable("BadAddress", f"{candidate.address!r}{by} is not a supported address of an engine", remedy)


def _tls(candidate: Candidate) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if candidate.certificates is not None:
        authority, certificate = candidate.certificates / "ca.pem", candidate.certificates / "cert.pem"
        if authority.exists():
            context.load_verify_locations(authority)
        if certificate.exists():
            context.load_cert_chain(certificate, candidate.certificates / "key.pem")
    if not candidate.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def _try(candidate: Candidate, clock: Clock, environ: Mapping[str, str], seconds: float) -> Engine | Unavailable:
    endpoint = endpoint_of(candidate)
    if isinstance(endpoint, Unavailable):
        return endpoint
    if endpoint.unix and (trouble := await asyncio.to_thread(_socket_error, candidate, endpoint.unix)) is not None:
        return trouble
    if endpoint.command:
        if (program := _program(endpoint.command[0], environ)) is None:
            why = f"{candidate.address} is reached through the program {endpoint.command[0]}, which is not installed"
            return Unavailable("BadAddress", why, f"install {endpoint.command[0]} on this machine")
        endpoint = endpoint._replace(command=(program, *endpoint.command[1:]))
    engine = Engine(Wire(endpoint), clock, environ)
    name = (candidate.name or "the container engine").capitalize()
    try:
        await engine.agree(seconds)
    except TooOld as error:
        await engine.close()
        return Unavailable("TooOld", f"{name} at {endpoint} is too old: {error}", f"upgrade {name}")
    except EngineError as error:
        await engine.close()
        if "did not answer within" in error.message:
            remedy = f"wait until {name} has started, or restart the engine"
            return Unavailable("Timeout", f"{name} at {endpoint} does not answer", remedy)
        if os.strerror(errno.EACCES) in error.message:
            return _denied(name, endpoint.unix or str(endpoint))
        if error.status == 0 and endpoint.command:
            why = await asyncio.to_thread(_command_error, endpoint.command, seconds)
            return Unavailable(
                "NotRunning",
                f"{name} at {candidate.address} cannot be reached: {why or error.message}",
                f"check that `ssh {endpoint.host}` works without a password",
            )
        if error.status == 0:
            return Unavailable("NotRunning", f"{name} is not running: {error.message}", _start(candidate))
        return Unavailable("Failing", f"{name} at {endpoint} fails: {error.message}", f"check the log of {name}")
    return engine


async def _started(program: str, clock: Clock, environ: Mapping[str, str], seconds: float) -> Engine | Unavailable:
    """Starts Podman's service and returns its engine."""
    service = PodmanService(program, environ, clock)
    if trouble := await service.start(_START_SECONDS):
        await service.stop()
        return Unavailable("Failing", f"Podman is installed, but cannot be started: {trouble}", "run `podman info`")
    outcome = await _try(Candidate("podman", service.address), clock, environ, seconds)
    if isinstance(outcome, Engine):
        outcome.service = service
    else:
        await service.stop()
    return outcome


def _program(name: str, environ: Mapping[str, str]) -> str | None:
    return shutil.which(name, path=environ.get("PATH", ""))


def _command_error(command: Sequence[str], seconds: float) -> str:
    """Returns the last line of the errors of a command; empty if there is none."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _socket_error(candidate: Candidate, path: str) -> Unavailable | None:
    """Returns the error of a socket that is known before a connection, or None."""
    name = candidate.name.capitalize() or "the container engine"
    try:
        os.stat(path)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            return _denied(name, path)
        if candidate.source:
            where = f"the socket {path} does not exist (from {candidate.source})"
            return Unavailable("NotRunning", where, _start(candidate))
        return Unavailable("NotInstalled", path, "")
    return None


def _denied(name: str, path: str) -> Unavailable:
    remedy = (
        "add your user to the group `docker` and log in again" if name == "Docker" else "run as the owner of the socket"
    )
    return Unavailable("PermissionDenied", f"permission denied for {name} at {path}", remedy)


def _start(candidate: Candidate) -> str:
    if candidate.name == "podman":
        return "start Podman: `systemctl --user start podman.socket`, or `podman system service --time=0`"
    if candidate.name == "docker":
        return "start Docker: `systemctl start docker`, or Docker Desktop"
    return "start the engine, or configure another one"


def _descriptions(found: Sequence[Unavailable]) -> list[str]:
    return [each.message for each in found] or ["no address"]
