"""The configuration of a connection to a server: its address, the credentials, and the trusted certificates."""

from typing import NamedTuple

from setpoint.client.credentials import Trust
from setpoint.client.http.endpoint import Endpoint
from setpoint.client.http.transport import Credentials, HttpTransport
from setpoint.client.options import Impersonation


class ConfigError(Exception):
    """The connection to a server is not configured, or its configuration is invalid. The message names the place and
    the expected value."""


class ConnectionConfig(NamedTuple):
    """The address, credentials and trusted certificates of a server."""

    endpoint: Endpoint
    credentials: Credentials | None = None
    trust: Trust | None = None
    impersonate: Impersonation | None = None
    # The default namespace, as configured in the kubeconfig's context or the pod.
    namespace: str = ""

    def transport(self) -> HttpTransport:
        """Returns a transport that uses this configuration."""
        return HttpTransport(self.endpoint, credentials=self.credentials, tls=self.trust)
