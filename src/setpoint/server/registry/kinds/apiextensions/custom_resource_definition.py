"""The strategy of CustomResourceDefinitions, with the rules of `setpoint.schema.crd`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from setpoint.objects.clock import Clock
from setpoint.objects.conditions import find
from setpoint.objects.field import FieldError
from setpoint.objects.tree import Object
from setpoint.schema.crd import conditions, defaults, definition_validation, warnings
from setpoint.server.registry.kinds.printers.cells import field, lookup
from setpoint.server.registry.kinds.printers.columns import CREATED_AT, NAME, joined
from setpoint.server.registry.strategy import Column, Strategy


def _versions(tree: Object, _now: datetime) -> str:
    served = [version for version in lookup(tree, "spec", "versions") or () if version.get("served")]
    return ",".join(sorted(f"{each['name']}{'(storage)' if each.get('storage') else ''}" for each in served))


def _established(tree: Object, _now: datetime) -> bool:
    found = find(lookup(tree, "status", "conditions") or [], "Established")
    return found is not None and found.get("status") == "True"


class DefinitionStrategy(Strategy):
    """The rules of a definition. Deletion has several steps: the instances are deleted first."""

    propagates_first = False
    # A short rule may take long to compile and to estimate.
    is_heavy = True
    declares_rules = False
    keeps_generation = True
    allows_unconditional_update = False
    # The name of a definition follows from its resource, and its own validator covers the metadata too.
    validates_metadata = True
    returns_deleted_object = True
    precondition_text = "precondition failed"
    reset_fields: ClassVar[Mapping[str, Sequence[str]]] = {"": ("status",), "status": ("spec",)}
    columns = (
        NAME,
        Column("Scope", field("spec", "scope"), description="Cluster/Namespaced"),
        Column("Versions", _versions, description="Served versions"),
        CREATED_AT,
        Column("Group", field("spec", "group"), priority=1, description="API group"),
        Column("Kind", field("spec", "names", "kind"), priority=1, description="CustomResource kind"),
        Column("ShortNames", joined("spec", "names", "shortNames"), priority=1, description="Short names"),
        Column("Established", _established, "boolean", priority=1, description="Established status"),
    )

    def default(self, tree: Object) -> None:
        _replace_content(tree, defaults.default(tree))

    def prepare_for_create(self, tree: Object) -> None:
        _replace_content(tree, defaults.prepare_for_create(tree))

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        prepare = defaults.prepare_for_status_update if subresource == "status" else defaults.prepare_for_update
        _replace_content(tree, prepare(tree, old))

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        """Returns False: the generation was already incremented while preparing the update."""
        return False

    def validate(self, tree: Object) -> list[FieldError]:
        return _with_empty_versions(tree, definition_validation.validate_create(tree))

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return definition_validation.validate_status_update(tree, old)
        return _with_empty_versions(tree, definition_validation.validate_update(tree, old))

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        return warnings.warnings_on_create(tree) if old is None else warnings.warnings_on_update(tree, old)

    def begin_deletion(self, tree: Object, clock: Clock) -> Object | None:
        return conditions.mark_for_deletion(tree, clock)


def _with_empty_versions(tree: Object, errors: list[FieldError]) -> list[FieldError]:
    """Returns the errors, which show an empty list of versions as such, and not as an absent one."""
    path = "spec.versions"
    if (tree.get("spec") or {}).get("versions") != []:
        return errors
    return [error._replace(value=[]) if error[1:3] == (path, None) else error for error in errors]


def _replace_content(tree: Object, made: Object) -> None:
    """Replaces the content of the tree, in place, by another one."""
    tree.clear()
    tree.update(made)
