"""The way to a server, whoever described it: where it is, who asks, and whom to trust."""

from typing import NamedTuple

from setpoint.client.credentials import Trust
from setpoint.client.http.endpoint import Endpoint
from setpoint.client.http.transport import Credentials, HttpTransport
from setpoint.client.options import Impersonation


class ConfigError(Exception):
    """There is no way to a server, or it is described wrongly: says where, and how it should be."""


class Connection(NamedTuple):
    """The way to a server."""

    endpoint: Endpoint
    credentials: Credentials | None = None
    trust: Trust | None = None
    impersonate: Impersonation | None = None
    # The namespace that whoever described it works in.
    namespace: str = ""

    def transport(self) -> HttpTransport:
        """A transport on this way."""
        return HttpTransport(self.endpoint, credentials=self.credentials, tls=self.trust)
