"""The options that select the files of an app, and the report about files of other tools."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.cwd import here

if TYPE_CHECKING:
    from setpoint.app.loader import LoadedApp
    from setpoint.app.sources import SourceOptions

F = TypeVar("F", bound=Callable[..., Any])
_FILES, _ENV_FILES = "setpoint.source.files", "setpoint.source.env_files"


def _kept(key: str) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], None]:
    def keep(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
        if value:
            ctx.meta[key] = value

    return keep


def source_options(command: F) -> F:
    """Adds the options -f and --env-file; their values are kept in the context of the command."""
    file = click.option(
        "-f",
        "--file",
        "source_files",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        callback=_kept(_FILES),
        help="File of the app; several Compose files are merged (repeatable).",
    )
    env_file = click.option(
        "--env-file",
        "source_env_files",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        callback=_kept(_ENV_FILES),
        help="File of variables for Compose files, instead of .env (repeatable).",
    )
    return file(env_file(command))


def given_files() -> tuple[str, ...]:
    """Returns the files that the user named with -f."""
    return _values(_FILES)


def name_file(file: str) -> None:
    """Records a file that the user named as an argument."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and not ctx.meta.get(_FILES):
        ctx.meta[_FILES] = (file,)


def options() -> "SourceOptions":
    """Returns the options of the current command."""
    from setpoint.app.sources import SourceOptions

    place = here()
    files = tuple((place / file).resolve() for file in given_files() if not (place / file).is_dir())
    return SourceOptions(files, tuple(str(place / file) for file in _values(_ENV_FILES)))


def _values(key: str) -> tuple[str, ...]:
    ctx = click.get_current_context(silent=True)
    found: tuple[str, ...] = ctx.meta.get(key, ()) if ctx is not None else ()
    return found


def report_source(file: Path, loaded: "LoadedApp", *, names: bool = True) -> None:
    """Prints the files of another tool that an app was read from, and their settings without an effect."""
    from setpoint.app.sources import kind_of

    if file.suffix == ".py" or kind_of(file) == "app":
        return
    place = f"{here()}{os.sep}"
    if names:
        files = [each for each in loaded.files if not each.name.startswith(".")]
        echo(f"using {', '.join(str(each).replace(place, '') for each in files)}", err=True)
    for note in loaded.notes:
        echo(f"warning: {str(note).replace(place, '')}", err=True)
