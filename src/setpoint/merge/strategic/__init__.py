"""Strategic merge patch: a partial object that is merged as the fields of its kind say.

`merge` applies a patch, `diff` makes the one from an object to another, `three_way` the one that carries a change of a
configuration over to a live object. `PatchSchemas` reads how fields merge from the definitions of the kinds.
"""

from setpoint.merge.strategic.diff import diff
from setpoint.merge.strategic.merge import merge
from setpoint.merge.strategic.schema import PatchSchema, PatchSchemas
from setpoint.merge.strategic.three_way import three_way

__all__ = ["PatchSchema", "PatchSchemas", "diff", "merge", "three_way"]
