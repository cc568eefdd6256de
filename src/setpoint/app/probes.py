"""Converts the probes of an app file to probes of workloads.

A process is probed at the port that the process listens on. A container is probed at its published port, which its
Endpoint has: the listener of a Service accepts connections even if no workload serves them.
"""

from collections.abc import Iterator, Mapping

from setpoint.app import forms
from setpoint.app.commands import command
from setpoint.app.model import Service
from setpoint.app.parts import Probe
from setpoint.app.ports import ServedPort
from setpoint.app.values import User, Values
from setpoint.controller.child_names import child_name
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Path

_ROLES = {"started": "Startup", "ready": "Readiness", "alive": "Liveness"}
_ALIVE_FAILURES = 3


def health_probes(
    service: Service,
    user: User,
    values: Values,
    ports: Mapping[str, ServedPort],
    lines: Mapping[str, str],
    object_name: str = "",
) -> list[Object]:
    """Returns the probes of a service, and the log probes for the lines that other workloads wait for. `object_name` is
    the name of a replica's object."""
    found = [
        _probe(name, role, given, (*user.path, name), user, values, ports, object_name or user.name)
        for name, role in _ROLES.items()
        if (given := getattr(service, name)) is not None
    ]
    return found + [
        {
            "name": name,
            "type": "Log",
            "role": "Startup",
            "logProbe": {"pattern": pattern},
            "schedule": {"kind": "UntilSuccess", "interval": "1s"},
        }
        for name, pattern in lines.items()
    ]


def _probe(
    name: str,
    role: str,
    configured: str | Probe,
    path: Path,
    user: User,
    values: Values,
    ports: Mapping[str, ServedPort],
    object_name: str,
) -> Object:
    probe = forms.probe(configured)
    schedule: Object = {
        "kind": "UntilSuccess" if role == "Startup" else "Continuous",
        "interval": probe.every,
        "timeout": probe.timeout,
    }
    if probe.delay:
        schedule["initialDelay"] = probe.delay
    for field, key in (("start_period", "startPeriod"), ("start_interval", "startInterval")):
        if given := getattr(probe, field):
            schedule[key] = given
    made: Object = {"name": name, "role": role, "schedule": schedule}
    made |= dict(_action(probe, path, user, values, ports, object_name))
    failures = probe.fail or (_ALIVE_FAILURES if role == "Liveness" else 1)
    if failures > 1:
        made["failureThreshold"] = failures
    if probe.succeed:
        made["successThreshold"] = probe.succeed
    return made


def _action(
    probe: Probe, path: Path, user: User, values: Values, ports: Mapping[str, ServedPort], object_name: str
) -> Iterator[tuple[str, object]]:
    if probe.exec:
        yield "type", "Exec"
        yield (
            "execProbe",
            {"command": [values.template(word, user, (*path, "exec")) for word in command(probe.exec).words]},
        )
        return
    if probe.log:
        yield "type", "Log"
        yield "logProbe", {"pattern": probe.log}
        return
    port = ports.get(probe.port) if probe.port else next(iter(ports.values()), None)
    address, number = _place(port, object_name) if port is not None else ("", "")
    if probe.http:
        url = values.template(probe.http, user, (*path, "http"))
        if port is not None and url.startswith("/"):
            url = f"{'https' if port.scheme == 'https' else 'http'}://{address}:{number}{url}"
        headers = [
            {"name": name, "value": values.template(text, user, (*path, "headers", name))}
            for name, text in probe.headers.items()
        ]
        yield "type", "HTTP"
        yield "httpProbe", {"url": url, **({"headers": headers} if headers else {})}
    elif probe.tcp:
        if isinstance(probe.tcp, str):
            address, _, number = (values.template(probe.tcp, user, (*path, "tcp"))).rpartition(":")
        yield "type", "TCP"
        yield "tcpProbe", {"address": address, "port": number}
    elif probe.grpc:
        fields = {"service": probe.grpc} if isinstance(probe.grpc, str) else {}
        yield "type", "GRPC"
        yield "grpcProbe", {"address": address, "port": number, **fields}


def _place(port: ServedPort, object_name: str) -> tuple[str, str]:
    """Returns the address and port that the workload listens on, as templates."""
    service = quote(port.service)
    if not port.container:
        return f"{{{{ addressForServing {service} }}}}", f"{{{{ portForServing {service} }}}}"
    endpoint = quote(child_name(object_name, "Container", port.service))
    return tuple(f'{{{{ fieldOf "Endpoint" {endpoint} "spec.{field}" }}}}' for field in ("address", "port"))  # type: ignore[return-value]
