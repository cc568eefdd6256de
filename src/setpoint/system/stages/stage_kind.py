"""The kind Stage of KWOK (kwok.x-k8s.io/v1alpha1), in the older form with `next` and the newer one with `steps`."""

from typing import Annotated, Any, Literal

from setpoint.schema.types import ListMap, Minimum, Model, Resource

GROUP, VERSION = "kwok.x-k8s.io", "v1alpha1"
STAGE = f"{GROUP}/{VERSION}/Stage"
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class CelExpression(Model):
    """An expression in CEL; `self` is the object."""

    expression: str
    """The expression."""


class JqExpression(Model):
    """An expression of jq."""

    expression: str
    """The expression."""


class JqSelector(Model):
    """A condition on the results of a jq expression."""

    key: str
    """The expression."""

    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """The relation between the results and the values."""

    values: list[str] = []
    """The values of In and NotIn."""


class ExpressionFrom(Model):
    """A value that an expression reads from the object."""

    cel: CelExpression | None = None
    """An expression in CEL."""

    jq: JqExpression | None = None
    """An expression of jq."""

    expression_from: str = ""
    """An expression of jq, in the older form."""


class MatchExpression(Model):
    """A condition: `cel`, `jq`, or the older form of `jq`."""

    cel: CelExpression | None = None
    """A condition in CEL."""

    jq: JqSelector | None = None
    """A condition on the results of a jq expression."""

    key: str = ""
    """The jq expression of the older form."""

    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] | None = None
    """The operator of the older form."""

    values: list[str] = []
    """The values of the older form."""


class StageSelector(Model):
    """The objects of a stage. All conditions must hold."""

    match_labels: dict[str, str] = {}
    """Labels and their values."""

    match_annotations: dict[str, str] = {}
    """Annotations and their values."""

    match_expressions: list[MatchExpression] = []
    """Conditions on the fields of an object."""


class ResourceRef(Model):
    """The kind of the objects."""

    kind: str
    """The kind."""

    api_group: str = "v1"
    """The group and version: `v1`, `apps/v1`."""


class StageDelay(Model):
    """The time before a stage begins."""

    duration_milliseconds: Annotated[int, Minimum(0)] | None = None
    """The time in milliseconds."""

    duration_from: ExpressionFrom | None = None
    """The time, or a moment, from the object."""

    jitter_duration_milliseconds: Annotated[int, Minimum(0)] | None = None
    """The longest time: the actual one is random in between."""

    jitter_duration_from: ExpressionFrom | None = None
    """The longest time, or a moment, from the object."""


class StageEvent(Model):
    """An event about the object."""

    type: Literal["Normal", "Warning"] = "Normal"
    """Normal or Warning."""

    reason: str = ""
    """The reason in CamelCase."""

    message: str = ""
    """The text."""


class FinalizerItem(Model):
    """A finalizer."""

    value: str = ""
    """Its name."""


class StageFinalizers(Model):
    """Changes of the finalizers."""

    add: list[FinalizerItem] = []
    """The finalizers to add."""

    remove: list[FinalizerItem] = []
    """The finalizers to remove."""

    empty: bool = False
    """Remove all."""


class ImpersonationConfig(Model):
    """The user of a write."""

    username: str
    """The name of the user."""


class StagePatch(Model):
    """A patch of the object."""

    subresource: str = ""
    """The subresource, such as status."""

    root: str = ""
    """The field that contains the rendered template."""

    template: str = ""
    """The patch, as a Go template of YAML."""

    type: Literal["json", "merge", "strategic"] | None = None
    """The type; by default strategic for pods and nodes, merge for others."""

    impersonation: ImpersonationConfig | None = None
    """The user of the patch."""


class StageApply(Model):
    """An object to create or change."""

    template: str = ""
    """The object, as a Go template of YAML."""

    subresource: str = ""
    """A subresource of an existing object."""

    type: Literal["apply", "merge", "strategic"] | None = None
    """The type of the change of an existing object; by default apply."""

    impersonation: ImpersonationConfig | None = None
    """The user of the writes."""


class StageStep(Model):
    """One step."""

    patch: StagePatch | None = None
    """A patch of the object."""

    event: StageEvent | None = None
    """An event about the object."""

    finalizers: StageFinalizers | None = None
    """Changes of the finalizers."""

    delete: bool = False
    """Delete the object."""

    apply: StageApply | None = None
    """An object to create or change."""


class StageNext(Model):
    """The older form of the steps."""

    event: StageEvent | None = None
    """An event about the object."""

    finalizers: StageFinalizers | None = None
    """Changes of the finalizers."""

    delete: bool = False
    """Delete the object."""

    patches: list[StagePatch] = []
    """Patches of the object."""

    status_template: str = ""
    """The status, as a Go template of YAML."""

    status_subresource: str = "status"
    """The subresource of the status."""

    status_patch_as: ImpersonationConfig | None = None
    """The user of the patch of the status."""


class StageSpec(Model):
    """The objects of a stage, its time, and its steps."""

    resource_ref: ResourceRef
    """The kind of the objects."""

    selector: StageSelector | None = None
    """The objects; without a selector, none."""

    weight: Annotated[int, Minimum(0)] = 0
    """The share of this stage among several that match."""

    weight_from: ExpressionFrom | None = None
    """The weight from the object."""

    delay: StageDelay | None = None
    """The time before the stage begins."""

    next: StageNext | None = None
    """The older form of the steps."""

    steps: list[StageStep] = []
    """The steps, in their order."""

    immediate_next_stage: bool | None = None
    """Look for the next stage without waiting for the server."""


class StageCondition(Model):
    """A condition of a stage."""

    type: str
    """The type."""

    status: Literal["True", "False", "Unknown"]
    """The status."""

    reason: str = ""
    """The reason in CamelCase."""

    message: str = ""
    """The text."""

    last_transition_time: str | None = None
    """The time of the last change."""


class StageStatus(Model):
    """The state of a stage."""

    conditions: Annotated[list[StageCondition], ListMap("type")] = []
    """`Accepted` is False with a message for a stage that is not used."""


class Stage(Resource, group=GROUP, version=VERSION, scope="Cluster"):
    """A step in the life of objects, taken when its selector matches."""

    spec: StageSpec
    """The objects of the stage, its time, and its steps."""

    status: StageStatus | None = None
    """The state of the stage."""


def definition() -> dict[str, Any]:
    """Returns the CustomResourceDefinition."""
    found: dict[str, Any] = Stage.crd()
    return found
