"""The rules of the built-in kinds: defaults, validation, what an update may change, table columns.

`strategy_for` finds them. The table below says where each strategy lives; a module is imported when one of its kinds is
first asked for, so that a server starts without reading the rules of kinds that nobody uses. A kind that is not in the
table has no rules beyond its schema.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final, cast

from setpoint.server.strategy import Strategy

# Group and kind, and where the strategy is: module (below this package) and class.
_STRATEGIES: Final[Mapping[tuple[str, str], str]] = {
    ("", "Binding"): "component:BindingStrategy",
    ("", "ComponentStatus"): "component:ComponentStatusStrategy",
    ("", "ConfigMap"): "config:ConfigMapStrategy",
    ("", "Endpoints"): "endpoints:EndpointsStrategy",
    ("", "Event"): "event:EventStrategy",
    ("", "LimitRange"): "quota:LimitRangeStrategy",
    ("", "Namespace"): "namespace:NamespaceStrategy",
    ("", "Node"): "node:NodeStrategy",
    ("", "PersistentVolume"): "volume:PersistentVolumeStrategy",
    ("", "PersistentVolumeClaim"): "volume:PersistentVolumeClaimStrategy",
    ("", "Pod"): "pod.strategy:PodStrategy",
    ("", "PodTemplate"): "replication:PodTemplateStrategy",
    ("", "ReplicationController"): "replication:ReplicationControllerStrategy",
    ("", "ResourceQuota"): "quota:ResourceQuotaStrategy",
    ("", "Secret"): "config:SecretStrategy",
    ("", "Service"): "service:ServiceStrategy",
    ("", "ServiceAccount"): "account:ServiceAccountStrategy",
    ("events.k8s.io", "Event"): "event:NewerEventStrategy",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): "definition:DefinitionStrategy",
}


@cache
def strategy_for(group: str, kind: str) -> Strategy | None:
    """The rules of a built-in kind, or None where it has none of its own. They have no state: servers share them."""
    place = _STRATEGIES.get((group, kind))
    if place is None:
        return None
    module, _, name = place.partition(":")
    return cast(type[Strategy], getattr(import_module(f"{__name__}.{module}"), name))()
