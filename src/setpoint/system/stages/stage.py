"""A stage that is ready for use: its conditions, weight, delay and steps, checked when it is read."""

from collections.abc import Sequence
from datetime import datetime

from setpoint.gotemplate.nodes import TemplateError
from setpoint.objects.clock import SystemClock
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistakes, convert
from setpoint.schema.cel.environment import Environment
from setpoint.system.stages.stage_kind import GROUP, VERSION, StageNext, StagePatch, StageSpec, StageStep
from setpoint.system.stages.stage_sources import StageSources, cel_environment
from setpoint.system.stages.stage_templates import check_template
from setpoint.system.stages.stage_values import StageError, conditions_of, duration_of, weight_of

_API_VERSION = f"{GROUP}/{VERSION}"


class ReadyStage:
    """A checked stage."""

    def __init__(self, name: str, spec: StageSpec, environment: Environment, *, is_object: bool = False) -> None:
        """Compiles all expressions, and checks the templates. `is_object` means a Stage object of the API: its steps
        have restricted rights. Raises StageError."""
        self.name = name
        self.is_object = is_object
        self.kind = f"{spec.resource_ref.api_group}/{spec.resource_ref.kind}"
        self.steps = _steps(spec)
        self._check_steps("steps" if spec.steps else "next")
        # As in KWOK, a stage without a selector matches no object.
        self._conditions = None if spec.selector is None else conditions_of(spec.selector, "spec.selector", environment)
        self._weight = weight_of(spec.weight_from, spec.weight, "spec.weightFrom", environment)
        delay = spec.delay
        self._duration = self._jitter = None
        if delay is not None:
            path = "spec.delay"
            usual = delay.duration_milliseconds or 0
            self._duration = duration_of(delay.duration_from, usual, f"{path}.durationFrom", environment)
            if delay.jitter_duration_milliseconds is not None or delay.jitter_duration_from is not None:
                most = delay.jitter_duration_milliseconds
                self._jitter = duration_of(delay.jitter_duration_from, most, f"{path}.jitterDurationFrom", environment)

    def _check_steps(self, form: str) -> None:
        for place, step in enumerate(self.steps):
            path = f"spec.steps[{place}]" if form == "steps" else "spec.next"
            for field, given in (("patch", step.patch), ("apply", step.apply)):
                if given is None:
                    continue
                where = f"{path}.{field}.template" if form == "steps" else f"{path} (statusTemplate or patches)"
                if not given.template.strip():
                    raise StageError(where, "empty; write the template of the change")
                try:
                    check_template(given.template, self.kind)
                except TemplateError as error:
                    raise StageError(where, str(error)) from None

    def matches(self, tree: Object) -> bool:
        """Returns True if the selector matches an object."""
        return self._conditions is not None and all(holds(tree) for holds in self._conditions)

    def weight(self, tree: Object) -> int | None:
        """Returns the weight for an object; None if the object has an invalid one."""
        found: int | None = self._weight(tree)
        return found

    def delay(self, tree: Object, now: datetime, ids: Ids) -> float:
        """Returns the seconds before the stage begins."""
        found = None if self._duration is None else self._duration(tree, now)
        if found is None:
            return 0.0
        most = None if self._jitter is None else self._jitter(tree, now)
        if most is None:
            return max(found, 0.0)
        # As in KWOK, a jitter below the duration replaces the duration.
        return max(most if most <= found else found + ids.random() * (most - found), 0.0)


def _steps(spec: StageSpec) -> Sequence[StageStep]:
    if spec.steps or spec.next is None:
        return spec.steps
    following: StageNext = spec.next
    found: list[StageStep] = []
    if following.event is not None:
        found.append(StageStep(event=following.event))
    if following.finalizers is not None:
        found.append(StageStep(finalizers=following.finalizers))
    found += [StageStep(patch=each) for each in following.patches]
    if following.status_template and not following.patches:
        patch = StagePatch(
            subresource=following.status_subresource,
            root="status",
            template=following.status_template,
            impersonation=following.status_patch_as,
        )
        found.append(StageStep(patch=patch))
    if following.delete:
        found.append(StageStep(delete=True))
    return found


def read_stage(tree: Object, sources: StageSources, *, is_object: bool = False) -> ReadyStage:
    """Reads a stage of a file, or an object of the API. Raises ValueError with its name, the field and the remedy."""
    if tree.get("apiVersion") != _API_VERSION or tree.get("kind") != "Stage":
        given = f"{tree.get('apiVersion')} {tree.get('kind')}"
        raise ValueError(f"{given} is not a Stage: use apiVersion {_API_VERSION} and kind Stage")
    name = (tree.get("metadata") or {}).get("name") or ""
    if not name:
        raise ValueError("a Stage has no name: add metadata.name")
    try:
        spec = convert(tree.get("spec") or {}, StageSpec, lambda path: f"Stage {name}: spec")
        GroupVersion.parse(spec.resource_ref.api_group)
        return ReadyStage(name, spec, cel_environment(sources), is_object=is_object)
    except Mistakes as error:
        raise ValueError(str(error)) from None
    except StageError as error:
        raise ValueError(f"Stage {name}: {error}") from None


def check_stages(trees: Sequence[Object]) -> tuple[Object, ...]:
    """Returns the stages unchanged after a check. Raises ValueError."""
    sources, names = StageSources(SystemClock(), SystemIds()), set[str]()
    for tree in trees:
        name = read_stage(tree, sources).name
        if name in names:
            raise ValueError(f"Stage {name}: there are two stages of this name; rename one")
        names.add(name)
    return tuple(trees)
