"""`setpoint doctor`: looks for what on this machine is in the way, and says what to do about each."""

import os
import shutil
import socket
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import click

from setpoint.cli.connecting import Server, connect, find, run, server_options
from setpoint.cli.failing import FAILED, Failure
from setpoint.cli.printing.output import Form, output_option, write_tree
from setpoint.cli.printing.terminal import Meaning, Terminal, terminal

if TYPE_CHECKING:
    from setpoint.session.registry import Sessions

Verdict: TypeAlias = Literal["ok", "warn", "fail"]
_MEANINGS: dict[Verdict, Meaning] = {"ok": "good", "warn": "pending", "fail": "bad"}
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LOCAL = ("localhost", "127.0.0.1")
_FILES, _PROCESSES = 4096, 1024
_WATCHES, _INSTANCES = 65536, 256
_FREE_BYTES = 1 << 30


class Finding(NamedTuple):
    """What a check found. The remedy is empty where all is well."""

    name: str
    verdict: Verdict
    says: str
    remedy: str = ""


@click.command()
@output_option("json", "yaml")
@server_options
def doctor(form: Form, server: Server) -> None:
    """Look for what on this machine is in the way of Setpoint, and say what to do about it.

    Ends with exit code 1 where something has to be done; what is only worth knowing is no failure.
    """
    findings = [*check(os.environ), run(_engine()), _server(server)]
    if form.name:
        write_tree([each._asdict() for each in findings], form)
    else:
        place = terminal()
        place.echo("\n".join(_lines(findings, place)))
    failed = [each.name for each in findings if each.verdict == "fail"]
    if failed:
        raise Failure(f"something has to be done about: {', '.join(failed)}", FAILED)


def _lines(findings: list[Finding], place: Terminal) -> list[str]:
    width = max(len(each.name) for each in findings)
    found = []
    for each in findings:
        head = f"{place.paint(f'{each.verdict:<4}', _MEANINGS[each.verdict])}  {each.name:<{width}}  "
        first, *rest = _wrapped(each.says, width + 8, place) or [""]
        found += [f"{head}{first}", *(f"{' ' * (width + 8)}{line}" for line in rest)]
        for number, line in enumerate(_wrapped(each.remedy, width + 10, place)):
            found.append(f"{' ' * (width + 8)}{place.paint(('→ ' if number == 0 else '  ') + line, 'heading')}")
    return found


def _wrapped(text: str, indent: int, place: Terminal) -> list[str]:
    if place.width is None:
        return [text] if text else []
    return textwrap.wrap(text, max(20, place.width - indent), break_long_words=False, break_on_hyphens=False)


def check(environ: Mapping[str, str]) -> Iterator[Finding]:
    """What can be found out without asking anybody."""
    from setpoint.session.registry import Sessions, state_directory

    yield _python()
    yield _loopback()
    yield _ports()
    yield from _limits()
    yield from _inotify()
    yield _proxies(environ)
    yield _state(state_directory(environ))
    yield _space()
    yield _sessions(Sessions.of(environ))


def _python() -> Finding:
    """Anything older could not have come this far."""
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok", f"Python {version} at {sys.executable}")


def _loopback() -> Finding:
    """Whether localhost is this machine, by both protocols."""
    try:
        found = sorted({info[4][0] for info in socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM)}, key=str)
    except OSError as error:
        return Finding("localhost", "fail", f"localhost has no address: {error}", "add `127.0.0.1 localhost` to hosts")
    wrong = [address for address in found if address not in ("127.0.0.1", "::1")]
    if wrong:
        remedy = "correct the line of localhost in /etc/hosts"
        return Finding("localhost", "fail", f"localhost is {', '.join(map(str, wrong))}", remedy)
    for address in found:
        family = socket.AF_INET6 if ":" in str(address) else socket.AF_INET
        with socket.socket(family) as probe:
            try:
                probe.bind((str(address), 0))
            except OSError as error:
                remedy = f"take {address} out of the line of localhost in /etc/hosts, or switch it on"
                return Finding("localhost", "warn", f"nothing can listen on {address}: {error.strerror}", remedy)
    return Finding("localhost", "ok", f"localhost is {' and '.join(map(str, found))}")


def _ports() -> Finding:
    """How many ports there are to give away."""
    try:
        low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    except (OSError, ValueError):
        return Finding("ports", "ok", "this system does not say which ports are free to be chosen")
    if high - low < 1000:
        remedy = "sysctl -w net.ipv4.ip_local_port_range='32768 60999'"
        return Finding("ports", "warn", f"only {high - low} ports can be chosen freely", remedy)
    return Finding("ports", "ok", f"ports {low} to {high} can be chosen freely")


def _limits() -> Iterator[Finding]:
    try:
        import resource
    except ImportError:
        return  # there are no such limits on Windows
    for name, number, wanted, flag in (
        ("open files", resource.RLIMIT_NOFILE, _FILES, "n"),
        ("processes", resource.RLIMIT_NPROC, _PROCESSES, "u"),
    ):
        soft, _ = resource.getrlimit(number)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            yield Finding(name, "warn", f"at most {soft}", f"ulimit -{flag} {wanted} before you start")
        else:
            yield Finding(name, "ok", "no limit" if soft == resource.RLIM_INFINITY else f"at most {soft}")


def _inotify() -> Iterator[Finding]:
    for name, wanted in (("max_user_watches", _WATCHES), ("max_user_instances", _INSTANCES)):
        try:
            found = int(Path(f"/proc/sys/fs/inotify/{name}").read_text())
        except (OSError, ValueError):
            continue
        label = f"file {name.rpartition('_')[2]}"
        if found < wanted:
            yield Finding(label, "warn", f"at most {found} for all programs", f"sysctl -w fs.inotify.{name}={wanted}")
        else:
            yield Finding(label, "ok", f"at most {found}")


def _proxies(environ: Mapping[str, str]) -> Finding:
    """A proxy that is asked for localhost too answers that nobody is there."""
    given = {name.upper(): value for name, value in environ.items() if value}
    used = [name for name in _PROXIES if name in given]
    if not used:
        return Finding("proxy", "ok", "none is set")
    direct = [each.strip().lower() for each in given.get("NO_PROXY", "").split(",")]
    missing = [name for name in _LOCAL if name not in direct and "*" not in direct]
    if missing:
        remedy = f"export NO_PROXY={','.join([*filter(None, direct), *missing])}"
        return Finding("proxy", "warn", f"{', '.join(used)} is used for {' and '.join(missing)} as well", remedy)
    return Finding("proxy", "ok", f"{', '.join(used)}, and not for this machine")


def _state(directory: Path) -> Finding:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        remedy = f"make {directory} writable, or name another directory with XDG_STATE_HOME"
        return Finding("state", "fail", f"{directory}: {error.strerror}", remedy)
    return Finding("state", "ok", f"{directory} can be written")


def _space() -> Finding:
    place = tempfile.gettempdir()
    free = shutil.disk_usage(place).free
    if free < _FREE_BYTES:
        remedy = "make room, or name another directory with TMPDIR"
        return Finding("space", "warn", f"{free >> 20} MiB are free in {place}, where logs go", remedy)
    return Finding("space", "ok", f"{free >> 30} GiB are free in {place}, where logs go")


def _sessions(sessions: "Sessions") -> Finding:
    alive, dead = sessions.alive(), sessions.dead()
    if dead:
        names = ", ".join(session.id for session in dead)
        return Finding("sessions", "warn", f"ended without cleaning up: {names}", "run setpoint up there again")
    return Finding("sessions", "ok", f"{len(alive)} running" if alive else "none is running")


async def _engine() -> Finding:
    from setpoint.objects.clock import SystemClock
    from setpoint.workload.engine.choice import Unavailable
    from setpoint.workload.engine.choice import connect as connect_engine

    engine = await connect_engine(SystemClock(), os.environ, seconds=3.0)
    if isinstance(engine, Unavailable):
        return Finding("engine", "warn", f"no containers: {engine.message}", engine.remedy)
    version = engine.version
    await engine.close()
    return Finding("engine", "ok", f"{version.name} {version.version}")


def _server(server: Server) -> Finding:
    """Whether the server that commands here would talk to answers."""
    try:
        found = find(server)
    except Failure as failure:
        return Finding(
            "server", "fail" if any(server) else "ok", failure.message if any(server) else "nothing runs here"
        )
    try:
        run(_ask(server))
    except Failure as failure:
        return Finding("server", "fail", failure.message, f"start it again, or remove {found.paths[0]}")
    return Finding("server", "ok", f"answers (found by {found.by})")


async def _ask(server: Server) -> None:
    async with connect(server) as client:
        await client.raw("GET", "/readyz", timeout=3.0)
