"""The rules of one kind at work on one object: what a body becomes, and what is said against it. No server is needed.

Cases are made from objects that are right: `changed` sets and drops single fields of them.
"""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from setpoint.objects.field import FieldError
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object, copy
from setpoint.schema import builtin
from setpoint.server.registry.kinds import strategy_for
from setpoint.server.registry.kinds.gotypes.roundtrip import normalize
from setpoint.server.registry.strategy import Strategy

CASES = Path(__file__).parent / "cases" / "beyond_core"
UID = "6f1a4b8e-0000-4000-8000-000000000001"


def strategy_of(tree: Object) -> Strategy:
    gvk = GroupVersionKind.of(tree)
    found = strategy_for(gvk.group, gvk.kind)
    assert found is not None, f"{gvk} has no rules"
    return found


def admitted(body: Object) -> Object:
    """The object that a body means, with its defaults."""
    tree: Object = copy(body)
    normalize(tree, builtin.kinds()[GroupVersionKind.of(tree)])
    strategy_of(tree).default(tree)
    return tree


def created(body: Object) -> Object:
    """The same as it would be stored."""
    tree = admitted(body)
    tree["metadata"]["uid"] = UID
    tree["metadata"]["creationTimestamp"] = "2024-05-01T10:00:00Z"
    tree["metadata"]["resourceVersion"] = "1"
    strategy_of(tree).prepare_for_create(tree)
    return tree


def errors_of(body: Object) -> list[str]:
    """What is said against a new object."""
    tree = created(body)
    strategy = strategy_of(tree)
    name = tree["metadata"].get("name") or ""
    found = [FieldError(*error) for error in (*strategy.validate_before_metadata(tree), *strategy.validate(tree))]
    return sorted([f"metadata.name: {text}" for text in strategy.name_rule(tree)(name, False)] + list(map(str, found)))


def errors_of_update(body: Object, stored: Object, subresource: str = "") -> list[str]:
    """What is said against a change of a stored object."""
    tree = admitted(body)
    strategy = strategy_of(tree)
    strategy.prepare_for_update(tree, stored, subresource)
    early = [] if subresource else strategy.validate_before_metadata(tree) + strategy.changes_before_name(tree, stored)
    return sorted(map(str, early + strategy.validate_update(tree, stored, subresource)))


def changed(body: Object, sets: dict[str, Any], drops: list[str]) -> Object:
    """A copy with some fields set and others dropped. Paths are dotted; a part may be escaped with `~` for a dot."""
    tree: Any = copy(body)
    for path, value in sets.items():
        *parents, last = _parts(path)
        place = tree
        for part in parents:
            place = place[part] if isinstance(place, list) else place.setdefault(part, {})
        place[last] = value
    for path in drops:
        *parents, last = _parts(path)
        place = tree
        for part in parents:
            place = place[part]
        del place[last]
    made: Object = tree
    return made


def _parts(path: str) -> list[Any]:
    return [int(part) if part.isdigit() else part.replace("~", ".") for part in path.split(".")]


class Case(NamedTuple):
    """One object that is refused, and why."""

    name: str
    body: Object
    errors: list[str]
    # What is stored already, where it is a change that is refused.
    old: Object | None = None
    subresource: str = ""


class Table(NamedTuple):
    """The objects of a file that are right, and the cases made from them."""

    objects: dict[str, Object]
    cases: list[Case]


def load(path: Path) -> Table:
    """A file of cases. `change` says that the object was right before and is then changed."""
    found = yaml.safe_load(path.read_text())
    objects: dict[str, Object] = found["objects"]
    cases = []
    for name, case in found["refused"].items():
        base = objects[case["of"]]
        before = changed(base, case.get("was") or {}, [])
        is_change = "was" in case or case.get("change", False) or "through" in case
        before = created(before) if is_change else before
        body = changed(before, case.get("set") or {}, case.get("drop") or [])
        cases.append(Case(name, body, case["errors"], before if is_change else None, case.get("through", "")))
    return Table(objects, cases)


TABLES = {path.stem: load(path) for path in sorted(CASES.glob("*.yaml"))}
