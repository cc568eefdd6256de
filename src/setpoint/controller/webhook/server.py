"""Serves webhooks over HTTPS, renews their certificates, and registers the webhooks at the API server.

With `service` (`namespace/name`) the API server calls the webhooks through that Service, and replicas share their
authority in a Secret of the same name. Without `service`, the API server calls the address of this process, which suits
a server on the same machine. `certificates` are certificate files maintained by another program such as cert-manager:
they are reloaded on changes, and the webhook configurations are left to that program's user. Bodies above 7 MiB are
rejected, as in controller-runtime.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.controller.metrics import WebhookMetrics
from setpoint.controller.page_server import TEXT, Address, PageServer, RenewedCertificate
from setpoint.controller.threads import ThreadPool
from setpoint.controller.webhook.admission import AdmissionWebhook
from setpoint.controller.webhook.certificates import LOOK_SECONDS, OwnCertificates
from setpoint.controller.webhook.conversion import PATH, ConversionWebhook, answer
from setpoint.controller.webhook.installation import at_service, at_url, by_kind, install_admission, install_conversions
from setpoint.objects.errors import APIError
from setpoint.server.admission.request import deny
from setpoint.server.admission.webhook.review import decode_request, encode_answer
from setpoint.server.edge.limits import Limits
from setpoint.server.message import Request, Response

if TYPE_CHECKING:
    from setpoint.server.edge.tls import Certificates

PORT = 9443
BODY_BYTES = 7 << 20
THREADS = 8
JSON = "application/json"
_RETRY_SECONDS = 10.0

_log = logging.getLogger(__name__)


class WebhookServer:
    """The webhook server of a manager; a runnable.

    server = WebhookServer(client, [checked, filled], name="websites", service="system/websites")
    await Manager(client, controllers=[website], webhooks=server).run()
    """

    def __init__(
        self,
        client: Client,
        # The admission webhooks: `@validate` and `@default` functions.
        webhooks: Sequence[AdmissionWebhook] = (),
        *,
        # The conversions between versions of kinds.
        conversions: Sequence[ConversionWebhook] = (),
        # The name of the webhook configurations.
        name: str = "webhooks",
        # The address to listen at.
        address: str = f":{PORT}",
        # The Service through which the API server calls the webhooks, as `namespace/name`; empty: the address of this
        # process.
        service: str = "",
        # The port of the Service.
        service_port: int = 443,
        # Certificate files of another program such as cert-manager; the configurations are left to its user.
        certificates: "Certificates | None" = None,
        # True registers the webhooks at the API server.
        install: bool = True,
        # The number of threads for `def` functions.
        threads: int = THREADS,
    ) -> None:
        """Creates the server. `name` is the name of the webhook configurations; `threads` is the number of threads for
        `def` functions. Raises ValueError."""
        paths = Counter(webhook.path for webhook in webhooks)
        if twice := [path for path, count in paths.items() if count > 1]:
            raise ValueError(f"several webhooks with the path {', '.join(twice)}: set another path")
        if service and "/" not in service:
            raise ValueError(f"invalid service {service!r}: expected NAMESPACE/NAME")
        self.name = name
        self.metrics = WebhookMetrics()
        # Called with the name of a webhook and the exception with which its function failed, in a test.
        self.on_failure: Callable[[str, Exception], None] | None = None
        self._client = client
        self._clock = client.clock
        self._webhooks = {webhook.path: webhook for webhook in webhooks}
        self._conversions = conversions
        self._converts: dict[tuple[str, str], ConversionWebhook] = {}
        self._service = service
        self._service_port = service_port
        self._installs = install and certificates is None
        self._own = None if certificates is not None else self._certificates(Address.parse(address).host)
        tls: Certificates | RenewedCertificate | None = certificates if self._own is None else self._own
        assert tls is not None
        self._pages = PageServer(
            address,
            [self._page],
            tls=tls,
            clock=self._clock,
            limits=Limits(body_bytes=BODY_BYTES),
            name=name,
            on_renewal=self._renewed,
        )
        self._refreshing: asyncio.Task[None] | None = None
        self._threads = ThreadPool(name, threads, self._clock)

    def _certificates(self, host: str) -> OwnCertificates:
        if not self._service:
            return OwnCertificates(["localhost", "127.0.0.1", "::1", host], self._clock)
        namespace, _, name = self._service.rpartition("/")
        ends = ("", f".{namespace}", f".{namespace}.svc", f".{namespace}.svc.cluster.local")
        return OwnCertificates([f"{name}{end}" for end in ends], self._clock, self._service)

    @property
    def url(self) -> str:
        """The URL while the server runs; else empty."""
        return self._pages.url

    @property
    def is_serving(self) -> bool:
        return self._pages.is_serving

    async def start(self) -> None:
        if self._own is not None:
            await self._own.refresh(self._client)
            self.metrics.certificates += 1
        await self._pages.start()
        await self._install()
        if self._own is not None:
            self._refreshing = asyncio.ensure_future(self._refresh())

    async def wait(self) -> None:
        await asyncio.Event().wait()

    async def stop(self, graceful: float | None) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)
            self._refreshing = None
        self._threads.begin_close()
        await self._pages.stop(graceful)
        await self._threads.close()

    # Certificates and configurations

    async def _refresh(self) -> None:
        """Renews the certificates, and updates the CA bundle at the API server."""
        assert self._own is not None
        seconds = LOOK_SECONDS
        while True:
            await self._clock.sleep(seconds)
            try:
                if await self._own.refresh(self._client):
                    self.metrics.certificates += 1
                    await self._install()
                seconds = LOOK_SECONDS
            except (APIError, TransportError, OSError, ValueError) as error:
                self.metrics.certificate_errors += 1
                _log.warning("%s: cannot renew the certificates: %s", self.name, error)
                seconds = _RETRY_SECONDS

    async def _install(self) -> None:
        if not self._installs:
            return
        bundle = self._own.bundle if self._own is not None else b""
        config = (
            at_service(self._service, self._service_port, bundle) if self._service else at_url(self._pages.url, bundle)
        )
        await install_conversions(self._client, self._conversions, config)
        await install_admission(self._client, self.name, list(self._webhooks.values()), config)

    def _renewed(self, well: bool) -> None:
        self.metrics.certificates += well
        self.metrics.certificate_errors += not well

    # Requests

    async def _page(self, request: Request) -> Response | None:
        webhook = self._webhooks.get(request.path)
        if webhook is None and not (request.path == PATH and self._conversions):
            return None
        if request.method != "POST":
            return Response(405, TEXT, b"method not allowed\n", (("Allow", "POST"),))
        metrics, began = self.metrics, self._clock.monotonic()
        metrics.in_flight[request.path] += 1
        code, mistake = 500, False
        try:
            body, mistake = await (self._convert(request) if webhook is None else self._decide(webhook, request))
            code = 200
            return Response(200, JSON, body)
        except ValueError as error:
            code = 400
            return Response(400, TEXT, f"{error}\n".encode())
        finally:
            metrics.in_flight[request.path] -= 1
            metrics.answered(request.path, code, self._clock.monotonic() - began, mistake=mistake)

    async def _decide(self, webhook: AdmissionWebhook, request: Request) -> tuple[bytes, bool]:
        """Returns the body of the response, and True if the function failed with a bug."""
        if request.headers.get("content-type", "").partition(";")[0].strip() != JSON:
            refused = deny("the content type must be application/json", code=400, reason="BadRequest")
            return encode_answer(refused, "", "v1"), False
        try:
            review, version = decode_request(request.body)
        except ValueError as error:
            return encode_answer(deny(str(error), code=400, reason="BadRequest"), "", "v1"), False
        response = await webhook.decide(review, self._threads)
        if response.failure is not None and self.on_failure is not None:
            self.on_failure(webhook.name, response.failure)
        mistake = response.status is not None and response.status.get("reason") == "InternalError"
        return encode_answer(response, review.uid, version), mistake

    async def _convert(self, request: Request) -> tuple[bytes, bool]:
        if not self._converts:  # the definitions are configured by another program
            self._converts = await by_kind(self._client, self._conversions)
        return await self._threads.run(lambda _: answer(self._converts, request.body)), False
