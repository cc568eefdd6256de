"""Deletes the content of terminating namespaces, then the namespaces.

Pods are deleted first, and have their grace period; objects with finalizers are waited for. The conditions of the
namespace report the remaining objects and the reasons. The controller runs again whenever an object in such a namespace
is deleted.
"""

import logging
from collections import Counter
from datetime import datetime

from setpoint.client.client import Client
from setpoint.client.discovery import APIResource
from setpoint.client.kinds import metadata_only
from setpoint.client.mapper import NoMatch
from setpoint.client.transport import TransportError
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Requeue, Result, Trigger
from setpoint.controller.watch import Watch
from setpoint.objects.errors import APIError, Conflict, MethodNotAllowed, NotFound
from setpoint.objects.gvk import GroupKind
from setpoint.objects.times import format_time, parse_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost
from setpoint.system.namespace_conditions import Outcome, judged
from setpoint.system.ownership_graph import ObservedObject

NAME = "namespace-controller"
NAMESPACE, FINALIZER = "v1/Namespace", "kubernetes"
# The assumed time until a finalizer is removed.
FINALIZER_SECONDS = 15
CONCURRENCY = 4
_PODS = GroupKind("", "Pod")

_log = logging.getLogger(__name__)


_ENDING = Predicate(lambda change: change.held.meta.deletion_timestamp is not None, "is being deleted")


class NamespaceDeletion:
    """Deletes namespaces as the user of `client`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # The terminating namespaces: a deletion in one of them triggers a reconcile.
        self._ending: set[str] = set()
        self.controller = Controller(
            NAME,
            self.reconcile,
            clock=client.clock,
            kind=Watch(metadata_only(NAMESPACE), predicates=(_ENDING,)),
            concurrency=CONCURRENCY,
            keep_runs=16,
        )

    # Called by the feed

    def begin(self) -> None:
        for namespace in self._ending:
            self.controller.enqueue(Request(namespace))

    async def seen(self, seen: ObservedObject) -> None:
        """Ignores existing objects."""

    async def on_deleted(self, seen: ObservedObject) -> None:
        if seen.at.namespace in self._ending:
            self.controller.enqueue(Request(seen.at.namespace), Trigger("deleted", object=seen.at.name))

    async def reconcile(self, ctx: Context, request: Request) -> Result | None:
        client = self._client.with_options(cause=ctx.cause)
        try:
            namespace = await client.get(NAMESPACE, request.name)
        except NotFound:
            self._ending.discard(request.name)
            return None
        if not namespace["metadata"].get("deletionTimestamp") or not namespace["spec"].get("finalizers"):
            self._ending.discard(request.name)
            return None
        self._ending.add(request.name)
        deletion = _Deletion(client, namespace)
        estimate = await deletion.delete_content()
        namespace = await self._update_conditions(client, namespace, deletion.outcome)
        if deletion.outcome.failures or deletion.outcome.discovery_failure:
            raise Requeue(why=str(deletion.outcome.problems()))
        if deletion.outcome.remaining:
            return Result(requeue_after=estimate / 2 + 1)
        await self._finalize(client, namespace)
        return None

    async def _update_conditions(self, client: Client, namespace: Object, outcome: Outcome) -> Object:
        """Updates the conditions in the status."""
        status = namespace.get("status") or {}
        known = status.get("conditions") or []
        conditions = judged(known, outcome, format_time(client.clock.now()))
        if conditions == known:
            return namespace
        updated = {**namespace, "status": {**status, "phase": "Terminating", "conditions": conditions}}
        try:
            found: Object = await client.update(updated, subresource="status")
        except NotFound:
            return namespace
        return found

    async def _finalize(self, client: Client, namespace: Object) -> None:
        """Removes our finalizer after all content is deleted."""
        spec = namespace["spec"]
        left = [finalizer for finalizer in spec["finalizers"] if finalizer != FINALIZER]
        if len(left) == len(spec["finalizers"]):
            return
        try:
            await client.update({**namespace, "spec": {**spec, "finalizers": left}}, subresource="finalize")
        except NotFound:
            self._ending.discard(namespace["metadata"]["name"])


class _Deletion:
    """One attempt to delete the content of a namespace."""

    def __init__(self, client: Client, namespace: Object) -> None:
        self._client = client
        self._name: str = namespace["metadata"]["name"]
        self._since = parse_time(namespace["metadata"]["deletionTimestamp"])
        self.outcome = Outcome()

    async def delete_content(self) -> float:
        """Deletes the content. Returns the estimated seconds until the rest is deleted."""
        try:
            found = await self._client.mapper.discover()
        except (APIError, TransportError) as error:
            self.outcome.discovery_failure = str(error)
            return 0.0
        resources = [each for each in found.namespaced() if "delete" in each.verbs and "list" in each.verbs]
        if found.failures:
            # The namespace may contain objects of these versions: it stays until they can be read.
            failed = ", ".join(f"{version}: {error}" for version, error in found.failures.items())
            self.outcome.discovery_failure = (
                f"Discovery failed for some groups, {len(found.failures)} failing: unable to retrieve the complete "
                f"list of server APIs: {failed}"
            )
        estimate = 0.0
        # Pods first: their programs may need the other objects for a clean shutdown.
        for resource in sorted(resources, key=lambda found: found.gvk.group_kind != _PODS):
            if self.outcome.remaining["pods."]:
                break
            try:
                estimate = max(estimate, await self._delete(resource))
            except (APIError, TransportError, NoMatch, _UnexpectedError) as error:
                self.outcome.failures.append(str(error))
        return estimate

    async def _delete(self, resource: APIResource) -> float:
        """Deletes the objects of a resource. Returns the estimated seconds until the remaining ones are deleted."""
        kind = metadata_only(resource.gvk)
        try:
            items = (await self._client.list(kind, self._name)).items
            if not items:
                return 0.0
            grace = await self._grace() if resource.gvk.group_kind == _PODS else 0.0
            await self._delete_all(resource, items)
            items = (await self._client.list(kind, self._name)).items
        except (NotFound, MethodNotAllowed, NoMatch):
            return 0.0  # the resource does not exist any more, or cannot be listed
        if not items:
            return 0.0
        self.outcome.remaining[f"{resource.plural}.{resource.gvk.group}"] += len(items)
        finalizers = Counter(finalizer for item in items for finalizer in item["metadata"].get("finalizers") or ())
        self.outcome.finalizers += finalizers
        if grace:
            return grace
        if finalizers:
            return FINALIZER_SECONDS
        gvk = resource.gvk
        raise _UnexpectedError(
            f"unexpected items still remain in namespace: {self._name} for gvr: "
            f"{gvk.group}/{gvk.version}, Resource={resource.plural}"
        )

    async def _delete_all(self, resource: APIResource, items: list[Object]) -> None:
        if "deletecollection" in resource.verbs:
            await self._client.delete_all(resource.gvk, self._name, propagation="Background")
            return
        for item in items:
            try:
                await self._client.delete(resource.gvk, item["metadata"]["name"], self._name, propagation="Background")
            except (NotFound, Conflict):
                continue

    async def _grace(self) -> float:
        """Returns the remaining grace period of the pods in seconds."""
        longest = 0.0
        for pod in (await self._client.list("v1/Pod", self._name)).items:
            if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                longest = max(longest, pod["spec"].get("terminationGracePeriodSeconds") or 0)
        return 0.0 if _seconds_since(self._since, self._client.clock.now()) >= longest else longest


class _UnexpectedError(Exception):
    """Objects remain that should be deleted."""


def _seconds_since(then: datetime, now: datetime) -> float:
    return (now - then).total_seconds()


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    deletion = NamespaceDeletion(host.client)
    host.listen(deletion)
    await host.control(deletion.controller)
