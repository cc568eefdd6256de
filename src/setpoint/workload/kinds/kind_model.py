"""The base of the parts of workloads' objects."""

from setpoint.schema.types import Model


class KindModel(Model, omit_empty=True):
    """A part of a workload's object. As in dcp, whose Go structs have `omitempty`, a field with its default value is
    never written."""
