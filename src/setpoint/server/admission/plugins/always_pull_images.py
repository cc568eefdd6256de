"""AlwaysPullImages: forces image pulls, so that pods cannot use cached images without permission to pull them."""

from collections.abc import Iterator

from setpoint.objects.field import index, not_supported
from setpoint.objects.tree import Object
from setpoint.server.admission.plugins.pods import containers, is_pods
from setpoint.server.admission.plugins.refusal import all_of, forbidden
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context


class AlwaysPullImages(Plugin):
    """Sets every image pull policy to Always."""

    name = "AlwaysPullImages"

    def concerns(self, resource: Resource, verb: str) -> bool:
        return is_pods(resource) and verb in (CREATE, UPDATE)

    async def mutate(self, context: Context, operation: Operation) -> None:
        for holder, field, _ in _policies(operation):
            holder[field] = "Always"

    async def validate(self, context: Context, operation: Operation) -> None:
        problems = [
            str(not_supported(path, holder.get(field) or "", ("Always",)))
            for holder, field, path in _policies(operation)
            if holder.get(field) != "Always"
        ]
        if problems:
            raise forbidden(operation, all_of(problems))


def _policies(operation: Operation) -> Iterator[tuple[Object, str, str]]:
    """Yields the pull policies of a pod: the holder, the field name and the path of each. Yields none for updates
    without a new image."""
    if operation.subresource or operation.object is None:
        return
    spec = operation.object["spec"]
    if operation.old is not None:
        known = {container.get("image") for _, container in containers(operation.old["spec"])}
        if all(container.get("image") in known for _, container in containers(spec)):
            return
    for path, container in containers(spec):
        yield container, "imagePullPolicy", f"{path}.imagePullPolicy"
    for position, volume in enumerate(spec.get("volumes") or ()):
        if volume.get("image") is not None:
            yield volume["image"], "pullPolicy", f"{index('spec.volumes', position)}.image.pullPolicy"
