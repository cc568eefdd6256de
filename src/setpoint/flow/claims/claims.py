"""The controller of claims: binds each claim to its object, and mirrors the readiness of the object.

The object is deleted, or released, with its claim. The name of the claimed object is derived from the claim, so that no
object is created twice. A claim that names an object itself gets that object, unless bound to another claim. The name
is stored in the claim before the object is created. `Ready` of a claim mirrors `Ready` of the claimed object, for the
current generation only.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Any, TypeAlias, Unpack

import setpoint.flow.claims.refs as refs
from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, tree_of
from setpoint.client.patches import merge
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.handler import mapped
from setpoint.controller.options import Settings
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.suspension import READY, SUSPEND
from setpoint.controller.watch import Watch
from setpoint.objects import conditions, meta
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.schema.types import Model

# Marks an object as suspended by its claim, so that the suspension ends with that of the claim.
SUSPENDED_BY_CLAIM = "setpoint.dev/suspended-by-claim"
DELETING = "Deleting"

# Returns the spec of the claimed object, or the part that follows from the claim.
Project: TypeAlias = Callable[[Any], "Model | Object"]
# Called with a deleted claim and the claimed object before the latter is deleted. Exceptions are reported and retried.
BeforeDelete: TypeAlias = Callable[[Context, Any, Any], Awaitable[None]]


class Reclaim(Enum):
    """The policy for the claimed object when its claim is deleted.

    Claims(DatabaseClaim, Database, reclaim=Reclaim.RELEASE)
    """

    DELETE = "delete"
    # The object stays, and may be bound to another claim.
    RELEASE = "release"


class Claims:
    """The claims of one kind, and the claimed kind.

    claims = Claims(DatabaseClaim, Database, project=lambda claim: {"size": claim.spec.size})
    Manager(client, controllers=[claims.controller()])
    """

    def __init__(
        self,
        claim: Kind[Any],
        claimed: Kind[Any],
        *,
        # Copies fields of a claim to the claimed object.
        project: Project | None = None,
        # Called before a claimed object is deleted.
        before_delete: BeforeDelete | None = None,
        # The policy for the claimed object of a deleted claim.
        reclaim: Reclaim = Reclaim.DELETE,
        # The finalizer of claims.
        finalizer: str = "setpoint.dev/claim",
        # The namespace of claimed objects of a namespaced kind.
        claimed_namespace: str = "",
    ) -> None:
        self.claim, self.claimed = kind_of(claim), kind_of(claimed)
        self.project = project
        self.before_delete = before_delete
        self.reclaim = reclaim
        self.finalizer = finalizer
        # The namespace of claimed objects of a namespaced kind.
        self.namespace = claimed_namespace

    def watch(self) -> Watch:
        """Returns a source for the controller of the claimed kind: a change of a claim triggers the claimed object."""

        def claimed_by(claim: AnyObject) -> list[Request]:
            name = refs.named_by(tree_of(claim))
            return [Request(name, self.namespace)] if name else []

        return Watch(self.claim, mapped(claimed_by))

    def controller(self, *, name: str = "", **settings: Unpack[Settings]) -> "ClaimController":
        """Returns the controller of the claims."""
        return ClaimController(self, name or self.claim.gvk.kind.lower(), settings)


class ClaimController(Controller):
    """Reconciles claims."""

    def __init__(self, claims: Claims, name: str, settings: Settings) -> None:
        self.claims = claims
        kind = claims.claim.gvk.group_kind

        def claim_of(claimed: AnyObject) -> list[Request]:
            found = refs.claim_of(claimed, kind)
            return [] if found is None else [found]

        settings["watches"] = [*settings.get("watches", ()), Watch(claims.claimed, mapped(claim_of))]
        super().__init__(name, self._claim, kind=claims.claim, **settings)

    async def _call_reconcile(self, ctx: Context, reported: Sequence[Any]) -> Result | None:
        await self._propagate_suspension(ctx, suspended=ctx.request in self.suspended)
        return await super()._call_reconcile(ctx, reported)

    # Binding

    async def _claim(self, ctx: Context, request: Request) -> Result | None:
        claims, found = self.claims, await ctx.object()
        if found is None:
            return None
        gone = await ctx.finalize(claims.finalizer, lambda: self._release(ctx))
        found = None if gone else await ctx.object()
        if found is None:
            return None
        claim = await self._named(ctx, self._tree(found))
        ref, name = claims.claimed, refs.named_by(claim)
        claimed = await self._find(ctx, name)
        await ctx.load_status()
        if claimed is None and name != refs.claimed_name(claim):
            self._set_ready(ctx, found, "NotFound", f"{ref.gvk.kind} {name} does not exist")
        elif claimed is not None and refs.is_bound(claimed) and not refs.is_bound_to(claimed, claim):
            self._set_ready(
                ctx, found, "ClaimedByAnother", f"{ref.gvk.kind} {name} is claimed by {refs.holder_of(claimed)}"
            )
        elif claimed is not None and meta.is_being_deleted(claimed):
            self._set_ready(ctx, found, "ClaimedDeleting", f"{ref.gvk.kind} {name} is being deleted")
        else:
            self._mirror(ctx, found, await self._bind(ctx, found, claim, claimed))
        return None

    async def _named(self, ctx: Context, claim: Object) -> Object:
        """Stores the name of the claimed object in the claim, before the object is created. Returns the claim."""
        if refs.named_by(claim):
            return claim
        change = {
            "metadata": {"resourceVersion": meta.resource_version(claim)},
            "spec": {"claimedRef": {"name": refs.claimed_name(claim)}},
        }
        ref = KindRef(self.claims.claim.gvk)
        found: Object = await ctx.client.patch(ref, merge(change), meta.name(claim), meta.namespace(claim))
        return found

    async def _find(self, ctx: Context, name: str) -> Object | None:
        """Returns the claimed object, or None. Asks the server if the cache has none, to not overwrite an object."""
        ref, namespace = KindRef(self.claims.claimed.gvk), self.claims.namespace
        found: Object | None = await ctx.client.find(ref, name, namespace)
        if found is None:
            try:
                return await ctx.api.get(ref, name, namespace)
            except NotFound:
                return None
        return found

    async def _bind(self, ctx: Context, found: Any, claim: Object, claimed: Object | None) -> Object:
        """Creates the claimed object, or updates its claim reference and the fields that follow from the claim."""
        claims, name = self.claims, refs.named_by(claim)
        wanted = claims.project(found) if claims.project is not None else {}
        spec = wanted.to_json() if isinstance(wanted, Model) else wanted
        metadata: Object = {"name": name}
        meta.put(metadata, "namespace", claims.namespace)
        if claimed is not None and not refs.is_bound(claimed):
            # Two claims may compete for the object: the first write wins.
            metadata |= {"resourceVersion": meta.resource_version(claimed), "uid": meta.uid(claimed)}
        gvk = claims.claimed.gvk
        tree: Object = {
            "apiVersion": gvk.api_version,
            "kind": gvk.kind,
            "metadata": metadata,
            "spec": {**spec, "claimRef": refs.reference_to(claim)},
        }
        return await ctx.client.apply(tree, force=True)

    # Status

    def _mirror(self, ctx: Context, found: Any, claimed: Object) -> None:
        """Copies the readiness of the claimed object to the claim."""
        what = f"{self.claims.claimed.gvk.kind} {meta.name(claimed)}"
        ready = conditions.find((claimed.get("status") or {}).get("conditions") or [], READY)
        if ready is None:
            self._set_ready(ctx, found, "Creating", f"{what} has not reported its status yet")
        elif ready.get("observedGeneration", 0) < meta.generation(claimed):
            self._set_ready(ctx, found, "Updating", f"{what} has not reported its status since the last change")
        elif ready.get("status") != conditions.TRUE:
            self._set_ready(
                ctx, found, ready.get("reason") or "NotReady", f"{what}: {ready.get('message') or 'is not ready'}"
            )
        else:
            self._set_ready(ctx, found, "Bound", f"{what} is ready", ready=True)

    def _set_ready(self, ctx: Context, found: Any, reason: str, message: str, *, ready: bool = False) -> None:
        """Sets the condition of a claim, and records an event when the condition changes."""
        before = _state(ctx)
        ctx.status.condition(READY, ready, reason, message)
        if ctx.recorder is not None and _state(ctx) != before:
            # The claim as read: the cache may have none any more.
            ctx.recorder.normal(found, reason, message)

    # Suspending

    async def _propagate_suspension(self, ctx: Context, *, suspended: bool) -> None:
        """Suspends the claimed object as long as its claim is suspended."""
        found = self.primary_object(ctx.request)
        claim = None if found is None else self._tree(found)
        name = "" if claim is None else refs.named_by(claim)
        claimed = await ctx.client.find(KindRef(self.claims.claimed.gvk), name, self.claims.namespace) if name else None
        if claim is None or claimed is None or not refs.is_bound_to(claimed, claim):
            return
        marks = meta.annotations(claimed)
        if suspended == (SUSPENDED_BY_CLAIM in marks) or (suspended and marks.get(SUSPEND) == "true"):
            return
        change = (
            {SUSPEND: "true", SUSPENDED_BY_CLAIM: "true"} if suspended else {SUSPEND: None, SUSPENDED_BY_CLAIM: None}
        )
        ref = KindRef(self.claims.claimed.gvk)
        await ctx.client.patch(ref, merge({"metadata": {"annotations": change}}), name, self.claims.namespace)

    # Releasing

    async def _release(self, ctx: Context) -> None:
        """Deletes or releases the object of a deleted claim."""
        claims, found = self.claims, await ctx.object()
        claim = self._tree(found)
        name = refs.named_by(claim)
        claimed = await self._find(ctx, name) if name else None
        if claimed is None or not refs.is_bound_to(claimed, claim):
            return
        await ctx.load_status()
        if claims.before_delete is not None and not meta.is_being_deleted(claimed):
            try:
                await claims.before_delete(ctx, found, claims.claimed.read(dict(claimed)))
            except Exception as error:
                self._set_ready(ctx, found, DELETING, str(error) or type(error).__name__)
                raise
        ref, sure = KindRef(claims.claimed.gvk), meta.uid(claimed)
        if claims.reclaim is Reclaim.RELEASE:
            version = meta.resource_version(claimed)
            change = {"metadata": {"uid": sure, "resourceVersion": version}, "spec": {"claimRef": None}}
            await ctx.client.patch(ref, merge(change), name, claims.namespace)
            return
        if not meta.is_being_deleted(claimed):
            answer = await ctx.client.delete(ref, name, claims.namespace, uid=sure, propagation="Foreground")
            if not meta.is_being_deleted(answer):
                return
        waits = f"waiting for the deletion of {ref.gvk.kind} {name}"
        self._set_ready(ctx, found, DELETING, waits)
        raise Requeue(None, waits)

    def _tree(self, found: Any) -> Object:
        gvk = self.claims.claim.gvk
        return {**tree_of(found), "apiVersion": gvk.api_version, "kind": gvk.kind}


def _state(ctx: Context) -> tuple[object, object]:
    ready = conditions.find(ctx.status.get("conditions") or [], READY) or {}
    return ready.get("status"), ready.get("reason")
