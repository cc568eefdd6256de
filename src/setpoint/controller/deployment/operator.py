"""The description of an operator that the generated files install."""

from collections.abc import Sequence
from dataclasses import dataclass

from setpoint.controller.controller import Controller
from setpoint.controller.webhook.admission import AdmissionWebhook
from setpoint.controller.webhook.conversion import ConversionWebhook
from setpoint.objects.tree import Object

HEALTH_PORT, METRICS_PORT, WEBHOOK_PORT = 8081, 8080, 9443
# The port of the Service that the API server calls.
SERVICE_PORT = 443


@dataclass(frozen=True, kw_only=True)
class Operator:
    """An operator: its controllers, its kinds and its webhooks, and the names of the installed objects."""

    name: str
    namespace: str
    # The arguments of `setpoint controllers run`: files or modules.
    modules: Sequence[str]
    controllers: Sequence[Controller]
    # The CustomResourceDefinitions.
    definitions: Sequence[Object] = ()
    webhooks: Sequence[AdmissionWebhook] = ()
    conversions: Sequence[ConversionWebhook] = ()
    image: str = ""
    replicas: int = 1
    secure_metrics: bool = False

    @property
    def has_webhooks(self) -> bool:
        return bool(self.webhooks or self.conversions)

    @property
    def service_account(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def webhook_service(self) -> str:
        """The Service of the webhooks and the Secret of their authority, as `namespace/name`."""
        return f"{self.namespace}/{self.name}-webhooks"

    def labels(self) -> dict[str, str]:
        return {"app.kubernetes.io/name": self.name}

    def metadata(self, suffix: str = "", *, namespaced: bool = True) -> Object:
        """Returns the metadata of an object of the operator."""
        name = f"{self.name}-{suffix}" if suffix else self.name
        scope = {"namespace": self.namespace} if namespaced else {}
        return {"name": name, **scope, "labels": self.labels()}
