"""The client of a `def` reconciler: `ReconcileClient` without `await`."""

from typing import TYPE_CHECKING, Any, Unpack, overload

from setpoint.client.kinds import Kind, KindRef, Obj, R, kind_of
from setpoint.client.options import WriteOptions
from setpoint.client.selectors import LabelsArgument
from setpoint.client.sync import CoroutineRunner, SyncClient
from setpoint.controller.reconcile_client import ReconcileClient
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object


class SyncReconcileClient(SyncClient):
    """The client of a reconcile in a thread, `ctx.client` of a `SyncContext`.

    website = ctx.client.get(Website, "a", "default")
    pods = ctx.client.list("v1/Pod", "default", labels={"app": "a"})
    ctx.client.apply(ctx.own(config_map))
    """

    if TYPE_CHECKING:
        client: ReconcileClient

    def __init__(self, client: ReconcileClient, runner: CoroutineRunner) -> None:
        super().__init__(client, _loop=runner)

    def with_options(self, **how: Any) -> "SyncReconcileClient":
        """Returns a client with other default options; see `Client.with_options`."""
        return SyncReconcileClient(self.client.with_options(**how), self._loop)

    def as_(self, user: str, *groups: str, **more: Any) -> "SyncReconcileClient":
        """Returns a client that impersonates another user; see `Client.as_`."""
        return SyncReconcileClient(self.client.as_(user, *groups, **more), self._loop)

    @overload
    def find(self, kind: type[R], name: str, namespace: str = "", *, labels: LabelsArgument = None) -> R | None: ...
    @overload
    def find(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str = "",
        *,
        labels: LabelsArgument = None,
    ) -> Object | None: ...
    def find(self, kind: Kind[Any], name: str, namespace: str = "", *, labels: LabelsArgument = None) -> Any:
        """Returns one object like `get`, but None if there is no such object. See `ReconcileClient.find`."""
        return self._loop.run(self.client.find(kind_of(kind), name, namespace, labels=labels))

    def apply(
        self,
        obj: Obj,
        *,
        force: bool | None = None,
        recreate: bool = False,
        subresource: str = "",
        **how: Unpack[WriteOptions],
    ) -> Obj:
        """Applies an object (server-side apply). See `ReconcileClient.apply`."""
        sent = self.client.apply(obj, force=force, recreate=recreate, subresource=subresource, **how)
        return self._loop.run(sent)

    @overload
    def peek(self, kind: type[R], name: str, namespace: str = "") -> R | None: ...
    @overload
    def peek(self, kind: GroupVersionKind | str | KindRef, name: str, namespace: str = "") -> Object | None: ...
    def peek(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """Returns an object from the cache; None if the cache has no such object. See `ReconcileClient.peek`."""

        async def peek() -> Any:
            return self.client.peek(kind_of(kind), name, namespace)

        return self._loop.run(peek())
