"""Is an object ready? One answer for any of them, by its summary (`flow.summary`), and a way to wait for it."""

from typing import Any, cast

from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, Obj, ref_of, tree_of
from setpoint.controller.suspension import READY
from setpoint.flow.summary.summary import summarize
from setpoint.flow.summary.summary_rules import Rules
from setpoint.objects import conditions, meta
from setpoint.objects.tree import Object


def is_ready(obj: AnyObject, rules: Rules | None = None) -> bool:
    """Whether an object is as its spec wants it, of the spec that it has now, by the rules for its kind. What is being
    deleted is not; what reports nothing, like a ConfigMap, is ready when it is there."""
    return summarize(obj, rules=rules).ready


async def wait_ready(client: Client, obj: Obj, timeout: float | None = None, rules: Rules | None = None) -> Obj:
    """Waits until an object that reports a condition Ready is ready, and returns it as it is then. Raises TimeoutError,
    which says what it was waiting for, and LookupError when the object goes meanwhile."""
    ref, tree = ref_of(obj), tree_of(obj)
    name, namespace, last = meta.name(tree), meta.namespace(tree), ""

    def ready(found: Any) -> bool:
        nonlocal last
        if found is None:
            return True
        seen = tree_of(found)
        summary = summarize(seen, rules=rules, now=client.clock.now())
        last = str(summary) if _reports(seen) else "it has no condition Ready yet"
        return summary.ready and _reports(seen)

    try:
        found = await client.wait_for(ref, name, namespace, ready, timeout=timeout)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; {last}" if last else str(error)) from None
    if found is None:
        raise LookupError(f"{ref} {namespace}/{name} is gone" if namespace else f"{ref} {name} is gone")
    return cast(Obj, found)


def _reports(tree: Object) -> bool:
    return conditions.find((tree.get("status") or {}).get("conditions") or [], READY) is not None
