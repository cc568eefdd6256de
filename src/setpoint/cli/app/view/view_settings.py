"""What a view is told of the app that it shows, and how it is to be shown."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from setpoint.cli.app.view.parts import Part, parts_of

if TYPE_CHECKING:
    from setpoint.app.changes import Change
    from setpoint.app.loader import LoadedApp
    from setpoint.session.registry import Session


class ViewSettings(NamedTuple):
    """An app and how to show it. `until_ready`: the view ends when all is ready, or something has failed for good."""

    app: str
    session: str = ""
    dashboard: str = ""
    parts: tuple[Part, ...] = ()
    # It ran before we came: who leaves the view leaves the app alone.
    joined: bool = False
    until_ready: bool = False
    logs: bool = True
    # What was changed, where it ran before.
    changes: "Sequence[Change]" = ()
    # When it was started; None where nobody knows how long anything took.
    began: datetime | None = None


def settings_of(
    loaded: "LoadedApp",
    session: "Session",
    changes: "Sequence[Change]" = (),
    *,
    joined: bool = False,
    until_ready: bool = False,
    logs: bool = True,
    began: datetime | None = None,
) -> ViewSettings:
    """The settings for an app that was read from its file and applied."""
    return ViewSettings(
        loaded.app.app,
        session.id,
        session.dashboard,
        parts_of(loaded.app),
        joined,
        until_ready,
        logs,
        tuple(changes) if joined else (),
        began,
    )
