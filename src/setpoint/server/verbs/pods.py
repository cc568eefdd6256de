"""Subresources of pods: binding and eviction."""

from collections.abc import Callable

from setpoint.objects import conditions, labels, meta
from setpoint.objects.errors import (
    BadRequest,
    Conflict,
    InternalError,
    Invalid,
    NotFound,
    StatusCause,
    TooManyRequests,
)
from setpoint.objects.field import invalid
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupResource, GroupVersionKind
from setpoint.objects.names import dns1123_subdomain, path_segment
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.server.codec.delete_options import DeleteOptions, from_tree
from setpoint.server.codec.request_body import create_options
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.strategy import Strategy
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import WriteOptions
from setpoint.server.verbs.create_only import admitted, posted_resource, read_posted
from setpoint.server.verbs.delete import check_preconditions, delete_object
from setpoint.server.verbs.get import read
from setpoint.server.verbs.stored_object import upstream_key
from setpoint.server.verbs.write_path import update_object
from setpoint.store.contract import ExpectationFailed

_BINDING, _EVICTION = GroupVersionKind("", "v1", "Binding"), GroupVersionKind("policy", "v1", "Eviction")
_EVICTED: Object = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}
_SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_SEVERAL_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."


class EvictionStrategy(Strategy):
    """The versions of an Eviction: clients of older clusters send the beta version."""

    accepted_versions = ("policy/v1beta1",)


async def bind(context: Context, resource: Resource) -> Response:
    """Answers the POST of a Binding: assigns a pod to a node. Also serves the resource `bindings`, whose body names the
    pod."""
    options = create_options(context)
    is_subresource = bool(context.info.subresource)
    # The uid and the resourceVersion of the body are preconditions, but only those of a subresource.
    tree = await read_posted(
        context, posted_resource(_BINDING, "bindings"), options, keeps_system_fields=is_subresource
    )
    pods = context.registry.resource("", "v1", "pods") or resource
    name = meta.name(tree)
    if is_subresource and name != context.info.name:
        raise BadRequest("name in URL does not match name in Binding object")
    tree = await admitted(context, resource, name, tree, options)
    metadata, target = tree.get("metadata") or {}, tree.get("target") or {}
    node = target.get("name")
    if target.get("kind", "Node") != "Node" or not isinstance(node, str) or not node:
        raise BadRequest('Binding "" is invalid: target.name: Required value: name the node the pod is to run on')
    if wrong := dns1123_subdomain(node):
        raise Invalid.of(_BINDING.group_kind, name, [invalid("target.name", node, why) for why in wrong])
    if not name:
        raise BadRequest("Name parameter required.")
    if problems := path_segment(name):
        raise BadRequest(f"Name parameter invalid: {quote(name)}: {'; '.join(problems)}")

    def assign(pod: Object) -> Object | None:
        _check_preconditions(context, pods, pod, metadata, dry_run=options.dry_run)
        bound = _bound(context, pod, node, metadata)
        return None if options.dry_run else bound

    await _change_pod(context, pods, name, assign, options.field_manager)
    return await json_answer(context, _SUCCESS, 201)


async def _change_pod(
    context: Context, pods: Resource, name: str, change: Callable[[Object], Object | None], field_manager: str = ""
) -> None:
    """Writes a changed pod, and reads the pod again if another client wrote the pod in between. The rules for updates
    of pods do not apply. Writes nothing if `change` returns None."""
    key = pods.storage.key(context.info.namespace, name)
    while True:
        item = await context.services.store.get(key)
        if item is None:
            raise NotFound.of(pods.group_resource, name)
        changed = change(pods.item(item))
        if changed is None:
            return
        actor = context.actor(field_manager)
        try:
            await context.services.commit(key, pods.encode(changed), item.revision, actor, context.cause)
        except ExpectationFailed:
            continue
        return


def _check_preconditions(context: Context, pods: Resource, pod: Object, wanted: Object, *, dry_run: bool) -> None:
    """Raises Conflict if the metadata of a Binding is that of another pod, or of another version of the pod."""
    found = pod["metadata"]
    for name, field in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        given = wanted.get(name)
        if given and given != found[name]:
            key = pods.storage.key(context.info.namespace, found["name"])
            where = upstream_key(pods, key, dry_run=dry_run)
            raise Conflict.precondition(
                pods.group_resource, found["name"], key=where, wanted=given, found=found[name], field=field
            )


def _bound(context: Context, pod: Object, node: str, metadata: Object) -> Object:
    name, spec = meta.name(pod), pod.setdefault("spec", {})
    where = GroupResource("", "pods/binding")
    if meta.is_being_deleted(pod):
        raise Conflict.of(where, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise Conflict.of(where, name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise Conflict.of(where, name, f"pod {name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = node
    for field in ("annotations", "labels"):
        if isinstance(given := metadata.get(field), dict) and given:
            pod["metadata"][field] = {**(pod["metadata"].get(field) or {}), **given}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    found = status.setdefault("conditions", [])
    scheduled = conditions.find(found, "PodScheduled")
    if scheduled is None or scheduled.get("status") != "True":
        now = format_time(context.services.clock.now())
        new: Object = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        found[:] = [*(each for each in found if each is not scheduled), new]
    return pod


async def evict(context: Context, resource: Resource) -> Response:
    """Answers the POST of an Eviction: deletes a pod if the disruption budgets allow the disruption."""
    write = create_options(context)
    tree = await read_posted(context, posted_resource(_EVICTION, "evictions", EvictionStrategy), write)
    name = context.info.name
    if meta.name(tree) != name:
        raise BadRequest("name in URL does not match name in Eviction object")
    tree = await admitted(context, resource, name, tree, write)
    pod = resource.item(await read(context, resource))
    options = from_tree(tree.get("deleteOptions"))
    options = options._replace(dry_run=options.dry_run or write.dry_run)
    await _spend_budget(context, pod, options)
    if not options.dry_run:
        await _mark_evicted(context, resource, name, options)
        # Checked with the mark, which gave the pod another version.
        options = options._replace(resource_version=None)
    await delete_object(context, resource, context.info.namespace, name, options, admitted=True)
    return await json_answer(context, _SUCCESS, 201)


async def _mark_evicted(context: Context, pods: Resource, name: str, options: DeleteOptions) -> None:
    """Adds the condition to a pod that tells its owner about the disruption."""

    def mark(pod: Object) -> Object | None:
        check_preconditions(pods, name, options, pod)
        found = pod.setdefault("status", {}).setdefault("conditions", [])
        old = conditions.find(found, _EVICTED["type"])
        if old is not None and all(old.get(field) == value for field, value in _EVICTED.items()):
            return None
        now = format_time(context.services.clock.now())
        since = old["lastTransitionTime"] if old is not None and old.get("status") == "True" else now
        new = {**_EVICTED, "lastProbeTime": None, "lastTransitionTime": since}
        found[:] = [new if each is old else each for each in found] if old is not None else [*found, new]
        return pod

    await _change_pod(context, pods, name, mark)


async def _spend_budget(context: Context, pod: Object, options: DeleteOptions) -> None:
    """Subtracts the eviction from the disruption budget of the pod. Raises TooManyRequests if the budget is
    exhausted."""
    budgets = context.registry.resource("policy", "v1", "poddisruptionbudgets")
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed", "Pending")
    if budgets is None or finished or meta.is_being_deleted(pod):
        return
    page = await context.services.store.range(budgets.storage.scope(context.info.namespace))
    covering = [tree for tree in map(budgets.item, page.items) if _covers(tree, pod)]
    if len(covering) > 1:
        raise InternalError(_SEVERAL_BUDGETS)
    if not covering:
        return
    budget = covering[0]
    if _is_free_of_charge(budget, pod):
        return

    def spent(tree: Object) -> Object:
        _check_budget(tree)
        found = tree["status"]
        found["disruptionsAllowed"] -= 1
        # The controller of budgets does not count the pod as healthy while its deletion is under way.
        now = format_time(context.services.clock.now())
        found["disruptedPods"] = {**(found.get("disruptedPods") or {}), meta.name(pod): now}
        return tree

    write = WriteOptions("kube-apiserver", options.dry_run)
    await update_object(context, budgets, meta.name(budget), spent, write, subresource="status")


def _is_free_of_charge(budget: Object, pod: Object) -> bool:
    """Returns True for a pod that is not ready and whose eviction disrupts no application."""
    if conditions.is_true((pod.get("status") or {}).get("conditions") or [], "Ready"):
        return False
    status = budget.get("status") or {}
    needed: int = status.get("desiredHealthy", 0)
    always: bool = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    healthy: int = status.get("currentHealthy", 0)
    return always or healthy >= needed > 0


def _check_budget(budget: Object) -> None:
    """Raises TooManyRequests for an exhausted budget, and for a status that is older than the budget."""
    status, name = budget.get("status") or {}, meta.name(budget)
    if status.get("observedGeneration", 0) < meta.generation(budget):
        seconds, why = 10, f"The disruption budget {name} is still being processed by the server."
    elif status.get("disruptionsAllowed", 0) <= 0:
        needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        seconds, why = 0, f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
    else:
        return
    error = TooManyRequests.of(_VIOLATES, retry_after_seconds=seconds)
    error.causes = (StatusCause("DisruptionBudget", why),)
    raise error


def _covers(budget: Object, pod: Object) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return False
    return labels.from_object(selector).matches(meta.labels(pod))
