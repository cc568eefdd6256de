"""Checks of this machine that contact no other program: system, limits, disk, environment, and crashed sessions."""

import ipaddress
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from setpoint.cli.admin.doctor_finding import Finding
from setpoint.store.files import make_directory

if TYPE_CHECKING:
    from setpoint.session.registry import Sessions

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LOCAL = ("localhost", "127.0.0.1")
_FILES, _PROCESSES = 4096, 1024
_WATCHES, _INSTANCES = 65536, 256
_FREE_BYTES = 1 << 30
# The tolerated clock difference. Certificates are issued with the same tolerance.
_CLOCK_SLACK = timedelta(hours=1)


def check(environ: Mapping[str, str], now: datetime) -> Iterator[Finding]:
    """Yields the findings of all local checks."""
    from setpoint.session.registry import Sessions, state_directory

    yield _python()
    yield _system()
    yield _loopback()
    yield _ports()
    yield from _limits()
    yield from _watches()
    yield _proxies(environ)
    yield _clock(now)
    yield _state(state_directory(environ))
    yield _space(state_directory(environ))
    yield _sessions(Sessions.of(environ))
    yield _resident(state_directory(environ), environ)


def _python() -> Finding:
    """Reports the Python version. Older versions than the supported ones fail before this check."""
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok", f"Python {version} at {sys.executable}")


def _system() -> Finding:
    """Checks for the features that running processes requires."""
    from setpoint.machine.chosen import is_portable, problem

    if (found := problem()) is not None:
        return Finding("system", "problem", *found)
    says = f"{os.uname().sysname} {os.uname().release}"
    return Finding("system", "ok", f"{says}, portable process layer" if is_portable else says)


def _loopback() -> Finding:
    """Checks that localhost resolves to this machine, with IPv4 and IPv6."""
    try:
        found = sorted({info[4][0] for info in socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM)}, key=str)
    except OSError as error:
        return Finding(
            "localhost", "problem", f"localhost has no address: {error}", "add `127.0.0.1 localhost` to /etc/hosts"
        )
    wrong = [address for address in found if address not in ("127.0.0.1", "::1")]
    if wrong:
        remedy = "correct the localhost entry in /etc/hosts"
        return Finding("localhost", "problem", f"localhost resolves to {', '.join(map(str, wrong))}", remedy)
    for address in found:
        family = socket.AF_INET6 if ":" in str(address) else socket.AF_INET
        with socket.socket(family) as probe:
            try:
                probe.bind((str(address), 0))
            except OSError as error:
                remedy = f"remove {address} from the localhost entry in /etc/hosts, or enable the address"
                return Finding("localhost", "warning", f"cannot listen on {address}: {error.strerror}", remedy)
    return Finding("localhost", "ok", f"localhost resolves to {' and '.join(map(str, found))}")


def _ports() -> Finding:
    """Checks the number of ephemeral ports."""
    from setpoint.machine.chosen import system

    found = system.local_ports()
    if found is None:
        return Finding("ports", "ok", "cannot determine the range of ephemeral ports on this system")
    low, high = found
    if high - low < 1000:
        remedy = "sysctl -w net.ipv4.ip_local_port_range='32768 60999'"
        return Finding("ports", "warning", f"only {high - low} ephemeral ports are available", remedy)
    return Finding("ports", "ok", f"ephemeral ports {low} to {high}")


def _limits() -> Iterator[Finding]:
    try:
        import resource
    except ImportError:
        return  # Windows has no such limits
    for name, number, wanted, flag in (
        ("open files", resource.RLIMIT_NOFILE, _FILES, "n"),
        ("processes", resource.RLIMIT_NPROC, _PROCESSES, "u"),
    ):
        soft, _ = resource.getrlimit(number)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            yield Finding(name, "warning", f"at most {soft}", f"run `ulimit -{flag} {wanted}` before starting")
        else:
            yield Finding(name, "ok", "no limit" if soft == resource.RLIM_INFINITY else f"at most {soft}")


def _watches() -> Iterator[Finding]:
    from setpoint.machine.chosen import system

    wanted = {"fs.inotify.max_user_watches": _WATCHES, "fs.inotify.max_user_instances": _INSTANCES}
    for name, found in system.watch_limits().items():
        label = f"file {name.rpartition('_')[2]}"
        if found < wanted[name]:
            yield Finding(label, "warning", f"at most {found} for all programs", f"sysctl -w {name}={wanted[name]}")
        else:
            yield Finding(label, "ok", f"at most {found}")


def _proxies(environ: Mapping[str, str]) -> Finding:
    """Checks that requests to localhost do not go through a proxy."""
    given = {name.upper(): value for name, value in environ.items() if value}
    used = [name for name in _PROXIES if name in given]
    if not used:
        return Finding("proxy", "ok", "no proxy set")
    direct = [each.strip().lower() for each in given.get("NO_PROXY", "").split(",")]
    missing = [name for name in _LOCAL if not _is_direct(name, direct)]
    if missing:
        remedy = f"export NO_PROXY={','.join([*filter(None, direct), *missing])}"
        return Finding("proxy", "warning", f"{', '.join(used)} also applies to {' and '.join(missing)}", remedy)
    return Finding("proxy", "ok", f"{', '.join(used)}; localhost is excluded")


def _is_direct(name: str, direct: list[str]) -> bool:
    """Returns True if the host bypasses the proxy: by its name, by a network that contains the host, or by `*`."""
    if name in direct or "*" in direct:
        return True
    with suppress(ValueError):
        address = ipaddress.ip_address(name)
        for each in direct:
            with suppress(ValueError):
                if address in ipaddress.ip_network(each, strict=False):
                    return True
    return False


def _clock(now: datetime) -> Finding:
    """Checks that the clock is not behind: new certificates would not be valid yet for other machines."""
    made = datetime.fromtimestamp(Path(__file__).stat().st_mtime, UTC)
    if now < made - _CLOCK_SLACK:
        says = f"the clock shows {now:%Y-%m-%d %H:%M}, before this program was installed at {made:%Y-%m-%d %H:%M}"
        return Finding("clock", "problem", says, "set the clock; otherwise certificates are not valid yet")
    return Finding("clock", "ok", f"{now:%Y-%m-%dT%H:%M:%SZ}")


def _state(directory: Path) -> Finding:
    try:
        make_directory(directory)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        remedy = f"make {directory} writable, or set XDG_STATE_HOME to another directory"
        return Finding("state", "problem", f"{directory}: {error.strerror}", remedy)
    return Finding("state", "ok", f"{directory} is writable")


def _space(state: Path) -> Finding:
    places = {"state": _existing(state), "logs": Path(tempfile.gettempdir())}
    free = {name: shutil.disk_usage(place).free for name, place in places.items()}
    least = min(free, key=lambda name: free[name])
    says = f"{free[least] >> 20} MiB free in {places[least]}"
    if free[least] < _FREE_BYTES:
        variable = "XDG_STATE_HOME" if least == "state" else "TMPDIR"
        remedy = f"free disk space (for example with `setpoint clean`), or set {variable} to another directory"
        return Finding("space", "warning", says, remedy)
    return Finding("space", "ok", f"{free[least] >> 30} GiB free in {places[least]}")


def _existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())


def _sessions(sessions: "Sessions") -> Finding:
    alive, dead = sessions.alive(), sessions.dead()
    if dead:
        names = ", ".join(session.id for session in dead)
        return Finding(
            "sessions", "warning", f"crashed: {names}", "`setpoint doctor --fix` cleans up after crashed sessions"
        )
    return Finding("sessions", "ok", f"{len(alive)} running" if alive else "none running")


def _resident(directory: Path, environ: Mapping[str, str]) -> Finding:
    """Reports the resident processes, which run short commands."""
    from setpoint.cli.resident.peer import resident_processes
    from setpoint.cli.resident.request import SWITCH

    found = [f"process {pid}" if pid is not None else "a process" for pid in resident_processes(directory)]
    if found:
        until = f"until a minute without commands; {SWITCH}=off avoids it"
        return Finding("resident", "ok", f"{', '.join(found)} runs short commands, {until}")
    return Finding("resident", "ok", f"turned off by {SWITCH}" if environ.get(SWITCH) == "off" else "none running")
