"""Creates and deletes the pods of a controller, with the events of kube-controller-manager."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from setpoint.controller.context import Context
from setpoint.objects.errors import APIError, Conflict, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object
from setpoint.system.pods.state import POD

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

# The longest name of a pod.
_LONGEST_NAME = 253
# The first batch of creations; each further one has twice the size.
_FIRST_BATCH = 1
# The number of requests after which other tasks run.
_YIELDS_AFTER = 8
_TERMINATING_NAMESPACE = "NamespaceTerminating"


class PodFailure(Exception):  # noqa: N818 - named for the event
    """Pods could not be created or deleted. The text is that of the first error."""


class PodControl:
    """Creates and deletes pods as the user of a reconcile, and records an event about their owner for each."""

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder

    async def create(self, ctx: Context[Any], owner: Object, pod: Object) -> Object | None:
        """Creates a pod in the namespace of its owner. Returns None if the namespace is terminating. Raises APIError
        after recording the failure."""
        try:
            made = await ctx.api.create(pod, namespace=owner["metadata"]["namespace"])
        except APIError as error:
            if is_namespace_terminating(error):
                return None
            self.recorder.warning(owner, "FailedCreate", f"Error creating: {error}")
            raise
        self.recorder.normal(owner, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
        return made

    async def create_many(self, ctx: Context[Any], owner: Object, pod: Object, number: int) -> None:
        """Creates a number of equal pods, in batches of doubling size: after a failure in a batch, no further batch is
        tried. Raises PodFailure."""
        await in_batches(ctx, number, lambda: self.create(ctx, owner, pod))

    async def delete(self, ctx: Context[Any], owner: Object, pod: Object) -> None:
        """Deletes a pod. A missing pod is deleted already. Raises PodFailure after recording the failure."""
        name = pod["metadata"]["name"]
        try:
            await ctx.api.delete(POD, name, owner["metadata"]["namespace"], uid=pod["metadata"]["uid"])
        except (NotFound, Conflict):  # deleted already, or replaced by another pod
            return
        except APIError as error:
            self.recorder.warning(owner, "FailedDelete", f"Error deleting: {error}")
            raise PodFailure(f"unable to delete pods: {error}") from error
        self.recorder.normal(owner, "SuccessfulDelete", f"Deleted pod: {name}")

    async def delete_many(self, ctx: Context[Any], owner: Object, pods: list[Object]) -> None:
        """Deletes pods. All are tried; raises the first PodFailure."""
        failure: PodFailure | None = None
        for number, pod in enumerate(pods):
            if number % _YIELDS_AFTER == 0:
                await ctx.clock.sleep(0)
            try:
                await self.delete(ctx, owner, pod)
            except PodFailure as error:
                failure = failure or error
        if failure is not None:
            raise failure


async def in_batches(ctx: Context[Any], number: int, attempt: Callable[[], Awaitable[Any]]) -> None:
    """Makes a number of attempts in batches of doubling size. All attempts of a batch are made; after a failure no
    further batch begins. Raises PodFailure."""
    size = min(number, _FIRST_BATCH)
    done = 0
    while size > 0:
        failure: APIError | None = None
        for _ in range(size):
            done += 1
            if done % _YIELDS_AFTER == 0:
                await ctx.clock.sleep(0)
            try:
                await attempt()
            except APIError as error:
                failure = failure or error
        if failure is not None:
            raise PodFailure(str(failure)) from failure
        size = min(2 * size, number - done)


def is_namespace_terminating(error: APIError) -> bool:
    """Returns True if a creation failed because the namespace is being deleted: no retry can succeed."""
    return any(cause.reason == _TERMINATING_NAMESPACE for cause in error.causes)


def pod_of_template(template: Object, owner: Object) -> Object:
    """Returns a new pod of a template, with a generated name and its owner as controller."""
    given, name = template.get("metadata") or {}, owner["metadata"]["name"]
    metadata: Object = {
        "generateName": f"{name}-" if len(name) < _LONGEST_NAME else name,
        "ownerReferences": [controller_reference(owner)],
    }
    for field in ("labels", "annotations", "finalizers"):
        if given.get(field):
            metadata[field] = thaw(given[field])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": thaw(template["spec"])}
