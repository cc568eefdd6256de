"""Checks an app for semantic errors, and reports all of them before the app starts.

References are checked when they are resolved (`values`), files and programs by `disk`.
"""

import re
import signal
from collections.abc import Callable, Iterator

import msgspec

from setpoint.app import forms
from setpoint.app.commands import command, words
from setpoint.app.container_args import shares_with
from setpoint.app.container_fields import ContainerFields, File
from setpoint.app.faults import Fault
from setpoint.app.model import AppFile, Service, Task, Workload
from setpoint.app.part_checks import probe_faults, source_faults, span_fault, watch_faults
from setpoint.app.parts import Mount
from setpoint.app.ports import all_ports, object_name, refers_to
from setpoint.objects import quantity
from setpoint.objects.cron import ScheduleError
from setpoint.objects.names import dns1123_label
from setpoint.objects.typedyaml import Path, choices
from setpoint.workload.schedule import parse_schedule, parse_zone

_CONTAINERS_ONLY = (
    "entrypoint", "volumes", "networks", "resources", "user", "pull", "privileged", "cap_add", "cap_drop", "tmpfs",
    "extra_hosts", "devices", "labels",
)  # fmt: skip
_USUAL = {field.name: field.default for field in msgspec.structs.fields(Workload)}
_EMPTY: tuple[object, ...] = ((), {}, "", None)
_REAL_TIME = re.compile(r"(SIG)?RTM(IN\+|AX-)\d{1,2}")
_SIGNALS = ("TERM", "INT", "QUIT", "HUP", "KILL", "USR1", "USR2", "WINCH")
_PROCESSES_ONLY = {"inherit_env": True}


def check(app: AppFile) -> list[Fault]:
    """Returns the faults of an app with its profiles applied."""
    found = list(_app_faults(app))
    for section, name, workload in _workloads(app):
        found += _workload_faults(app, (section, name), name, workload)
    for name, service in app.services.items():
        found += _service_faults(("services", name), service)
    for name, task in app.tasks.items():
        found += _task_faults(("tasks", name), task)
    found += _wait_faults(app)
    # These checks require valid ports.
    if not found:
        found += _port_faults(app)
    return found


def _workloads(app: AppFile) -> Iterator[tuple[str, str, Workload]]:
    for name, service in app.services.items():
        yield "services", name, service
    for name, task in app.tasks.items():
        yield "tasks", name, task


def _app_faults(app: AppFile) -> Iterator[Fault]:
    for message in dns1123_label(app.app):
        yield ("app",), f"invalid name {app.app!r}: {message}"
    for name, secret in app.secrets.items():
        if bool(secret.environment) == bool(secret.file):
            yield ("secrets", name), "set exactly one of environment and file"
    for section, names in (("volumes", app.volumes), ("networks", app.networks)):
        for name in names:
            for message in dns1123_label(name):
                yield (section, name), f"invalid name {name!r}: {message}"
    for name in app.tasks.keys() & app.services.keys():
        yield ("tasks", name), f"a service has the same name {name}; rename one of them"
    yield from _env_faults((), app)


def _env_faults(path: Path, part: AppFile | Workload) -> Iterator[Fault]:
    for name in part.env:
        if not name or "=" in name or "\0" in name:
            yield (*path, "env", name), f"invalid variable name {name!r}: remove = and NUL"


def _workload_faults(app: AppFile, path: Path, name: str, workload: Workload) -> Iterator[Fault]:
    for message in dns1123_label(name):
        yield path, f"invalid name {name!r}: {message}"
    container = forms.is_container(workload)
    if workload.run and container:
        other = "image" if workload.image else "build"
        yield (*path, "run"), f"run (a process) conflicts with {other} (a container); use args for the container"
    elif not workload.run and not container:
        yield path, "no command: set run for a process, or image or build for a container"
    yield from _wrong_kind(path, workload, container)
    yield from _env_faults(path, workload)
    yield from _attempt((*path, "run"), lambda: command(workload.run))
    yield from _attempt((*path, "args"), lambda: words(workload.args))
    yield from _attempt((*path, "entrypoint"), lambda: words(workload.entrypoint or ()))
    for index, volume in enumerate(workload.volumes):
        yield from _volume_faults((*path, "volumes", index), volume)
    for index, file in enumerate(workload.files):
        yield from _file_faults((*path, "files", index), file)
    for other in shares_with(workload):
        if other not in app.services and other not in app.tasks:
            yield path, f"unknown service {other}{choices(other, [*app.services, *app.tasks])}"
    if workload.stop is not None:
        yield from span_fault((*path, "stop", "grace"), workload.stop.grace)
        given = workload.stop.signal
        is_known = forms.signal(given) in signal.Signals.__members__ or (container and _REAL_TIME.fullmatch(given))
        if given and not is_known:
            yield (*path, "stop", "signal"), f"unknown signal {given!r}{choices(given.removeprefix('SIG'), _SIGNALS)}"
    if workload.stdin and workload.terminal:
        yield (*path, "stdin"), "a terminal includes standard input; remove stdin"
    yield from _quantity_faults(path, workload)
    for index, group in enumerate(workload.groups):
        for message in dns1123_label(group):
            yield (*path, "groups", index), f"invalid name {group!r}: {message}"
    if app.networks:
        named = workload.networks
        for index, network in enumerate(named):
            if network not in app.networks and network != forms.DEFAULT_NETWORK:
                place = network if isinstance(named, dict) else index
                yield (*path, "networks", place), f"unknown network {network}{choices(network, [*app.networks])}"


def _wrong_kind(path: Path, workload: Workload, container: bool) -> Iterator[Fault]:
    if container:
        for field, usual in _PROCESSES_ONLY.items():
            if getattr(workload, field, usual) != usual:
                yield (*path, field), f"{field} applies to processes (run), not to containers; remove this field"
        return
    for field in (*_CONTAINERS_ONLY, *ContainerFields.__struct_fields__):
        if getattr(workload, field) not in (*_EMPTY, _USUAL[field]):
            yield (*path, field), f"{field} applies to containers (image, build), not to processes; remove this field"


def _attempt(path: Path, work: Callable[[], object]) -> Iterator[Fault]:
    try:
        work()
    except ValueError as error:
        # The messages of shlex for open quotes suggest no fix.
        yield path, "a quote or escape is not closed" if str(error).startswith("No ") else str(error)


def _volume_faults(path: Path, volume: str | Mount) -> Iterator[Fault]:
    # Values with references are checked when the references are resolved.
    if "${" in (volume if isinstance(volume, str) else volume.source):
        return
    try:
        source = forms.mount(volume).source
    except ValueError as error:
        yield path, str(error)
        return
    yield from source_faults(path, source)


def _file_faults(path: Path, file: File) -> Iterator[Fault]:
    if bool(file.secret) and bool(file.content):
        yield path, "set only one of secret and content"
    if not file.target.startswith("/") or file.target.endswith("/"):
        yield (*path, "target"), f"{file.target!r} is not an absolute path of a file in the container"
    for field in ("uid", "gid"):
        if not str(getattr(file, field)).isdecimal():
            yield (*path, field), f"invalid id {getattr(file, field)!r}: expected a number"
    try:
        int(file.mode, 8)
    except ValueError:
        yield (*path, "mode"), f"invalid permissions {file.mode!r}: expected an octal number such as 0444"


def _quantity_faults(path: Path, workload: Workload) -> Iterator[Fault]:
    for field in ("cpus", "memory"):
        given = getattr(workload.resources, field, "")
        if given != "":
            yield from _attempt((*path, "resources", field), lambda given=given: quantity.Quantity.parse(str(given)))  # type: ignore[misc]


def _service_faults(path: Path, service: Service) -> Iterator[Fault]:
    for name, port in service.ports.items():
        for message in dns1123_label(name):
            yield (*path, "ports", name), f"invalid name {name!r}: {message}"
        yield from _attempt((*path, "ports", name), lambda port=port: forms.port(port))  # type: ignore[misc]
    for name in ("ready", "alive", "started"):
        given = getattr(service, name)
        if given is not None:
            yield from probe_faults((*path, name), given, service)
    yield from _restart_faults((*path, "restart"), service)
    yield from watch_faults((*path, "watch"), service)
    if service.keep and service.terminal:
        yield (*path, "terminal"), "keep and terminal cannot be combined; remove one of them"
    if service.keep and service.replicas is not None:
        yield (*path, "keep"), "keep and replicas cannot be combined; remove one of them"


def _restart_faults(path: Path, service: Service) -> Iterator[Fault]:
    try:
        restart = forms.restart(service.restart)
    except ValueError as error:
        yield path, str(error)
        return
    if restart.on == "unless-stopped" and not forms.is_container(service):
        yield path, "unless-stopped applies to containers; use always"
    if restart.on == "never" and restart.max is not None and service.alive is None:
        yield (*path, "max"), "the service is never restarted: set on: failure, or remove max"
    for part in forms.backoff(restart.backoff):
        yield from span_fault((*path, "backoff"), part)
    yield from span_fault((*path, "reset"), restart.reset)


def _task_faults(path: Path, task: Task) -> Iterator[Fault]:
    if task.schedule:
        try:
            parse_schedule(task.schedule)
        except ScheduleError as error:
            yield (*path, "schedule"), str(error)
    if task.time_zone:
        try:
            parse_zone(task.time_zone)
        except ScheduleError as error:
            yield (*path, "time_zone"), str(error)
        if not task.schedule:
            yield (*path, "time_zone"), "a time zone requires a schedule"
    yield from span_fault((*path, "timeout"), task.timeout)


def _port_faults(app: AppFile) -> Iterator[Fault]:
    held: dict[tuple[int, str, str], str] = {}
    named: dict[str, str] = {}
    for name, ports in all_ports(app).items():
        service = app.services[name]
        for port in ports.values():
            path = ("services", name, "ports", port.name)
            here = f"{name}.{port.name}"
            other = named.setdefault(object_name(name, port.name), here)
            if other != here:
                yield path, f"the names of service and port conflict with {other}; rename the port"
            number = port.host or (None if port.proxied or port.container else port.listens)
            if number is not None:
                other = held.setdefault((number, port.protocol, "" if port.proxied else port.address), here)
                if other != here:
                    yield path, f"port {number} is already used by {other}; choose another port, or auto"
            if port.container and port.listens is None:
                yield path, "set the port number that the container listens on"
            if not port.container and port.proxied and not refers_to(app, service, port.name) and not port.listens:
                message = f"the program does not get its port: use ${{port.{port.name}}} in run or env"
                yield path, f"{message}, or set the port number that the program listens on"
            if service.replicas is not None and port.listens and not port.container:
                message = (
                    f"all replicas would listen on {port.listens}: use auto, and ${{port.{port.name}}} in run or env"
                )
                yield path, message


def _wait_faults(app: AppFile) -> Iterator[Fault]:
    for section, name, workload in _workloads(app):
        path = (section, name, "after")
        for other, how in forms.declared_waits(workload).items():
            place = (*path, other) if isinstance(workload.after, dict) else path
            try:
                wait = forms.wait(other, how, app)
            except ValueError as error:
                yield place, str(error)
            else:
                yield from ((place, message) for message in _wait_faults_of(app, name, wait))


def _wait_faults_of(app: AppFile, name: str, wait: forms.Wait) -> Iterator[str]:
    task = app.tasks.get(wait.name)
    others = [each for each in (*app.services, *app.tasks) if each != name]
    if wait.name == name:
        yield f"{name} would wait for itself forever; remove this entry"
    elif wait.name not in others:
        yield f"unknown service or task {wait.name}{choices(wait.name, others) if others else ''}"
    elif task is not None and wait.condition == "Ready":
        yield f"{wait.name} is a task: use done, finished or started"
    elif task is not None and task.auto is False:
        yield f"{wait.name} does not run with the app (auto: false), so {name} would wait forever"
