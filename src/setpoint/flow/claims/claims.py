"""The controller of claims: binds each to what it claims, says how that is, and takes it along when it goes.

What is claimed has a name that follows from the claim, so that nothing is made twice; a claim that names an object
itself gets that, if it is nobody else's. The name is written down before anything is made. `Ready` of a claim follows
`Ready` of what it claimed, in both directions, and only as far as that is about the claim as it is now.
"""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, TypeAlias, Unpack

from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, tree_of
from setpoint.client.patches import apply_configuration, merge
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.handler import mapped
from setpoint.controller.options import Settings
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.suspension import READY, SUSPEND
from setpoint.controller.watch import Watch
from setpoint.flow.claims import refs
from setpoint.objects import conditions, meta
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.schema.types import Model

# Says that an object is suspended because its claim is: then it ends with that.
SUSPENDED_BY_CLAIM = "setpoint.dev/suspended-by-claim"
DELETING = "Deleting"

# Makes, of a claim, the spec of what it claims, or the part of it that follows from the claim.
Project: TypeAlias = Callable[[Any], "Model | Object"]
# Is called with a claim that is deleted, and what it claimed, before that is deleted, too. What it raises is told and
# tried again.
BeforeDelete: TypeAlias = Callable[[Context, Any, Any], Awaitable[None]]


class Reclaim(Enum):
    """What becomes of what was claimed when its claim is deleted."""

    DELETE = "delete"
    # It stays, and another claim may have it.
    RELEASE = "release"


class Claims:
    """Claims of one kind, and what they claim."""

    def __init__(
        self,
        claim: Kind[Any],
        claimed: Kind[Any],
        *,
        project: Project | None = None,
        before_delete: BeforeDelete | None = None,
        reclaim: Reclaim = Reclaim.DELETE,
        finalizer: str = "setpoint.dev/claim",
        claimed_namespace: str = "",
    ) -> None:
        self.claim, self.claimed = kind_of(claim), kind_of(claimed)
        self.project = project
        self.before_delete = before_delete
        self.reclaim = reclaim
        self.finalizer = finalizer
        # Where what is claimed lives, if its kind lives in namespaces.
        self.namespace = claimed_namespace

    def watch(self) -> Watch:
        """For the controller of what is claimed: a change of a claim has what it claimed reconciled."""

        def claimed_by(claim: AnyObject) -> list[Request]:
            name = refs.named_by(tree_of(claim))
            return [Request(name, self.namespace)] if name else []

        return Watch(self.claim, mapped(claimed_by))

    def controller(self, *, name: str = "", **settings: Unpack[Settings]) -> "ClaimController":
        """The controller of the claims."""
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

    async def _reconciled(self, ctx: Context) -> Result | None:
        await self._pass_on(ctx, suspended=ctx.request in self.suspended)
        return await super()._reconciled(ctx)

    # Binding

    async def _claim(self, ctx: Context, request: Request) -> Result | None:
        claims, found = self.claims, await ctx.object()
        if found is None:
            return None
        gone = await ctx.finalize(claims.finalizer, lambda: self._let_go(ctx))
        found = None if gone else await ctx.object()
        if found is None:
            return None
        claim = await self._named(ctx, self._tree(found))
        ref, name = claims.claimed, refs.named_by(claim)
        claimed = await self._find(ctx, name)
        await ctx.load_status()
        if claimed is None and name != refs.claimed_name(claim):
            self._tell(ctx, "NotFound", f"there is no {ref.gvk.kind} {name}")
        elif claimed is not None and refs.is_bound(claimed) and not refs.is_bound_to(claimed, claim):
            self._tell(ctx, "ClaimedByAnother", f"{ref.gvk.kind} {name} is claimed by {refs.who_has(claimed)}")
        elif claimed is not None and meta.is_being_deleted(claimed):
            self._tell(ctx, "ClaimedDeleting", f"{ref.gvk.kind} {name} is being deleted")
        else:
            self._mirror(ctx, await self._bind(ctx, found, claim, claimed))
        return None

    async def _named(self, ctx: Context, claim: Object) -> Object:
        """The claim with the name of what it claims, which is written down before that is made."""
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
        """What is claimed, if it is there. What the cache does not have is made: that must not take over what is."""
        ref, namespace = KindRef(self.claims.claimed.gvk), self.claims.namespace
        found: Object | None = await ctx.client.find(ref, name, namespace)
        if found is None:
            try:
                return await ctx.api.get(ref, name, namespace)
            except NotFound:
                return None
        return found

    async def _bind(self, ctx: Context, found: Any, claim: Object, claimed: Object | None) -> Object:
        """Makes what is claimed, or has it say whose it is and what the claim wants of it."""
        claims, name = self.claims, refs.named_by(claim)
        wanted = claims.project(found) if claims.project is not None else {}
        spec = wanted.to_json() if isinstance(wanted, Model) else wanted
        metadata: Object = {"name": name}
        meta.put(metadata, "namespace", claims.namespace)
        if claimed is not None and not refs.is_bound(claimed):
            # Two claims may want it: whoever writes first has it.
            metadata |= {"resourceVersion": meta.resource_version(claimed), "uid": meta.uid(claimed)}
        gvk = claims.claimed.gvk
        tree: Object = {
            "apiVersion": gvk.api_version,
            "kind": gvk.kind,
            "metadata": metadata,
            "spec": {**spec, "claimRef": refs.reference_to(claim)},
        }
        if "resourceVersion" not in metadata:
            return await ctx.client.apply(tree, force=True)
        patch = apply_configuration(tree)
        bound: Object = await ctx.client.patch(KindRef(gvk), patch, name, claims.namespace, force=True)
        return bound

    # Telling

    def _mirror(self, ctx: Context, claimed: Object) -> None:
        """Says of the claim what is said of what it claimed."""
        what = f"{self.claims.claimed.gvk.kind} {meta.name(claimed)}"
        ready = conditions.find((claimed.get("status") or {}).get("conditions") or [], READY)
        if ready is None:
            self._tell(ctx, "Creating", f"{what} has not said yet how it is")
        elif ready.get("observedGeneration", 0) < meta.generation(claimed):
            self._tell(ctx, "Updating", f"{what} has not said yet how it is after the last change")
        elif ready.get("status") != conditions.TRUE:
            self._tell(ctx, ready.get("reason") or "NotReady", f"{what}: {ready.get('message') or 'is not ready'}")
        else:
            self._tell(ctx, "Bound", f"{what} is ready", ready=True)

    def _tell(self, ctx: Context, reason: str, message: str, *, ready: bool = False) -> None:
        before = _state(ctx)
        ctx.status.condition(READY, ready, reason, message)
        if ctx.recorder is not None and _state(ctx) != before:
            ctx.recorder.normal(self.primary_object(ctx.request), reason, message)

    # Suspending

    async def _pass_on(self, ctx: Context, *, suspended: bool) -> None:
        """Has what is claimed left alone as long as its claim is."""
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

    # Letting go

    async def _let_go(self, ctx: Context) -> None:
        """The claim is deleted: what it claimed goes first, or is free again."""
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
                self._tell(ctx, DELETING, str(error) or type(error).__name__)
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
        waits = f"waits for {ref.gvk.kind} {name} to go"
        self._tell(ctx, DELETING, waits)
        raise Requeue(None, waits)

    def _tree(self, found: Any) -> Object:
        gvk = self.claims.claim.gvk
        return {**tree_of(found), "apiVersion": gvk.api_version, "kind": gvk.kind}


def _state(ctx: Context) -> tuple[object, object]:
    ready = conditions.find(ctx.status.get("conditions") or [], READY) or {}
    return ready.get("status"), ready.get("reason")
