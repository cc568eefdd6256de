"""Conflicts: fields that an apply would change and that other managers own."""

from collections.abc import Mapping

from setpoint.merge import fieldset
from setpoint.merge.fieldset import FieldSet
from setpoint.merge.managedfields import Identifier
from setpoint.objects.errors import ApplyConflict


class Conflicts(Exception):  # noqa: N818 - becomes an ApplyConflict once nothing allows it
    """The fields of an apply that other managers own, by owner."""

    def __init__(self, sets: Mapping[Identifier, FieldSet]) -> None:
        super().__init__("apply conflicts")
        self.sets = sets

    def outside(self, allowed: FieldSet) -> "Conflicts | None":
        """Returns the conflicts outside of the allowed fields; None if all are allowed."""
        sets = {owner: rest for owner, fields in self.sets.items() if (rest := fieldset.difference(fields, allowed))}
        return Conflicts(sets) if sets else None

    def to_error(self) -> ApplyConflict:
        """Returns the conflicts as an API error: grouped by manager, with one cause per field."""
        found = [
            (owner.describe(), [fieldset.path_text(path) for path in fieldset.paths(fields)])
            for owner, fields in sorted(self.sets.items(), key=lambda item: item[0].text)
        ]
        causes = [ApplyConflict.cause(f"conflict with {who}", path) for who, paths in found for path in paths]
        if len(causes) == 1:
            return ApplyConflict.between(
                f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}", causes
            )
        lines = []
        for who, paths in found:
            lines += [f"conflicts with {who}:", *(f"- {path}" for path in paths)]
        return ApplyConflict.between(f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines), causes)
