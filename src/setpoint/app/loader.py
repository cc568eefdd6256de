"""Loads an app file: reads, checks and renders the app, and reports all mistakes at once."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from setpoint.app.checks import check
from setpoint.app.disk import missing
from setpoint.app.environment import read_environment
from setpoint.app.faults import Where, in_order, refuse
from setpoint.app.model import AppFile
from setpoint.app.ports import with_numbers
from setpoint.app.render import render
from setpoint.app.sources import NO_OPTIONS, SourceOptions, read_source
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistake, Mistakes

T = TypeVar("T")


class LoadedApp(NamedTuple):
    """A loaded app: its model, directory, source files, and objects."""

    app: AppFile
    directory: Path
    files: tuple[Path, ...]
    where: Where
    objects: list[Object]
    # The settings without an effect, of files of other tools.
    notes: tuple[Mistake, ...] = ()
    # The profiles that were applied.
    profiles: tuple[str, ...] = ()


def load_app(
    file: Path,
    environ: Mapping[str, str],
    *,
    profiles: Collection[str] = (),
    session: str = "",
    on_this_machine: bool = True,
    change: Callable[[AppFile], AppFile] = lambda app: app,
    options: SourceOptions = NO_OPTIONS,
) -> LoadedApp:
    """Reads and renders an app file, or the files of another tool, after `change` was applied. With `on_this_machine`,
    also checks that the files and programs of the app exist. Raises Mistakes."""
    app, directory, files, where, unknown, notes, variables, _ = read_source(file, environ, profiles, options)
    app = change(app)
    found: list[Mistake] = []

    def attempt(work: Callable[[], T]) -> T | None:
        try:
            return work()
        except Mistakes as mistakes:
            found.extend(mistakes.found)
            return None

    environment = attempt(lambda: read_environment(app, directory, environ, session, where, variables))
    unread, found = found, []
    app, faults = with_numbers(app, environment.variables if environment is not None else environ)
    attempt(lambda: refuse([*faults, *check(app)], where))
    # Other faults of a part may result from its unknown fields, and are not reported.
    found = [*unknown, *(each for each in found if _part(each) not in set(map(_part, unknown)))]
    well_formed = not found
    objects = attempt(lambda: render(app, environment, where)) if environment is not None and well_formed else None
    if on_this_machine and (well_formed or unknown):
        attempt(lambda: refuse(missing(app, directory, environ), where))
    if objects is None or found or unread:
        raise Mistakes(in_order([*unread, *found]))
    return LoadedApp(app, directory, files, where, objects, notes, tuple(profiles))


def _part(mistake: Mistake) -> str:
    """Returns the service or task of a mistake: `services.api`."""
    return ".".join(mistake.path.split(".")[:2])
