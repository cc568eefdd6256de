"""The strategy of CustomResourceDefinitions, with the rules of `setpoint.schema.crd`."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from setpoint.objects.clock import Clock
from setpoint.objects.field import FieldError
from setpoint.objects.tree import Object
from setpoint.schema.crd import conditions, defaults, definition_validation, warnings
from setpoint.server.registry.strategy import Strategy


class DefinitionStrategy(Strategy):
    """The rules of a definition. Deletion has several steps: the instances are deleted first."""

    # A short rule may take long to compile and to estimate.
    is_heavy = True
    keeps_generation = True
    allows_unconditional_update = False
    # The name of a definition follows from its resource, and its own validator covers the metadata too.
    validates_metadata = True
    returns_deleted_object = True
    reset_fields: ClassVar[Mapping[str, Sequence[str]]] = {"": ("status",), "status": ("spec",)}

    def default(self, tree: Object) -> None:
        _become(tree, defaults.default(tree))

    def prepare_for_create(self, tree: Object) -> None:
        _become(tree, defaults.prepare_for_create(tree))

    def prepare_for_update(self, tree: Object, old: Object, subresource: str = "") -> None:
        prepare = defaults.prepare_for_status_update if subresource == "status" else defaults.prepare_for_update
        _become(tree, prepare(tree, old))

    def bumps_generation(self, tree: Object, old: Object) -> bool:
        """Returns False: the generation was already incremented while preparing the update."""
        return False

    def validate(self, tree: Object) -> list[FieldError]:
        return definition_validation.validate_create(tree)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return definition_validation.validate_status_update(tree, old)
        return definition_validation.validate_update(tree, old)

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        return warnings.warnings_on_create(tree) if old is None else warnings.warnings_on_update(tree, old)

    def begin_deletion(self, tree: Object, clock: Clock) -> Object | None:
        return conditions.mark_for_deletion(tree, clock)


def _become(tree: Object, made: Object) -> None:
    """Replaces the content of the tree, in place, by another one."""
    tree.clear()
    tree.update(made)
