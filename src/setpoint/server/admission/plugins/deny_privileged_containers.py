"""DenyPrivilegedContainers: refuses privileged containers.

In kube-apiserver, `--allow-privileged=false`, the default, does the same during validation.
"""

from setpoint.objects.errors import Invalid
from setpoint.objects.field import forbidden
from setpoint.server.admission.plugins.pods import TEMPLATES, containers, makes_pods, pod_in
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class DenyPrivilegedContainers(Plugin):
    """Refuses pods and pod templates with privileged containers. Disable the plugin to allow them."""

    name = "DenyPrivilegedContainers"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return makes_pods(resource) and verb in (CREATE, UPDATE)

    async def validate(self, context: Context, operation: Operation) -> None:
        resource, tree = operation.resource, operation.object
        if tree is None or operation.subresource not in ("", "ephemeralcontainers"):
            return
        pod = pod_in(resource, tree)
        if pod is None:
            return
        path = ".".join((*TEMPLATES[resource.group_resource], "spec"))
        errors = [
            forbidden(f"{place}.securityContext.privileged", "disallowed by cluster policy")
            for place, container in containers(pod.get("spec") or {}, path)
            if (container.get("securityContext") or {}).get("privileged")
        ]
        if errors:
            raise Invalid.of(resource.stored_kind, operation.name, errors)
