"""Strategic merge patch: a partial object that is merged by the rules of the fields of its kind.

`merge` applies a patch, `diff` makes the patch from one object to another, and `three_way` the patch that transfers a
change of a configuration to a live object. `remainder` is a patch after its merge, for errors. `PatchSchemas` reads the
rules of the fields from the definitions of the kinds.
"""

from setpoint.merge.strategic.diff import diff
from setpoint.merge.strategic.merge import merge
from setpoint.merge.strategic.remainder import remainder
from setpoint.merge.strategic.schema import PatchSchema, PatchSchemas
from setpoint.merge.strategic.three_way import three_way

__all__ = ["PatchSchema", "PatchSchemas", "diff", "merge", "remainder", "three_way"]
