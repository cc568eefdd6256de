"""Resolves the services that webhooks and APIServices refer to.

Setpoint has no cluster network: the `service` in a clientConfig resolves by this map. The map is filled at startup and
can change at any time, for example by a program that runs the services as workloads.
"""

from collections.abc import Mapping


class ServiceError(LookupError):
    """The service is unknown, or the address is invalid."""


class ServiceResolver:
    """Maps services by namespace and name to addresses, optionally by service port."""

    def __init__(self, services: Mapping[str, str] | None = None) -> None:
        """Reads entries such as `namespace/name: host:port`, or `namespace/name:443: host:port` for a single port.
        Raises ServiceError."""
        self._places: dict[tuple[str, str, int | None], tuple[str, int]] = {}
        for service, address in (services or {}).items():
            namespace, _, rest = service.partition("/")
            name, _, port = rest.partition(":")
            if not namespace or not name or (port and not port.isdecimal()):
                raise ServiceError(f"{service!r} is not a service: expected NAMESPACE/NAME or NAMESPACE/NAME:PORT")
            host, _, number = address.rpartition(":")
            if not host or not number.isdecimal():
                raise ServiceError(f"{address!r} is not an address: expected HOST:PORT")
            self.put(namespace, name, host.strip("[]"), int(number), port=int(port) if port else None)

    def put(self, namespace: str, name: str, host: str, number: int, *, port: int | None = None) -> None:
        """Sets the address of a service, for one port or for all ports."""
        self._places[namespace, name, port] = host, number

    def remove(self, namespace: str, name: str, *, port: int | None = None) -> None:
        """Removes the address of a service."""
        self._places.pop((namespace, name, port), None)

    def resolve(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """Returns the host and port to connect to. Raises ServiceError."""
        found = self._places.get((namespace, name, port)) or self._places.get((namespace, name, None))
        if found is None:
            raise ServiceError(f'service "{name}" not found')
        return found
