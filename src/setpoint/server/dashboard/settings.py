"""The settings of the dashboard of a server."""

from dataclasses import dataclass, field
from pathlib import Path

from setpoint.server.dashboard.page_files import PageFiles

# The package of the page has no code: its files are found by their place next to this package.
_PAGE = Path(__file__).parents[2] / "dashboard" / "page"


def packaged() -> PageFiles:
    """Returns the files of the page of this version."""
    return PageFiles(_PAGE)


@dataclass(frozen=True)
class DashboardSettings:
    """The dashboard in front of a server."""

    files: PageFiles = field(default_factory=packaged)
    # The name of the app; empty for a server without an app.
    app: str = ""
    # True if the server accepts no writes, and true for an imported archive.
    read_only: bool = False
    is_archive: bool = False
