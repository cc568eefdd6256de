"""OwnerReferencesPermissionEnforcement: changes of owner references require additional permissions.

An owner reference lets the garbage collector delete the object together with its owner, and `blockOwnerDeletion` delays
the deletion of the owner. Both require permission to do the same directly.
"""

from setpoint.objects import meta
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.permission import decide
from setpoint.server.admission.plugins.refusal import forbidden
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context

_BLOCKING = "cannot set blockOwnerDeletion"


class OwnerReferencesPermissionEnforcement(Plugin):
    """Requires permission to delete an object whose owners change, and to set the finalizers of an owner whose deletion
    is blocked."""

    name = "OwnerReferencesPermissionEnforcement"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return verb in (CREATE, UPDATE)

    async def validate(self, context: Context, operation: Operation) -> None:
        new, resource = operation.object, operation.resource
        if new is None or (resource.resource == "pods" and not resource.group and operation.subresource == "status"):
            return
        owners = meta.owner_references(new)
        before = meta.owner_references(operation.old) if operation.old is not None else []
        if owners == before:
            return
        if operation.verb != CREATE:
            found = await decide(
                context,
                "delete",
                resource.group,
                resource.resource,
                name=operation.name,
                subresource=operation.subresource,
                namespace=operation.namespace,
                version=resource.version,
            )
            if not found.allowed:
                text = "cannot set an ownerRef on a resource you can't delete"
                raise forbidden(operation, f"{text}: {found.reason}, <nil>")
        known = {owner.get("uid"): owner for owner in before}
        blocking = [
            owner
            for owner in owners
            if owner.get("blockOwnerDeletion") and not known.get(owner.get("uid"), {}).get("blockOwnerDeletion")
        ]
        if not blocking or (await decide(context, "update", "*", "*", name="*", subresource="finalizers")).allowed:
            return
        for owner in blocking:
            await self._check(context, operation, owner)

    async def _check(self, context: Context, operation: Operation, owner: Object) -> None:
        version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        parsed = GroupVersion.parse(version)
        found = context.registry.kinds.get(parsed.with_kind(kind))
        if found is None:
            why = f'no matches for kind "{kind}" in version "{version}"'
            text = f"{_BLOCKING} in this case because cannot find RESTMapping for APIVersion {version} Kind {kind}"
            raise forbidden(operation, f"{text}: {why}")
        decision = await decide(
            context,
            "update",
            found.group,
            found.resource,
            name=owner.get("name") or "",
            subresource="finalizers",
            namespace=operation.namespace if found.namespaced else "",
            version=found.version,
        )
        if not decision.allowed:
            text = f"{_BLOCKING} if an ownerReference refers to a resource you can't set finalizers on"
            raise forbidden(operation, f"{text}: {decision.reason}, <nil>")
