"""The status of ValidatingAdmissionPolicies: the observed generation and the type checking warnings.

Upstream a controller writes the status; here the status is written directly after the policy.
"""

from setpoint.objects import meta
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object
from setpoint.server.admission.policies.policy_index import GROUP
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.store.contract import ExpectationFailed

_RESOURCE = "validatingadmissionpolicies"
CONTROLLER = Actor(
    "system:serviceaccount:kube-system:validatingadmissionpolicy-status-controller",
    ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
    field_manager="validatingadmissionpolicy-status",
)


class PolicyStatus:
    """A reaction to writes of policies."""

    def concerns(self, resource: Resource, *, deletes: bool) -> bool:
        return not deletes and resource.resource == _RESOURCE and resource.group == GROUP

    async def after_write(self, context: Context, resource: Resource, tree: Object) -> None:
        services = context.services
        key = resource.storage.key("", meta.name(tree))
        while (item := await services.store.get(key)) is not None:
            live = resource.item(item)
            generation = live["metadata"].get("generation", 0)
            if generation <= (live.get("status") or {}).get("observedGeneration", 0):
                return
            manager = resource.field_manager("status", services.clock)
            config = self._configuration(context, resource, live, generation)
            new = manager.apply(live, config, CONTROLLER.field_manager, force=True)
            resource.shape.complete(new)
            try:
                await services.commit(key, resource.encode(new), item.revision, CONTROLLER, context.cause)
                return
            except ExpectationFailed:
                continue

    async def after_delete(self, context: Context, resource: Resource, tree: Object) -> None:
        """Returns at once: a deleted policy has no status."""

    def _configuration(self, context: Context, resource: Resource, live: Object, generation: int) -> Object:
        # Loaded with the first policy.
        from setpoint.server.admission.policies.type_check import expression_warnings

        warnings = expression_warnings(live.get("spec") or {}, context.services.registry)
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": meta.name(live)},
            "status": {
                "observedGeneration": generation,
                "typeChecking": {"expressionWarnings": warnings} if warnings else {},
            },
        }
