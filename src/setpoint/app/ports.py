"""The ports of an app: their Service objects, the ports that workloads listen on, and the ports on this machine."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from setpoint.app import forms
from setpoint.app.commands import command, words
from setpoint.app.model import AppFile, Service, Workload
from setpoint.app.references import BadReference, ValueReference, parse


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
