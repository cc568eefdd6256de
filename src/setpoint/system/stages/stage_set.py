"""The stages of a plane, by the kind of their objects, and the choice among several that match."""

from collections.abc import Callable, Iterable

from setpoint.objects.ids import Ids
from setpoint.objects.tree import Object
from setpoint.system.stages.stage import ReadyStage


class StageSet:
    """The stages in use. Stages of the API replace given ones of the same name."""

    def __init__(self, given: Iterable[ReadyStage] = ()) -> None:
        self._given = {each.name: each for each in given}
        self._objects: dict[str, ReadyStage] = {}

    def put(self, stage: ReadyStage) -> None:
        """Adds or replaces a stage of the API."""
        self._objects[stage.name] = stage

    def remove(self, name: str) -> None:
        """Removes a stage of the API."""
        self._objects.pop(name, None)

    def kinds(self) -> set[str]:
        """Returns the kinds of the objects that have stages."""
        return {each.kind for each in self._all()}

    def of(self, kind: str) -> list[ReadyStage]:
        """Returns the stages for objects of a kind, by their names."""
        return [each for each in self._all() if each.kind == kind]

    def _all(self) -> list[ReadyStage]:
        found = {**self._given, **self._objects}
        return [found[name] for name in sorted(found)]


def choose(stages: Iterable[ReadyStage], tree: Object, ids: Ids) -> ReadyStage | None:
    """Returns one of the stages that match an object, by their weights; None if none matches. As in KWOK, stages with
    an invalid weight are used only if all have one, and without any weight each has the same chance."""
    matching = [each for each in stages if each.matches(tree)]
    if len(matching) < 2:
        return matching[0] if matching else None
    weights = [each.weight(tree) for each in matching]
    valid = [(stage, weight) for stage, weight in zip(matching, weights, strict=True) if weight is not None]
    total = sum(max(weight, 0) for _, weight in valid)
    if not total:
        return _any([stage for stage, _ in valid] or matching, ids.random)
    place = int(ids.random() * total)
    for stage, weight in valid:
        place -= max(weight, 0)
        if place < 0:
            return stage
    return valid[-1][0]


def _any(stages: list[ReadyStage], random: Callable[[], float]) -> ReadyStage:
    return stages[int(random() * len(stages))]
