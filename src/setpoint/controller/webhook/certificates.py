"""The serving certificates of webhooks, issued by an authority in a Secret that all replicas share.

Each replica has its own serving certificate. Both are renewed long before they expire: the serving certificate by its
replica, the authority by the first replica to notice. The API server gets the certificates of the new and of the
previous authority, so that replicas that still use the previous one stay trusted.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from ssl import SSLContext

from setpoint.client.client import Client
from setpoint.objects.clock import Clock
from setpoint.objects.errors import AlreadyExists, Conflict, NotFound
from setpoint.objects.tree import Object
from setpoint.server.certificate_pair import load_pair
from setpoint.server.edge.certificates import RENEWAL, Authority, CertificateError, Pair
from setpoint.server.edge.tls import server_context

LOOK_SECONDS = 3600.0
_AUTHORITY, _KEY, _BUNDLE = "ca.crt", "ca.key", "bundle.crt"


class OwnCertificates:
    """Self-issued certificates. `secret` is `namespace/name`; without one, the authority is private to this process."""

    renewal_seconds = LOOK_SECONDS

    def __init__(self, names: Sequence[str], clock: Clock, secret: str = "") -> None:
        self._names = tuple(names)
        self._clock = clock
        self._namespace, _, self._secret = secret.rpartition("/")
        self._authority: Authority | None = None
        self._serving: Pair | None = None
        self._old = ""
        self.context: SSLContext = server_context()

    @property
    def bundle(self) -> bytes:
        """The CA bundle that clients should trust."""
        if self._authority is None:
            return b""
        return self._authority.pair.certificate + self._old.encode()

    async def refresh(self, client: Client) -> bool:
        """Loads or creates the authority and the certificate, and renews expiring ones. Returns True if any changed."""
        before = self.bundle
        await self._find_authority(client)
        return self.renew() or self.bundle != before

    def renew(self) -> bool:
        """Issues a new serving certificate if the current one expires soon, or is from another authority."""
        if self._authority is None:
            return False
        now = self._clock.now()
        if self._serving is not None and self._authority.still_serves(self._serving, self._names, now):
            return False
        self._serving = self._authority.issue_server(self._names, now)
        load_pair(self.context, self._serving.certificate + self._serving.key)
        return True

    async def _find_authority(self, client: Client) -> None:
        if not self._secret:
            if self._authority is None or self._is_old(self._authority):
                self._old = self._authority.pair.certificate.decode() if self._authority else ""
                self._authority = Authority.create(self._clock.now(), "setpoint-webhooks")
            return
        for _ in range(5):
            try:
                await self._share_authority(client)
            except (AlreadyExists, Conflict):  # another replica was faster: read its authority
                continue
            return
        raise CertificateError(f"cannot write the Secret {self._namespace}/{self._secret}: too many conflicts")

    async def _share_authority(self, client: Client) -> None:
        try:
            secret: Object | None = await client.get("v1/Secret", self._secret, self._namespace)
        except NotFound:
            secret = None
        found = _read(secret)
        if found is None or self._is_old(found):
            made = Authority.create(self._clock.now(), "setpoint-webhooks")
            old = found.pair.certificate.decode() if found is not None else ""
            secret = await _write(client, secret, self._namespace, self._secret, made, old)
            found = made
        assert secret is not None
        self._authority = found
        self._old = _decoded(secret, _BUNDLE).decode("ascii", "replace")

    def _is_old(self, authority: Authority) -> bool:
        return authority.expires - self._clock.now() < 2 * RENEWAL


def _read(secret: Object | None) -> Authority | None:
    """Returns the authority in a Secret; None for a missing or unusable one, which is then replaced."""
    if secret is None:
        return None
    try:
        return Authority(Pair(_decoded(secret, _AUTHORITY), _decoded(secret, _KEY)))
    except CertificateError:
        return None


def _decoded(secret: Object, name: str) -> bytes:
    return b64decode((secret.get("data") or {}).get(name) or "")


async def _write(
    client: Client, secret: Object | None, namespace: str, name: str, authority: Authority, old: str
) -> Object:
    pair = authority.pair
    parts = {_AUTHORITY: pair.certificate, _KEY: pair.key, _BUNDLE: old.encode()}
    data = {key: b64encode(value).decode() for key, value in parts.items()}
    if secret is None:
        metadata = {"name": name, "namespace": namespace}
        return await client.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
        )
    return await client.update({**secret, "data": {**(secret.get("data") or {}), **data}})
