"""The types of `scheduling/v1`. Made by `tools/api_stubs.py`: change that, not this."""

from typing import Literal

from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import Model, Resource

class PriorityClass(Resource):
    """PriorityClass defines mapping from a priority class name to the priority integer value. The value can be any
    valid integer.
    """

    description: str | None = ...
    """description is an arbitrary string that usually provides guidelines on when this priority class should be used.
    """
    global_default: bool | None = ...
    """globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do
    not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if more than one
    PriorityClasses exists with their `globalDefault` field set to true, the smallest value of such global default
    PriorityClasses will be used as the default priority.
    """
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | str | None = ...
    """preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority.
    Defaults to PreemptLowerPriority if unset.
    """
    value: int | None = ...
    """value represents the integer value of this priority class. This is the actual priority that pods receive when
    they have the name of this class in their pod spec.
    """

class PriorityClassList(Model):
    """PriorityClassList is a collection of priority classes."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[PriorityClass]
    """items is the list of PriorityClasses"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
    """
