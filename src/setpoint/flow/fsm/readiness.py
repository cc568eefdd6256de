"""Readiness of any object by its summary (`flow.summary`), and waiting for it."""

from typing import Any, cast

from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, Obj, ref_of, tree_of
from setpoint.controller.suspension import READY
from setpoint.flow.summary.summary import summarize
from setpoint.flow.summary.summary_rules import SummaryRules
from setpoint.objects import conditions, meta
from setpoint.objects.tree import Object


def is_ready(obj: AnyObject, rules: SummaryRules | None = None) -> bool:
    """Returns True if an object is in the state that its current spec requires, by the rules for its kind.

    A terminating object is not ready; an object without a status, like a ConfigMap, is ready.

        if not is_ready(await client.get("apps/v1/Deployment", "web", "default")): ...
    """
    return summarize(obj, rules=rules).ready


async def wait_ready(client: Client, obj: Obj, timeout: float | None = None, rules: SummaryRules | None = None) -> Obj:
    """Waits until an object with a Ready condition is ready, and returns the object.

    Raises TimeoutError with the last status, and LookupError if the object is deleted meanwhile.

        bucket = await wait_ready(client, await client.create(bucket), timeout=60)
    """
    ref, tree = ref_of(obj), tree_of(obj)
    name, namespace, last = meta.name(tree), meta.namespace(tree), ""

    def ready(found: Any) -> bool:
        nonlocal last
        if found is None:
            return True
        seen = tree_of(found)
        summary = summarize(seen, rules=rules, now=client.clock.now())
        last = str(summary) if _reports(seen) else "no Ready condition yet"
        return summary.ready and _reports(seen)

    try:
        found = await client.wait_for(ref, name, namespace, ready, timeout=timeout)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; {last}" if last else str(error)) from None
    if found is None:
        raise LookupError(f"{ref} {namespace}/{name} was deleted" if namespace else f"{ref} {name} was deleted")
    return cast(Obj, found)


def _reports(tree: Object) -> bool:
    return conditions.find((tree.get("status") or {}).get("conditions") or [], READY) is not None
