"""Merges the trees of several files, with the rule of Compose for each attribute."""

from collections.abc import Callable
from typing import Any

from setpoint.app.compose.gotexts import go_text
from setpoint.app.compose.patterns import Pattern, spread, table
from setpoint.app.compose.project import Problem
from setpoint.app.compose.tree import NOWHERE, Map, Place, Seq, items_of, path_text, place_of
from setpoint.app.compose.unicity import by_name, unique

Path = tuple[str | int, ...]


class _ConflictError(ValueError):
    """Two values of different forms."""


Rule = Callable[["Merger", Any, Any, Path], Any]


class Merger:
    """Merges trees, and collects the problems. Both trees may be changed."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems

    def merge(self, base: Any, other: Any, path: Path = ()) -> Any:
        """Returns the base with the values of the other tree, at the given path."""
        rules: Pattern[Rule] | None = _RULES
        for part in path:
            rules = None if rules is None else rules.index() if isinstance(part, int) else rules.key(part)
        try:
            return self._value(base, other, path, rules)
        except ValueError as error:
            self._problems.append(
                Problem(*NOWHERE, path_text(path), f"the values of two files differ in form: {error}")
            )
            return other

    def _value(self, base: Any, other: Any, path: Path, rules: Pattern[Rule] | None) -> Any:
        if rules is not None and rules.value is not None:
            return rules.value(self, base, other, path)
        if other is None:
            return base
        if isinstance(base, dict):
            if not isinstance(other, dict):
                raise _ConflictError("a mapping")
            return self.maps(base, other, path, rules)
        if isinstance(base, list):
            if not isinstance(other, list):
                raise _ConflictError("a list")
            return appended(base, other)
        return other

    def maps(self, base: Any, other: Any, path: Path, rules: Pattern[Rule] | None = None) -> Any:
        """Merges two mappings key by key."""
        if rules is None:
            rules = _RULES
            for part in path:
                rules = None if rules is None else rules.key(str(part))
        for key, value in other.items():
            if key in base:
                try:
                    value = self._value(base[key], value, (*path, key), rules.key(key) if rules is not None else None)
                except _ConflictError as conflict:
                    text = f"the value of an earlier file is {conflict}; write {conflict}, or use the tag !override"
                    self._problems.append(Problem(*place_of(other, key), path_text((*path, key)), text))
                    continue
                except ValueError as error:
                    self._problems.append(Problem(*place_of(other, key), path_text((*path, key)), str(error)))
                    continue
            found = place_of(other, key)
            base[key] = value
            if found is not NOWHERE and isinstance(base, Map):
                base.places[key] = found
        return base


def appended(base: Any, other: Any) -> Seq:
    """Returns the items of both lists; items that are equal to an earlier one are left out."""
    made = base if isinstance(base, Seq) else Seq(base)
    for item, found in items_of(other):
        if not any(_same(item, each) for each in made):
            made.add(item, found)
    return made


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def sequence(value: Any) -> Seq:
    """Returns a mapping as a list of `NAME=value`, sorted; a text as a list of one text."""
    if isinstance(value, dict):
        pairs: list[tuple[str, Place]] = []
        for key, inner in value.items():
            found = place_of(value, key)
            if inner is None:
                pairs.append((key, found))
            else:
                pairs += [(f"{key}={go_text(item)}", found) for item in (inner if isinstance(inner, list) else [inner])]
        pairs.sort()
        return Seq([text for text, _ in pairs], [found for _, found in pairs])
    if isinstance(value, list):
        return value if isinstance(value, Seq) else Seq(value)
    return Seq([value], [NOWHERE]) if isinstance(value, str) else Seq()


def _mapping(value: Any, default: dict[str, Any] | None) -> Any:
    if value is None:
        return Map()
    if isinstance(value, dict):
        return value
    made = Map()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise _ConflictError("a mapping or a list")
    for name, found in items_of(value):
        if not isinstance(name, str):
            raise _ConflictError("a mapping or a list of names")
        inner = None
        if default is not None:
            inner = Map()
            inner.update(default)
        made.put(name, inner, found)
    return made


def _replace(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    return other


def _lists(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    return appended(sequence(base), sequence(other))


def _variables(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    first, second = sequence(base), sequence(other)
    joined = Seq([*first, *second], [found for part in (first, second) for _, found in items_of(part)])
    return unique(joined, by_name)


def _build(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    return merger.maps(_build_map(base), _build_map(other), path)


def _build_map(value: Any) -> Any:
    if isinstance(value, str):
        made = Map()
        made["context"] = value
        return made
    return value if isinstance(value, dict) else Map()


def _depends_on(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    default = {"condition": "service_started", "required": True}
    return merger.maps(_mapping(base, default), _mapping(other, default), path)


def _names(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    return merger.maps(_mapping(base, None), _mapping(other, None), path)


def _logging(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    if not isinstance(base, dict) or not isinstance(other, dict):
        raise _ConflictError("a mapping")
    if "driver" in base and "driver" in other and base["driver"] != other["driver"]:
        return other
    return merger.maps(base, other, path)


def _ulimit(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    return merger.maps(base, other, path) if isinstance(base, dict) and isinstance(other, dict) else other


def _address_pools(merger: Merger, base: Any, other: Any, path: Path) -> Any:
    if not isinstance(base, list) or not isinstance(other, list):
        raise _ConflictError("a list")
    made = Seq()
    for first, found in items_of(base):
        mine = _mapping(first, None)
        for second, its_place in items_of(other):
            if not isinstance(first, dict) or not isinstance(second, dict):
                raise _ConflictError("a list of mappings")
            its = _mapping(second, None)
            subnets = [each.get("subnet") for each in made]
            if its.get("subnet") != mine.get("subnet") and its.get("subnet") not in subnets:
                made.add(its, its_place)
                continue
            merged = merger.maps(mine, its, path)
            at = next((index for index, each in enumerate(made) if each.get("subnet") == merged.get("subnet")), None)
            if at is None:
                made.add(merged, found)
            else:
                made[at] = merged
    return made


_CONTAINER: dict[str, Rule] = {
    **dict.fromkeys(["annotations", "build.args", "build.additional_contexts", "build.labels"], _variables),
    **dict.fromkeys(["environment", "labels", "volumes.*.volume.labels", "sysctls"], _variables),
    **dict.fromkeys(["build.extra_hosts", "dns", "dns_opt", "dns_search", "env_file", "label_file"], _lists),
    **dict.fromkeys(["extra_hosts", "tmpfs"], _lists),
    **dict.fromkeys(["command", "entrypoint", "healthcheck.test"], _replace),
    **dict.fromkeys(["models", "networks"], _names),
    "build": _build,
    "depends_on": _depends_on,
    "logging": _logging,
    "ulimits.*": _ulimit,
}
_RULES: Pattern[Rule] = table(
    {
        **spread(("services.*", "jobs.*"), _CONTAINER),
        "services.*.deploy.labels": _variables,
        **{f"{kind}.*.labels": _variables for kind in ("networks", "volumes", "secrets", "configs")},
        "networks.*.ipam.config": _address_pools,
    }
)
