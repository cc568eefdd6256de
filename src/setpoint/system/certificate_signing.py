"""Signs approved CertificateSigningRequests for clients of the API server, with the server's certificate authority.

The controller serves the signer `kubernetes.io/kube-apiserver-client`. Requests are never approved here: a user with
the right to approve decides. A request with other usages than those of a client gets the condition Failed.
"""

from base64 import b64decode, b64encode
from datetime import timedelta
from typing import Any

from setpoint.cache.informer import Change
from setpoint.client.client import Client
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request
from setpoint.controller.watch import Watch
from setpoint.objects import conditions
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.server.edge.certificates import LIFETIME, Authority, CertificateError

NAME, REQUEST = "certificatesigningrequest-signing-controller", "certificates.k8s.io/v1/CertificateSigningRequest"
SIGNER = "kubernetes.io/kube-apiserver-client"
_CLIENT_AUTH, _KEY_ENCIPHERMENT = "client auth", "key encipherment"
_USAGES = frozenset(("digital signature", _KEY_ENCIPHERMENT, _CLIENT_AUTH))


def certificate_signer(client: Client, authority: Authority, clock: Clock | None = None) -> Controller:
    """Returns the controller, which writes as the user of `client`. Certificates are verified with real clocks, so
    their times do not come from the clock of the server, unless a test gives a `clock`."""
    real = clock or SystemClock()

    async def reconcile(ctx: Context, request: Request) -> None:
        own = client.with_options(cause=ctx.cause)
        try:
            found = await own.get(REQUEST, request.name)
            if not _is_due(found):
                return
            status = found.setdefault("status", {})
            try:
                certificate = _signed(found["spec"], authority, real)
                status["certificate"] = b64encode(certificate).decode()
            except CertificateError as error:
                failed = {
                    "type": "Failed",
                    "status": "True",
                    "reason": "SignerValidationFailure",
                    "message": str(error),
                }
                status["conditions"] = [*(status.get("conditions") or ()), failed]
            await own.update(found, subresource="status")
        except NotFound:
            return

    counts = Predicate(lambda change: _is_new(change), "is approved and not signed")
    watch = Watch(REQUEST, predicates=(counts,), fields={"spec.signerName": SIGNER})
    return Controller(NAME, reconcile, clock=client.clock, kind=watch, keep_runs=16)


def _is_new(change: Change[Any]) -> bool:
    return change.new is not None and _is_due(change.new.object)


def _is_due(request: Object) -> bool:
    """Returns True if a request is approved, and has no result."""
    status = request.get("status") or {}
    found = status.get("conditions") or []
    decided = {each: conditions.find(found, each) is not None for each in ("Approved", "Denied", "Failed")}
    is_ours = request["spec"].get("signerName") == SIGNER
    return is_ours and decided == {"Approved": True, "Denied": False, "Failed": False} and not status.get("certificate")


def _signed(spec: Object, authority: Authority, clock: Clock) -> bytes:
    """Returns the certificate of a request. Raises CertificateError."""
    usages = set(spec.get("usages") or ())
    if _CLIENT_AUTH not in usages or not usages <= _USAGES:
        wanted = ", ".join(sorted(_USAGES))
        raise CertificateError(f"invalid usages for client certificate: {_CLIENT_AUTH!r} and only: {wanted}")
    seconds = spec.get("expirationSeconds")
    lifetime = LIFETIME if seconds is None else min(timedelta(seconds=seconds), LIFETIME)
    data = b64decode(spec["request"])
    return authority.sign_client(data, clock.now(), lifetime, enciphers=_KEY_ENCIPHERMENT in usages)
