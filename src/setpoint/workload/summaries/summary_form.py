"""The form of a watch whose events have summaries of objects."""

from datetime import datetime

import msgspec

from setpoint.objects.clock import Clock
from setpoint.objects.tree import Object
from setpoint.server.registry.resource import Resource
from setpoint.server.verbs.watch_forms import ReshapedForm
from setpoint.workload.summaries.summary import object_summary

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


class SummaryForm(ReshapedForm):
    """Summaries of objects as JSON. They depend on the time, so watches do not share their frames."""

    name = ""

    def __init__(self, resource: Resource, clock: Clock) -> None:
        super().__init__(resource)
        self._clock = clock

    def _shown(self, body: bytes) -> bytes:
        return _encode(summarized(self._resource, _decode(body), self._clock.now()))


def summarized(resource: Resource, tree: Object, now: datetime) -> Object:
    """Returns the summary of an object, with its resource."""
    found = object_summary(tree, now)
    found["object"] |= {"resource": resource.resource, "group": resource.group}
    return found
