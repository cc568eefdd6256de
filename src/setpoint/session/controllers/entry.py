"""A line of `controllers:` in an app file: a file or module, and perhaps one controller of it."""

from collections.abc import Sequence
from typing import NamedTuple

from setpoint.objects.tree import Object


class Entry(NamedTuple):
    """Which controllers are to run."""

    module: str
    # All of them when empty.
    name: str = ""

    @property
    def is_file(self) -> bool:
        """Whether the module is named by its file."""
        return self.module.endswith(".py")

    def __str__(self) -> str:
        return f"{self.module} ({self.name})" if self.name else self.module


def entries_of(app: Object) -> Sequence[Entry]:
    """What an App object asks for."""
    listed = app.get("spec", {}).get("controllers") or ()
    return [Entry(each["module"], each.get("name") or "") for each in listed]
