"""An entry of `controllers:` in an app file: a file or module, and optionally the name of one controller."""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects.tree import Object


class EntryPoint(NamedTuple):
    """The controllers to run."""

    module: str
    # Empty for all controllers.
    name: str = ""

    @property
    def is_file(self) -> bool:
        """True if the module is given as a file."""
        return self.module.endswith(".py")

    def __str__(self) -> str:
        return f"{self.module} ({self.name})" if self.name else self.module


def entries_of(app: Object) -> Sequence[EntryPoint]:
    """Returns the entries of an App object."""
    listed = app.get("spec", {}).get("controllers") or ()
    return [EntryPoint(each["module"], each.get("name") or "") for each in listed]
