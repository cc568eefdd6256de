"""The kinds that an instance serves: those of DCP, and CustomResourceDefinitions with the kinds that they define."""

from setpoint.objects.tree import Object
from setpoint.server.apiextensions.custom_resources import CompiledInStrategy, CustomStrategy
from setpoint.server.registry.resource import Resource
from setpoint.workload.kinds.api_names import GROUP, OWN_GROUP

_DEFINITIONS = "apiextensions.k8s.io"
_OF_CONTROLLERS = frozenset((("", "secrets"), ("", "events"), ("events.k8s.io", "events")))


class DcpStrategy(CompiledInStrategy):
    """The rules of DCP's kinds. A set without a number of replicas has none, and a volume is persistent by default."""

    def prepare_for_create(self, tree: Object) -> None:
        if tree["kind"] == "ExecutableReplicaSet":
            tree["spec"].setdefault("replicas", 0)
        if tree["kind"] == "ContainerVolume" and tree["spec"].get("persistent") is None:
            tree["spec"]["persistent"] = True


STRATEGIES: dict[str, type[CustomStrategy]] = {GROUP: DcpStrategy}


def is_shown(resource: Resource) -> bool:
    """Returns True if clients can use and discover a resource."""
    is_defined = resource.is_custom and not resource.is_replaceable
    return resource.group == _DEFINITIONS or (is_defined and resource.group != OWN_GROUP)


def is_shown_to_controllers(resource: Resource) -> bool:
    """Returns True if clients can use and discover a resource of a server without controllers: those of
    `run-controllers` are clients, and use a few kinds more."""
    return is_shown(resource) or resource.group == OWN_GROUP or (resource.group, resource.resource) in _OF_CONTROLLERS
