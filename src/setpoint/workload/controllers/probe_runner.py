"""Runs the probes of a workload, with their templates filled in."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from setpoint.objects.tree import Object
from setpoint.schema.regex import matcher, pattern_error
from setpoint.workload.controllers.probe_listeners import Listeners
from setpoint.workload.kinds.health_probes import HealthProbe, LogProbe
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.probes.grpc import probe_grpc
from setpoint.workload.probes.http import probe_http
from setpoint.workload.probes.tcp import probe_tcp
from setpoint.workload.probes.verdict import Finding
from setpoint.workload.process.command import Command, Exit, StartError
from setpoint.workload.process.pipes import Sink
from setpoint.workload.templates import Lookup, NotYet, TemplateError, render

if TYPE_CHECKING:
    from setpoint.workload.runtime import Machine

_OUTPUT_BYTES = 4096
_PORTS = {"http": 80, "https": 443}

# Returns the number of lines in a log, by source, of earlier runs.
Before = Callable[[], Awaitable[Mapping[str, int]]]
# Runs a command in the environment of the workload. Returns the exit code and the output.
Execute = Callable[[Sequence[str], str], Awaitable[tuple[int | None, str]]]


class Probes:
    """Runs the probes for one run of a workload. `lookup` returns the current objects, `execute` runs the commands of
    probes, and `before` counts the log lines of earlier runs. With `listeners`, a probe that another process answers
    fails."""

    def __init__(
        self,
        machine: "Machine",
        uid: str,
        subject: Object,
        lookup: Callable[[], Lookup],
        execute: Execute,
        before: Before,
        listeners: Listeners | None = None,
    ) -> None:
        self._machine, self._uid, self._subject = machine, uid, subject
        self._lookup, self._execute, self._before = lookup, execute, before
        self._listeners = listeners
        # The number of log lines that each probe has read, and the probes that have found their pattern.
        self._seen: dict[str, int] = {}
        self._found: set[str] = set()

    async def run(self, probe: HealthProbe) -> Finding:
        """Runs a probe once."""
        try:
            return await self._run(probe)
        except NotYet as waiting:
            return Finding("Unknown", str(waiting))
        except (TemplateError, ValueError) as error:
            return Finding("Failure", str(error))

    async def _run(self, probe: HealthProbe) -> Finding:
        if probe.http_probe is not None:
            headers = [(each.name, self._filled(each.value)) for each in probe.http_probe.headers]
            url = self._filled(probe.http_probe.url)
            finding = await probe_http(url, headers, probe.schedule.timeout.total_seconds())
            parts = urlsplit(url)
            return await self._own(finding, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0))
        if probe.tcp_probe is not None:
            address, port = self._address(probe.tcp_probe.address), self._port(probe.tcp_probe.port)
            return await self._own(await probe_tcp(address, port), address, port)
        if probe.grpc_probe is not None:
            address, port = self._address(probe.grpc_probe.address), self._port(probe.grpc_probe.port)
            return await self._own(await probe_grpc(address, port, probe.grpc_probe.service), address, port)
        if probe.log_probe is not None:
            return await self._log(probe.name, probe.log_probe)
        if probe.exec_probe is not None:
            command = [self._filled(word) for word in probe.exec_probe.command]
            return _judged(command, *await self._execute(command, probe.exec_probe.working_directory))
        if probe.executable_probe is not None:
            spec = probe.executable_probe.executable_template.spec
            command = [spec.executable_path, *map(self._filled, spec.args)]
            env = {each.name: self._filled(each.value) for each in spec.env}
            inherited = self._machine.environ if spec.inherits else {}
            return _judged(
                command, *await run_command(self._machine, command, {**inherited, **env}, spec.working_directory)
            )
        return Finding("Unknown", f"the probe {probe.name} has no action: add the field for the type {probe.type}")

    async def _own(self, finding: Finding, host: str, port: int) -> Finding:
        """Returns the finding, or a failure if a process outside of the workload has answered. A failed answer of
        another process is reported as such too: the state of the workload is unknown."""
        if self._listeners is None:
            return finding
        if finding.outcome != "Success" and not finding.answered:
            self._listeners.forget(host, port)
            return finding
        problem = await self._listeners.problem(host, port)
        return Finding("Failure", problem) if problem else finding

    async def _log(self, name: str, probe: LogProbe) -> Finding:
        if fault := pattern_error(probe.pattern):
            raise ValueError(f"pattern: {fault}")
        matches = matcher(probe.pattern)
        if name in self._found:
            return Finding("Success")
        seen = self._seen.get(name)
        if seen is None:
            sources = ("stdout", "stderr") if probe.source == "all" else (probe.source,)
            before = await self._before()
            seen = sum(before.get(source, 0) for source in sources)
        rest = b""
        async for piece in self._machine.logs.read(self._uid, LogOptions(probe.source, skip=seen)):
            *lines, rest = (rest + piece).split(b"\n")
            seen += len(lines)
            if any(matches(line.decode("utf-8", "replace")) for line in lines):
                self._found.add(name)
                return Finding("Success")
        self._seen[name] = seen
        # The last line may not have ended yet.
        if rest and matches(rest.decode("utf-8", "replace")):
            return Finding("Success")
        return Finding("Failure", f"no line of the log matches {probe.pattern} yet")

    def _filled(self, text: str) -> str:
        return render(text, self._subject, self._lookup()).text

    def _address(self, text: str) -> str:
        return self._filled(text) or "localhost"

    def _port(self, text: str) -> int:
        filled = self._filled(text)
        if not filled.isdecimal():
            raise ValueError(f"invalid port {filled!r}: use a number, or {{{{ portForServing }}}}")
        return int(filled)


def _judged(command: Sequence[str], code: int | None, output: str) -> Finding:
    if code == 0:
        return Finding("Success")
    ended = f"{command[0]} ended with exit code {code}" if code is not None else f"{command[0]} did not exit by itself"
    return Finding("Failure", f"{ended}{f': {output}' if output else ''}")


class _Tail(Sink):
    """Keeps the end of the output."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data = (self.data + data)[-_OUTPUT_BYTES:]

    def close(self) -> None:
        """Has no effect: the sink holds no resources."""


async def run_command(
    machine: "Machine", command: Sequence[str], env: Mapping[str, str], directory: str
) -> tuple[int | None, str]:
    """Runs a command on this machine to its end. Returns its exit code and the end of its output."""
    output, cookie = _Tail(), machine.processes.cookie(machine.ids.uid())
    where = str(machine.path(directory) if directory else machine.working_directory)
    try:
        running = await machine.processes.start(Command(command[0], command[1:], env, where, cookie), output, output)
    except StartError as error:
        return None, str(error)
    try:
        ended: Exit = await running.wait()
    finally:
        if not running.exited.done():
            await machine.processes.stop(running, grace=0)
    return ended.code, output.data.decode("utf-8", "replace").strip()
