"""DenyPrivilegedContainers: no container has the rights of the machine it runs on, unless the server is told otherwise.

The real server knows this as `--allow-privileged=false`, its default, and finds it while it validates.
"""

from setpoint.objects.errors import Invalid
from setpoint.objects.field import forbidden
from setpoint.server.admission.plugins.pods import TEMPLATES, containers, makes_pods, pod_in
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class DenyPrivilegedContainers(Plugin):
    """Refuses pods, and templates of pods, with privileged containers. Switched off, they are like any other."""

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
