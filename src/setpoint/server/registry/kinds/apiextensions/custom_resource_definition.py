"""CustomResourceDefinitions: their rules are those of `setpoint.schema.crd`; here they take the form of a strategy."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from setpoint.objects.clock import Clock
from setpoint.objects.field import FieldError
from setpoint.objects.tree import Object
from setpoint.schema.crd import conditions, defaults, validation, warnings
from setpoint.server.registry.strategy import Strategy


class DefinitionStrategy(Strategy):
    """The rules of a definition. Deleting one goes step by step: its instances go first."""

    # A short rule may take long to compile, and to estimate.
    is_heavy = True
    keeps_generation = True
    allows_unconditional_update = False
    # A definition has the name of its resource, and a validator of its own looks at all of it.
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
        """It has been counted already, when the update was prepared."""
        return False

    def validate(self, tree: Object) -> list[FieldError]:
        return validation.validate_create(tree)

    def validate_update(self, tree: Object, old: Object, subresource: str = "") -> list[FieldError]:
        if subresource == "status":
            return validation.validate_status_update(tree, old)
        return validation.validate_update(tree, old)

    def warnings(self, tree: Object, old: Object | None) -> list[str]:
        return warnings.warnings_on_create(tree) if old is None else warnings.warnings_on_update(tree, old)

    def begin_deletion(self, tree: Object, clock: Clock) -> Object | None:
        return conditions.mark_for_deletion(tree, clock)


def _become(tree: Object, made: Object) -> None:
    """Makes the tree, in place, the one that was made of it."""
    tree.clear()
    tree.update(made)
