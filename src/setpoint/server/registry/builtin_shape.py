"""The shape of the built-in kinds: that of the Go structs into which kube-apiserver decodes a body."""

from functools import cache

from setpoint.merge.typed.node import Type
from setpoint.merge.types import Types
from setpoint.objects.field import FieldError
from setpoint.objects.lazy import lazy
from setpoint.objects.objectmeta import resets_managers
from setpoint.objects.tree import Object
from setpoint.schema import builtin
from setpoint.schema.validation import Verdict
from setpoint.server.registry.kinds.gotypes.empty_lists import nullify_empty, plan
from setpoint.server.registry.kinds.gotypes.roundtrip import normalize


class BuiltinShape:
    """One built-in kind in one version. Its schema is enforced while decoding, as by Go's types."""

    weight = 1

    def __init__(self, definition: str) -> None:
        self._definition = definition

    @lazy
    def type(self) -> Type:
        return _types().definition(self._definition)

    def empty(self) -> Object:
        tree: Object = {}
        normalize(tree, self._definition)
        _drop_defaults(tree)
        return tree

    @lazy
    def _changes_on_storing(self) -> bool:
        """True if the kind has lists or maps that storing changes."""
        return bool(plan(self._definition))

    def normalize_stored(self, tree: Object) -> None:
        if self._changes_on_storing:
            nullify_empty(tree, self._definition)

    def normalize(self, tree: Object) -> list[str]:
        resets = resets_managers(tree)
        unknown = normalize(tree, self._definition)
        if resets:
            tree["metadata"]["managedFields"] = []
        return unknown

    def complete(self, tree: Object) -> None:
        normalize(tree, self._definition)

    def renormalize(self, tree: Object) -> None:
        normalize(tree, self._definition)

    def trim(self, tree: Object) -> None:
        normalize(tree, self._definition)

    def validate(
        self,
        tree: Object,
        old: Object | None,
        before: list[FieldError],
        subresource: str = "",
        *,
        quick: bool = False,
        is_other_kind: bool = False,
    ) -> Verdict:
        return Verdict(before, [])


def _drop_defaults(tree: Object) -> None:
    """Removes the published defaults other than zero values: Go's types set them only when a body is decoded."""
    for name, value in [*tree.items()]:
        if type(value) is dict:
            _drop_defaults(value)
        elif value:
            del tree[name]


@cache
def _types() -> Types:
    return Types(builtin.definition)


@cache
def shape_of(definition: str) -> BuiltinShape:
    """Returns the shape of a definition. Shapes have no state except compiled schemas, so servers share them."""
    return BuiltinShape(definition)
