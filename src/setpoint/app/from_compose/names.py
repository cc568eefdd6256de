"""The names of a Compose project: of its parts in the app, and of its resources in the container engine."""

from collections.abc import Iterable
from typing import NamedTuple

from setpoint.app.compose.project import Project
from setpoint.app.reader import app_name


class Names(NamedTuple):
    """The names of one project. With `fixed`, resources in the engine have the names that Compose gives them."""

    project: str
    fixed: bool

    def container(self, service: str, *, replicated: bool) -> str:
        """Returns the name of a service's container; with replicas, without their numbers."""
        return f"{self.project}-{service}{'' if replicated else '-1'}" if self.fixed else ""

    def image(self, service: str) -> str:
        """Returns the name of a built image without a name of its own."""
        return f"{self.project}-{service}" if self.fixed else ""

    def resource(self, name: str, given: str) -> str:
        """Returns the name of a volume or network."""
        return given or (f"{self.project}_{name}" if self.fixed else "")


def clashes(project: Project) -> Iterable[tuple[str, str, str]]:
    """Yields the section and names of parts that differ in Compose, and not in an app."""
    for section in ("services", "volumes", "networks", "secrets"):
        used: dict[str, str] = {}
        names = [*getattr(project, section), *(project.disabled if section == "services" else ())]
        for name in names:
            other = used.setdefault(app_name(name), name)
            if other != name:
                yield section, name, other
