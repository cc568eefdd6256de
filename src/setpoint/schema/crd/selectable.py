"""The values that field selectors compare: the fields of a custom resource that its definition made selectable."""

from collections.abc import Sequence

from setpoint.objects.tree import Object
from setpoint.schema.crd.definition import SelectableField
from setpoint.schema.crd.printer_columns import text_of
from setpoint.schema.jsonpath import JSONPath


class SelectableFields:
    """The selectable fields of one version, compiled. `names` are the names in a selector (`spec.color`)."""

    def __init__(self, fields: Sequence[SelectableField]) -> None:
        self._paths = {field.json_path.removeprefix("."): JSONPath(field.json_path) for field in fields}
        self.names = frozenset(self._paths)

    def values(self, tree: Object) -> dict[str, str]:
        """Returns the value of each field as text; empty if the object has none."""
        found = {}
        for name, path in self._paths.items():
            value = path.first(tree)
            found[name] = "" if value is None else text_of(value)
        return found
