"""Finds, reads and validates the app file of a command. Reports all mistakes before any part starts."""

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from setpoint.cli.app.source_options import given_files, name_file, options
from setpoint.cli.output.terminal import echo
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.app.loader import LoadedApp
    from setpoint.app.model import AppFile

_EXPECTED = "setpoint.yaml, Compose file, process-compose.yaml or Procfile"

profile_option = click.option(
    "-p", "--profile", "profiles", multiple=True, metavar="NAME", help="Enable a profile (repeatable)."
)


def find_file(file: str, directory: Path | None = None) -> Path:
    """Returns the file of an app: the given file, the one in the given directory, or the nearest at or above here: an
    app file, or a file of another tool. Raises Failure.
    """
    from setpoint.app.sources import find_source, source_in

    if file:
        name_file(file)
    file = file or next(iter(given_files()), "")
    if file:
        path = Path(file).absolute()
        found = source_in(path) if path.is_dir() else path if path.exists() else None
        if found is None:
            missing = f"there is no {_EXPECTED} in {file}" if path.is_dir() else f"file {file} not found"
            raise Failure(f"{missing}; create an app file with `setpoint init`", NOT_FOUND)
        return found.resolve()
    place = (directory or here()).resolve()
    found = find_source(place, os.environ) or _running(place)
    if found is not None:
        return found
    raise Failure(
        f"no {_EXPECTED} in this directory or its parents; create an app file with `setpoint init`, or try "
        "`setpoint demo`",
        NOT_FOUND,
    )


def find_own_file() -> Path:
    """Returns the app file at or above here, also if files of other tools are nearer. Raises Failure."""
    from setpoint.app.reader import FILES, find_app_file

    found = find_app_file(here().resolve())
    if found is None:
        raise Failure(
            f"no {FILES[0]} in this directory or its parents; create one with `setpoint init`, or try `setpoint demo`",
            NOT_FOUND,
        )
    return found


def read_file(
    file: Path,
    environ: Mapping[str, str] = os.environ,
    profiles: Collection[str] = (),
    *,
    names: Collection[str] = (),
    on_this_machine: bool = True,
    change: "Callable[[AppFile], AppFile]" = lambda app: app,
) -> "LoadedApp":
    """Returns the app of a YAML or Python file, rendered for its session after `change` was applied. The profiles of
    the services and tasks in `names` are enabled. With `on_this_machine`, also checks that the files and programs named
    in the file exist. Raises Failure with all mistakes.
    """
    from setpoint.app.loader import load_app
    from setpoint.app.profiles import enabling
    from setpoint.app.sources import read_source
    from setpoint.objects.typedyaml import Mistakes
    from setpoint.session.registry import session_id

    try:
        if file.suffix == ".py":
            return _python(file, environ, profiles, names, change)
        sources = options()
        read = read_source(file, environ, profiles, sources)
        profiles, name = enabling(profiles, names, read.left_out), change(read.app).app
        session = session_id(name, str(file.parent))
        return load_app(
            file,
            environ,
            profiles=profiles,
            session=session,
            on_this_machine=on_this_machine,
            change=change,
            options=sources,
        )
    except Mistakes as mistakes:
        raise refused(file, mistakes) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"cannot read {file}: {getattr(error, 'strerror', None) or error}", NOT_FOUND) from None


def refused(file: Path, mistakes: "Exception") -> Failure:
    """Prints the mistakes of a file, one per line, and returns the Failure to raise."""
    found = [str(each) for each in getattr(mistakes, "found", ())] or [str(mistakes)]
    place = f"{here()}{os.sep}"
    for line in found:
        echo(line.replace(place, ""), err=True)
    number = f"{len(found)} errors" if len(found) > 1 else "an error"
    then = "the running app was not changed" if _running(file.parent) == file else "no part was started"
    return Failure(f"{str(file).replace(place, '')} has {number}; {then}", USAGE)


def _running(directory: Path) -> Path | None:
    """Returns the file of the only app that runs in the directory or above, or None."""
    from setpoint.session.registry import Sessions

    files = {Path(session.file) for session in Sessions.of(os.environ).here(directory) if session.file}
    return next((file for file in files if file.exists()), None) if len(files) == 1 else None


def _python(
    file: Path,
    environ: Mapping[str, str],
    profiles: Collection[str],
    names: Collection[str],
    change: "Callable[[AppFile], AppFile]",
) -> "LoadedApp":
    """Loads a Python app file, which must create exactly one `sp.App`. Raises Failure, Mistakes."""
    import runpy

    from setpoint.app.builder import App, rendered
    from setpoint.app.faults import nowhere
    from setpoint.app.loader import LoadedApp
    from setpoint.app.profiles import enabling, left_out, selected
    from setpoint.objects.typedyaml import Mistakes
    from setpoint.session.registry import session_id

    try:
        made = runpy.run_path(str(file))
    except Mistakes:
        raise
    except Exception as error:
        raise Failure(f"cannot run {file}: {_where(error, file)}{type(error).__name__}: {error}", USAGE) from None
    apps: list[App] = list({id(each): each for each in made.values() if isinstance(each, App)}.values())
    if len(apps) != 1:
        raise Failure(f'{file} creates {len(apps) or "no"} apps; expected exactly one: app = sp.App("shop")', USAGE)
    [app] = apps
    profiles = enabling(profiles, names, left_out(app.file, profiles))
    chosen = change(selected(app.file, profiles))
    session = session_id(chosen.app, str(file.parent))
    objects = rendered(chosen, file.parent, (), environ, session)
    return LoadedApp(chosen, file.parent, (file,), nowhere, objects, profiles=profiles)


def _where(error: Exception, file: Path) -> str:
    """Returns the line of the file at which an error was raised, or an empty string."""
    from traceback import walk_tb

    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == str(file)]
    return f"line {lines[-1]}: " if lines else ""
