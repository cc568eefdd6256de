"""The ports of an app: their Service objects, the ports that workloads listen on, and the ports on this machine."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from setpoint.app import forms
from setpoint.app.commands import command, words
from setpoint.app.faults import Fault
from setpoint.app.model import AppFile, Service, Workload
from setpoint.app.references import BadReference, ValueReference, parse
from setpoint.objects.typedyaml import Path


class ServedPort(NamedTuple):
    """A port of a service. `listens` is None if the process gets a free port, `host` is None if a free port is
    chosen."""

    name: str
    service: str
    container: bool
    listens: int | None
    host: int | None
    protocol: str
    scheme: str
    address: str
    proxied: bool


# The ports of all services, by the names of service and port.
Ports: TypeAlias = Mapping[str, Mapping[str, ServedPort]]


def all_ports(app: AppFile) -> Ports:
    """Returns the ports of all services. Raises ValueError for an invalid port."""
    return {
        name: {port: _served(app, name, service, port) for port in service.ports}
        for name, service in app.services.items()
    }


def with_numbers(app: AppFile, variables: Mapping[str, str]) -> tuple[AppFile, list[Fault]]:
    """Returns the app with references to variables in its ports replaced by their values, and the faults."""
    faults: list[Fault] = []

    def number(value: str, path: Path) -> str:
        try:
            return "".join(part if isinstance(part, str) else _variable(part, variables) for part in parse(value))
        except BadReference as error:
            faults.append((path, str(error)))
            return "auto"

    def ports(name: str, service: Service) -> Service:
        if not any(isinstance(port, str) and "${" in port for port in service.ports.values()):
            return service
        made = {
            key: number(port, ("services", name, "ports", key)) if isinstance(port, str) else port
            for key, port in service.ports.items()
        }
        return msgspec.structs.replace(service, ports=made)

    services = {name: ports(name, service) for name, service in app.services.items()}
    return msgspec.structs.replace(app, services=services), faults


def _variable(reference: ValueReference, variables: Mapping[str, str]) -> str:
    if len(reference.path) != 2 or reference.path[0] != "env":
        raise BadReference(f"{reference}: a port can only refer to ${{env.NAME}}")
    value = variables.get(reference.path[1]) or reference.default
    if not value:
        raise BadReference(f"the variable {reference.path[1]} is not set; write ${{env.{reference.path[1]}:-8080}}")
    return value


def object_name(service: str, port: str) -> str:
    """Returns the name of the Service object of a port."""
    return f"{service}-{port}"


def refers_to(app: AppFile, workload: Workload, port: str) -> bool:
    """Returns True if the command or environment of a workload refers to the port."""
    return any(reference.path == ("port", port) for reference in references(app, workload))


def references(app: AppFile, workload: Workload) -> Iterator[ValueReference]:
    """Yields all references in the command and the environment; invalid ones are skipped."""
    try:
        parts = [part for word in (*command(workload.run).words, *words(workload.args)) for part in word]
    except ValueError:
        parts = []
    for value in {**app.env, **workload.env}.values():
        try:
            parts += parse(str(value or ""))
        except BadReference:
            continue
    yield from (part for part in parts if isinstance(part, ValueReference))


def _served(app: AppFile, name: str, service: Service, port: str) -> ServedPort:
    given = forms.port(service.ports[port])
    container = forms.is_container(service)
    listens, host, proxied = given.port, given.host, True if given.proxy is None else given.proxy
    if not container and given.proxy is None and listens and host is None:
        # A number alone: the port on this machine if the program gets its port from Setpoint, otherwise the port that
        # the program listens on.
        if refers_to(app, service, port):
            listens, host = None, listens
        else:
            proxied = False
    return ServedPort(
        port,
        object_name(name, port),
        container,
        listens,
        host,
        given.protocol.upper(),
        forms.scheme(port, given, container=container),
        given.address,
        proxied,
    )
