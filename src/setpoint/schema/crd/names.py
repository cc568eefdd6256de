"""The names of a definition: their validation, and their acceptance beside the other definitions of the group.

Plural, singular and short names share one namespace per group, Kind and list kind another. The first definition keeps a
name; a definition with a conflict gets its other names, and the missing name when that becomes free.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from setpoint.objects.field import FieldError, child, index, invalid, required
from setpoint.objects.gotext import quote
from setpoint.objects.names import dns1035_label, dns1123_subdomain
from setpoint.schema.crd.definition import CustomResourceDefinition, Names, Spec


def name_rule(spec: Spec) -> Callable[[str, bool], tuple[str, ...]]:
    """Returns the rule for `metadata.name`, in the form of the rules of `setpoint.objects.names`."""
    expected = f"{spec.names.plural}.{spec.group}"

    def rule(name: str, prefix: bool = False) -> tuple[str, ...]:
        errors = dns1123_subdomain(name, prefix)
        return errors if name == expected else (*errors, 'must be spec.names.plural+"."+spec.group')

    return rule


def required_names(names: Names, path: str) -> list[FieldError]:
    """Returns the errors for missing names of a spec; a status may omit them."""
    wanted = (
        ("plural", names.plural),
        ("singular", names.singular),
        ("kind", names.kind),
        ("listKind", names.list_kind),
    )
    return [required(child(path, field)) for field, value in wanted if not value]


def validate_names(names: Names, path: str) -> list[FieldError]:
    """Returns the errors of all names that are present."""
    errors: list[FieldError] = []

    def label(field: str, value: str, prefix: str = "", checked: str | None = None) -> None:
        if problems := dns1035_label(value if checked is None else checked):
            errors.append(invalid(field, value, prefix + ",".join(problems)))

    mixed = "may have mixed case, but should otherwise match: "
    if names.plural:
        label(child(path, "plural"), names.plural)
    if names.singular:
        label(child(path, "singular"), names.singular)
    if names.kind:
        label(child(path, "kind"), names.kind, mixed, names.kind.lower())
    if names.list_kind:
        label(child(path, "listKind"), names.list_kind, mixed, names.list_kind.lower())
    for position, short_name in enumerate(names.short_names):
        label(index(child(path, "shortNames"), position), short_name)
    if names.kind and names.kind == names.list_kind:
        errors.append(invalid(child(path, "listKind"), names.list_kind, "kind and listKind may not be the same"))
    for position, category in enumerate(names.categories):
        label(index(child(path, "categories"), position), category)
    return errors


class Acceptance(NamedTuple):
    """The accepted names of a definition, and the reason if a name is rejected (otherwise `reason` is empty)."""

    names: Names
    reason: str = ""
    message: str = ""

    @property
    def complete(self) -> bool:
        return not self.reason


class NameRegistry:
    """The names in one group and the definitions that hold them, updated per definition."""

    def __init__(self, definitions: Iterable[CustomResourceDefinition] = ()) -> None:
        self._resources: dict[str, set[str]] = {}
        self._kinds: dict[str, set[str]] = {}
        for crd in definitions:
            self.put(crd)

    def put(self, crd: CustomResourceDefinition) -> None:
        """Adds the names of a definition."""
        for holders, names in self._of(crd):
            for name in names:
                holders.setdefault(name, set()).add(crd.name)

    def drop(self, crd: CustomResourceDefinition) -> None:
        """Removes the names of a definition."""
        for holders, names in self._of(crd):
            for name in names:
                found = holders.get(name, set())
                found.discard(crd.name)
                if not found:
                    holders.pop(name, None)

    def _of(self, crd: CustomResourceDefinition) -> list[tuple[dict[str, set[str]], tuple[str, ...]]]:
        held = crd.status.accepted_names
        return [
            (self._resources, (held.plural, held.singular, *held.short_names)),
            (self._kinds, (held.kind, held.list_kind)),
        ]

    def has_resource(self, name: str, *, excluding: str) -> bool:
        """Returns True if a definition other than `excluding` has this plural, singular or short name."""
        return bool(self._resources.get(name, set()) - {excluding})

    def has_kind(self, name: str, *, excluding: str) -> bool:
        """Returns True if a definition other than `excluding` has this Kind or list kind."""
        return bool(self._kinds.get(name, set()) - {excluding})


def accept_names(
    crd: CustomResourceDefinition, others: Iterable[CustomResourceDefinition] | NameRegistry
) -> Acceptance:
    """Returns the requested names that are free, given the names of the other definitions of the group.

    If several are taken, the last one checked (plural, singular, short names, Kind, list kind) is reported.
    """
    if not isinstance(others, NameRegistry):
        others = NameRegistry(other for other in others if other.spec.group == crd.spec.group)
    resources, kinds = partial(others.has_resource, excluding=crd.name), partial(others.has_kind, excluding=crd.name)
    wanted, held = crd.spec.names, crd.status.accepted_names
    conflict = ("", "")

    def accept(reason: str, name: str, mine: str, is_used: Callable[[str], bool]) -> str:
        nonlocal conflict
        if name == mine or not is_used(name):
            return name
        conflict = (reason, f"{quote(name)} is already in use")
        return mine

    plural = accept("PluralConflict", wanted.plural, held.plural, resources)
    singular = accept("SingularConflict", wanted.singular, held.singular, resources)
    short_names = wanted.short_names
    if blocked := [name for name in wanted.short_names if name not in held.short_names and resources(name)]:
        short_names = held.short_names
        messages = list(dict.fromkeys(f"{quote(name)} is already in use" for name in blocked))
        conflict = ("ShortNamesConflict", messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")
    kind = accept("KindConflict", wanted.kind, held.kind, kinds)
    list_kind = accept("ListKindConflict", wanted.list_kind, held.list_kind, kinds)
    accepted = Names(
        plural=plural,
        singular=singular,
        short_names=short_names,
        kind=kind,
        list_kind=list_kind,
        categories=wanted.categories,
    )
    return Acceptance(accepted, *conflict)
