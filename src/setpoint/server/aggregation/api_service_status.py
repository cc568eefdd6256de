"""Writes the condition Available of an APIService."""

from setpoint.objects import conditions, meta
from setpoint.objects.tree import Object, copy
from setpoint.server.aggregation.availability import Verdict
from setpoint.server.bootstrap.system_objects import APISERVER
from setpoint.server.request.context import Services
from setpoint.store.contract import ExpectationFailed

AVAILABLE = "Available"
_ATTEMPTS = 10


async def write_status(services: Services, name: str, uid: str, verdict: Verdict) -> None:
    """Writes the condition, if its status, reason or message differs. An APIService with another UID is left alone."""
    resource = services.registry.resource("apiregistration.k8s.io", "v1", "apiservices")
    assert resource is not None, "apiservices are always served"
    key = resource.storage.key("", name)
    for _ in range(_ATTEMPTS):
        item = await services.store.get(key)
        if item is None:
            return
        old = resource.item(item)
        new = None if meta.uid(old) != uid else _updated(services, old, verdict)
        if new is None:
            return
        new = resource.field_manager("status", services.clock).update(old, new, APISERVER.field_manager)
        try:
            await services.commit(key, resource.encode(new), item.revision, APISERVER)
        except ExpectationFailed:
            continue  # concurrent write, by a user or by another server with the same store
        return


def _updated(services: Services, old: Object, verdict: Verdict) -> Object | None:
    """Returns the APIService with the condition of a verdict; None without a change."""
    new = copy(old)
    known = new.setdefault("status", {}).setdefault("conditions", [])
    status = conditions.TRUE if verdict.is_available else conditions.FALSE
    changed = conditions.set_condition(
        known, services.clock, type=AVAILABLE, status=status, reason=verdict.reason, message=verdict.message
    )
    return new if changed else None
