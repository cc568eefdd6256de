"""The certificate by which extension API servers recognize this server, of an authority of its own.

Extension servers believe the user names that a client with a certificate of this authority states. So the authority
signs no other certificates: the certificate of a user must not suffice to act as another user.
"""

from setpoint.objects.clock import Clock
from setpoint.server.edge.certificates import LIFETIME, RENEWAL
from setpoint.server.edge.identity import authority, joined
from setpoint.server.server_keys import ServerKeys

CLIENT = "front-proxy-client"
FRONT_PROXY, CALLED = "front-proxy.pem", "front-proxy-ca"


class FrontProxy:
    """The authority, which is created once and kept, and the client certificate."""

    def __init__(self, clock: Clock, keys: ServerKeys) -> None:
        """Raises OSError or CertificateError."""
        self._clock = clock
        self._authority = authority(keys, clock.now(), FRONT_PROXY, CALLED)
        self._pair, self._renewal = b"", clock.now()

    @property
    def authority(self) -> str:
        """The certificate of the authority, PEM."""
        return self._authority.pair.certificate.decode("ascii")

    def pair(self) -> bytes:
        """Returns the client certificate and its key, PEM. A new one is issued long before the old one expires."""
        now = self._clock.now()
        if now >= self._renewal:
            self._pair = joined(self._authority.issue_client(CLIENT, (), now))
            self._renewal = now + LIFETIME - RENEWAL
        return self._pair
