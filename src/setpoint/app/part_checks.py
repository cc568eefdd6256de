"""Checks single values of an app file: durations, sources of mounts, probes."""

from collections.abc import Iterator

from setpoint.app import forms
from setpoint.app.commands import command
from setpoint.app.faults import Fault
from setpoint.app.model import Service
from setpoint.app.parts import Probe, SyncExec
from setpoint.objects import duration
from setpoint.objects.names import dns1123_label
from setpoint.objects.typedyaml import Path, choices

_ASKS = ("http", "tcp", "exec", "grpc", "log")


def span_fault(path: Path, text: str) -> Iterator[Fault]:
    """Yields a fault for an invalid duration; an empty text is valid."""
    if not text:
        return
    try:
        good = duration.parse(text) > 0
    except ValueError:
        good = False
    if not good:
        yield path, f"invalid duration {text!r}: expected e.g. 500ms, 2s or 1m30s"


def source_faults(path: Path, source: str) -> Iterator[Fault]:
    """Yields a fault for the source of a mount that is neither a path nor a valid volume name."""
    if source and not forms.is_path(source):
        for message in dns1123_label(source):
            hint = f"; write ./{source} for a directory" if "/" in source else ""
            yield path, f"invalid volume name {source!r}: {message}{hint}"


def probe_faults(path: Path, configured: str | Probe, service: Service) -> Iterator[Fault]:
    try:
        probe = forms.probe(configured)
    except ValueError as error:
        yield path, str(error)
        return
    asks = [name for name in _ASKS if getattr(probe, name)]
    if len(asks) != 1:
        detail = f"found {' and '.join(asks)}" if asks else "found none"
        yield path, f"a probe needs exactly one of http, tcp, exec, grpc or log; {detail}"
        return
    for name in ("every", "timeout", "delay", "start_period", "start_interval"):
        yield from span_fault((*path, name), getattr(probe, name))
    yield from _action_faults(path, asks[0], probe, service)


def _action_faults(path: Path, action: str, probe: Probe, service: Service) -> Iterator[Fault]:
    value = getattr(probe, action)
    if action == "exec":
        try:
            command(value)
        except ValueError as error:
            yield (*path, "exec"), str(error)
        return
    if action == "log":
        # Imported here: the regular expression library is slow to import, and few files have patterns.
        from setpoint.schema.regex import pattern_error

        if fault := pattern_error(value):
            yield (*path, "log"), f"invalid regular expression: {fault}"
        return
    if action == "http" and not value.startswith(("/", "http://", "https://", "${")):
        yield (*path, "http"), f"{value!r} is neither a path nor a URL; use e.g. /{value}"
    elif action == "tcp" and isinstance(value, str) and ":" not in value:
        yield (*path, "tcp"), f"invalid address {value!r}: expected HOST:PORT, or tcp: true and port: NAME"
    elif (action == "http" and value.startswith("/")) or (action == "tcp" and value is True) or action == "grpc":
        yield from _port_choice_faults(path, action, probe, service)


def _port_choice_faults(path: Path, action: str, probe: Probe, service: Service) -> Iterator[Fault]:
    if not service.ports:
        yield path, f"the {action} probe needs a port; add one under ports"
    elif probe.port and probe.port not in service.ports:
        yield (*path, "port"), f"unknown port {probe.port}{choices(probe.port, list(service.ports))}"
    elif not probe.port and len(service.ports) > 1:
        yield path, f"the service has several ports; set port: {next(iter(service.ports))}, or another port"


def watch_faults(path: Path, service: Service) -> Iterator[Fault]:
    """Yields the faults of the watch rules of a service."""
    rules = forms.watches(service.watch)
    container = forms.is_container(service)
    if not container and len(rules) > 1:
        yield path, "a process has one watch rule: join the paths of the rules"
    for watch in rules:
        yield from span_fault((*path, "debounce"), watch.debounce)
        if not watch.paths and not watch.sync:
            yield path, "no files: set paths, or sync to copy files into a container"
        if watch.do == "rebuild" and not service.build:
            yield (*path, "do"), "rebuild requires a service with build"
        for each in watch.sync:
            if not container:
                yield (*path, "sync"), "sync applies to containers (image, build), not to processes; use paths"
            if not each.source:
                yield (*path, "sync", "from"), "set the file or directory to copy"
            if not each.target.startswith("/"):
                yield (*path, "sync", "to"), f"{each.target!r} is not an absolute path in the container"
            if isinstance(each.then, SyncExec):
                try:
                    empty = not each.then.exec or not command(each.then.exec)
                except ValueError as error:
                    yield (*path, "sync", "then"), str(error)
                else:
                    if empty:
                        yield (*path, "sync", "then"), "set the command to execute"
