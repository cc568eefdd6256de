"""Where the services are that webhooks refer to.

There is no cluster network here: a `service` in a clientConfig leads wherever this map says it does. It is filled at
the start, and may be changed at any time: whoever runs workloads knows where their services listen.
"""

from collections.abc import Mapping


class ServiceError(LookupError):
    """A service that nobody has said the place of, or a place that is none."""


class ServiceResolver:
    """Services by namespace and name, and by port where the ports of one lead to different places."""

    def __init__(self, services: Mapping[str, str] | None = None) -> None:
        """`services` has lines like `namespace/name: host:port`, or `namespace/name:443: host:port` for one port only.
        Raises ServiceError."""
        self._places: dict[tuple[str, str, int | None], tuple[str, int]] = {}
        for service, address in (services or {}).items():
            namespace, _, rest = service.partition("/")
            name, _, port = rest.partition(":")
            if not namespace or not name or (port and not port.isdecimal()):
                raise ServiceError(f"{service!r} is no service: it should read NAMESPACE/NAME or NAMESPACE/NAME:PORT")
            host, _, number = address.rpartition(":")
            if not host or not number.isdecimal():
                raise ServiceError(f"{address!r} is no address: it should read HOST:PORT")
            self.put(namespace, name, host.strip("[]"), int(number), port=int(port) if port else None)

    def put(self, namespace: str, name: str, host: str, number: int, *, port: int | None = None) -> None:
        """Says where a service listens; without a port of the service, for all of its ports."""
        self._places[namespace, name, port] = host, number

    def remove(self, namespace: str, name: str, *, port: int | None = None) -> None:
        """Forgets it again."""
        self._places.pop((namespace, name, port), None)

    def resolve(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """The host and port to connect to. Raises ServiceError."""
        found = self._places.get((namespace, name, port)) or self._places.get((namespace, name, None))
        if found is None:
            raise ServiceError(f'service "{name}" not found')
        return found
