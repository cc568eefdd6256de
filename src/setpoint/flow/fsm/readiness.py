"""Is an object ready? One answer for any of them, and a way to wait for it."""

from typing import Any, cast

from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, Obj, ref_of, tree_of
from setpoint.objects import conditions, meta
from setpoint.objects.tree import Object

READY = "Ready"


def is_ready(obj: AnyObject) -> bool:
    """Whether an object says that it is as its spec wants it, of the spec that it has now.

    What is being deleted is not ready. What has a condition `Ready` is if that is True and about this generation; what
    has none, like a ConfigMap, is ready when it is there and its controller has seen it.
    """
    tree = tree_of(obj)
    if meta.is_being_deleted(tree):
        return False
    status: Object = tree.get("status") or {}
    generation = tree.get("metadata", {}).get("generation", 0)
    if status.get("observedGeneration", generation) < generation:
        return False
    ready = conditions.find(status.get("conditions") or [], READY)
    if ready is None:
        return True
    return bool(ready.get("status") == conditions.TRUE and ready.get("observedGeneration", generation) >= generation)


def has_ready_condition(obj: AnyObject) -> bool:
    """The same, for kinds that always say it: as long as they say nothing they are not ready."""
    status: Object = tree_of(obj).get("status") or {}
    return conditions.find(status.get("conditions") or [], READY) is not None and is_ready(obj)


async def wait_ready(client: Client, obj: Obj, timeout: float | None = None) -> Obj:
    """Waits until an object says that it is ready, and returns it as it is then. Raises TimeoutError, which says what
    it was waiting for, and LookupError when the object goes meanwhile."""
    ref, tree = ref_of(obj), tree_of(obj)
    name, namespace, last = meta.name(tree), meta.namespace(tree), ""

    def ready(found: Any) -> bool:
        nonlocal last
        last = "" if found is None else _why_not(tree_of(found))
        return found is None or has_ready_condition(found)

    try:
        found = await client.wait_for(ref, name, namespace, ready, timeout=timeout)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; {last}" if last else str(error)) from None
    if found is None:
        raise LookupError(f"{ref} {namespace}/{name} is gone" if namespace else f"{ref} {name} is gone")
    return cast(Obj, found)


def _why_not(tree: Object) -> str:
    ready = conditions.find((tree.get("status") or {}).get("conditions") or [], READY)
    if ready is None:
        return "it has no condition Ready yet"
    return f"Ready is {ready.get('status')}, {ready.get('reason')}: {ready.get('message')}"
