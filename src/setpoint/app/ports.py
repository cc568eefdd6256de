"""The ports of an app: which Service each becomes, on which port it is served and on which it is reached."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from setpoint.app import forms
from setpoint.app.commands import command, words
from setpoint.app.model import AppFile, Service, Workload
from setpoint.app.references import BadReference, Reference, parse


class ServedPort(NamedTuple):
    """A port of a service. `listens` is None where the process gets a free one, `host` where one is chosen."""

    name: str
    service: str
    container: bool
    listens: int | None
    host: int | None
    protocol: str
    scheme: str
    address: str
    proxied: bool


# The ports of services by the names of both.
Ports: TypeAlias = Mapping[str, Mapping[str, ServedPort]]


def all_ports(app: AppFile) -> Ports:
    """Raises ValueError where a port has no form that is known."""
    return {
        name: {port: _served(app, name, service, port) for port in service.ports}
        for name, service in app.services.items()
    }


def object_name(service: str, port: str) -> str:
    """The name of the Service object of a port."""
    return f"{service}-{port}"


def asks_for(app: AppFile, workload: Workload, port: str) -> bool:
    """Whether a workload is told, somewhere in its command or environment, which port to listen on."""
    return any(reference.path == ("port", port) for reference in references(app, workload))


def references(app: AppFile, workload: Workload) -> Iterator[Reference]:
    """All references that fill in the command and the environment; those that cannot be read are left out."""
    try:
        parts = [part for word in (*command(workload.run).words, *words(workload.args)) for part in word]
    except ValueError:
        parts = []
    for value in {**app.env, **workload.env}.values():
        try:
            parts += parse(str(value or ""))
        except BadReference:
            continue
    yield from (part for part in parts if isinstance(part, Reference))


def _served(app: AppFile, name: str, service: Service, port: str) -> ServedPort:
    given = forms.port(service.ports[port])
    container = forms.is_container(service)
    listens, host, proxied = given.port, given.host, True if given.proxy is None else given.proxy
    if not container and given.proxy is None and listens and host is None:
        # A number alone: where the program is told its port, that is where it is reached; otherwise it listens there.
        if asks_for(app, service, port):
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
