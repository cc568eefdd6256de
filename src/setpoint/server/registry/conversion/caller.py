"""The interface of the server for conversion webhooks."""

from typing import TYPE_CHECKING, Protocol

from setpoint.objects.clock import Clock
from setpoint.objects.ids import Ids
from setpoint.objects.metrics import Collector

if TYPE_CHECKING:
    from setpoint.server.outbound.webhook_client import WebhookClient  # most servers never call one


class Caller(Protocol):
    """The parts of a server that calls of conversion webhooks need."""

    clock: Clock
    ids: Ids
    measured: list[Collector]

    @property
    def webhooks(self) -> "WebhookClient": ...
