"""The settings of a view: the app and the display options."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from setpoint.cli.app.view.parts import Part, parts_of

if TYPE_CHECKING:
    from setpoint.app.changes import ObjectChange
    from setpoint.app.loader import LoadedApp
    from setpoint.session.registry import Session


class ViewSettings(NamedTuple):
    """An app and its display options. With `until_ready`, the view ends when all parts are ready or one failed
    permanently.
    """

    app: str
    session: str = ""
    dashboard: str = ""
    parts: tuple[Part, ...] = ()
    # The app was running before: closing the view does not stop the app.
    joined: bool = False
    until_ready: bool = False
    logs: bool = True
    # The applied changes, if the app was running before.
    changes: "Sequence[ObjectChange]" = ()
    # The start time; None if durations are unknown.
    began: datetime | None = None


def settings_of(
    loaded: "LoadedApp",
    session: "Session",
    changes: "Sequence[ObjectChange]" = (),
    *,
    joined: bool = False,
    until_ready: bool = False,
    logs: bool = True,
    began: datetime | None = None,
) -> ViewSettings:
    """Returns the settings for an app that was loaded from its file and applied."""
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
