"""What is wrong with single values of an app file: spans of time, sources of mounts, probes."""

from collections.abc import Iterator

from setpoint.app import forms
from setpoint.app.commands import command
from setpoint.app.faults import Fault
from setpoint.app.model import Service
from setpoint.app.parts import Probe
from setpoint.objects import duration
from setpoint.objects.names import dns1123_label
from setpoint.objects.typedyaml import Path, choices

_ASKS = ("http", "tcp", "exec", "grpc", "log")


def span_fault(path: Path, text: str) -> Iterator[Fault]:
    """A span of time that is none; an empty one says nothing."""
    if not text:
        return
    try:
        good = duration.parse(text) > 0
    except ValueError:
        good = False
    if not good:
        yield path, f"{text!r} is no span of time; write such as 500ms, 2s or 1m30s"


def source_faults(path: Path, source: str) -> Iterator[Fault]:
    """The source of a mount that is neither a path nor a name that a volume can have."""
    if source and not forms.is_path(source):
        for message in dns1123_label(source):
            hint = f"; write ./{source} for a directory" if "/" in source else ""
            yield path, f"{source!r} is no name of a volume: {message}{hint}"


def probe_faults(path: Path, given: str | Probe, service: Service) -> Iterator[Fault]:
    try:
        probe = forms.probe(given)
    except ValueError as error:
        yield path, str(error)
        return
    asks = [name for name in _ASKS if getattr(probe, name)]
    if len(asks) != 1:
        said = f"it says {' and '.join(asks)}" if asks else "it says none"
        yield path, f"a probe asks in one way, http, tcp, exec, grpc or log; {said}"
        return
    for name in ("every", "timeout", "delay"):
        yield from span_fault((*path, name), getattr(probe, name))
    yield from _ask_faults(path, asks[0], probe, service)


def _ask_faults(path: Path, ask: str, probe: Probe, service: Service) -> Iterator[Fault]:
    value = getattr(probe, ask)
    if ask == "exec":
        try:
            command(value)
        except ValueError as error:
            yield (*path, "exec"), str(error)
        return
    if ask == "log":
        # What compiles patterns is slow to import, and few files have any.
        from setpoint.schema.regex import pattern_error

        if fault := pattern_error(value):
            yield (*path, "log"), f"it is no regular expression: {fault}"
        return
    if ask == "http" and not value.startswith(("/", "http://", "https://", "${")):
        yield (*path, "http"), f"{value!r} is neither a path nor a URL; write such as /{value}"
    elif ask == "tcp" and isinstance(value, str) and ":" not in value:
        yield (*path, "tcp"), f"{value!r} is no address; write HOST:PORT, or tcp: true and port: NAME"
    elif (ask == "http" and value.startswith("/")) or (ask == "tcp" and value is True) or ask == "grpc":
        yield from _which_port(path, ask, probe, service)


def _which_port(path: Path, ask: str, probe: Probe, service: Service) -> Iterator[Fault]:
    if not service.ports:
        yield path, f"there is no port to ask by {ask}; name one under ports"
    elif probe.port and probe.port not in service.ports:
        yield (*path, "port"), f"there is no port {probe.port}{choices(probe.port, list(service.ports))}"
    elif not probe.port and len(service.ports) > 1:
        yield path, f"which port is it for? Write port: {next(iter(service.ports))}, or another of its ports"
