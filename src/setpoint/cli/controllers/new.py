"""`setpoint new controller`: writes the files of a controller, adds the module to the app file, and loads the
controller in the running app.
"""

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.connection import Server, connect, run
from setpoint.cli.support.errors import CONFLICT, TIMED_OUT, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.session.registry import Session

# The time limit for a session to load the new controller.
_LOADED_SECONDS = 20.0


@click.group()
def new() -> None:
    """Create files from templates."""


@new.command()
@click.argument("name")
@click.option("--kind", metavar="KIND", default="", help="Kind of the resource. [default: derived from NAME]")
@click.option("--group", metavar="GROUP", default="example.com", show_default=True, help="API group of the kind.")
@click.option(
    "--dir",
    "directory",
    metavar="DIRECTORY",
    default="controllers",
    show_default=True,
    help="Directory of the controller.",
)
def controller(name: str, kind: str, group: str, directory: str) -> None:
    """Create a controller with its kind, a reconcile function, a passing test, and an example object.

    Adds the controller to setpoint.yaml in this directory or a parent. If the app is running, the controller is loaded
    immediately.

    \b
      setpoint new controller shop
      setpoint apply -f demo/shop.yaml
      setpoint test
    """
    from setpoint.cli.controllers.scaffold import ScaffoldError, files_of, names_of

    try:
        names = names_of(name, kind, group)
    except ScaffoldError as error:
        raise Failure(str(error), USAGE) from None
    file = _app_file()
    top = file.parent if file is not None else Path.cwd()
    if Path(directory).is_absolute() or ".." in Path(directory).parts:
        raise Failure(f"--dir {directory} must be a directory below {top}", USAGE)
    files = files_of(names, PurePosixPath(directory))
    _write(files, top)
    program, test, example = files
    _print(f"wrote {program}", f"the kind {names.kind} ({names.group}/v1) and its controller")
    _print(f"wrote {test}", "a test; run with: setpoint test")
    _print(f"wrote {example}", f"an object; create with: setpoint apply -f {_seen(top / example)}")
    if file is None:
        _print("no setpoint.yaml here", f"run with: setpoint dev {_seen(top / program)}")
        return
    _list(file, str(program))
    session = _running(file)
    if session is not None:
        run(_load(session, str(program)))


def _app_file() -> Path | None:
    from setpoint.cli.app.app_file import find_own_file

    try:
        return find_own_file()
    except Failure:
        return None


def _write(files: dict[PurePosixPath, str], top: Path) -> None:
    """Writes all files, or none if one of them exists."""
    if there := [str(path) for path in files if (top / path).exists()]:
        are = f"{', '.join(there[:-1])} and {there[-1]}" if there[1:] else f"{there[0]}"
        raise Failure(f"already exists: {are}; choose another name or another --dir", CONFLICT)
    for path, text in files.items():
        try:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise Failure(f"cannot write {top / path}: {error.strerror}") from None


def _list(file: Path, module: str) -> None:
    """Adds the controller to the app file."""
    from setpoint.app.controller_entry import AddingError, add_controller
    from setpoint.server import secret_files

    by_hand = f"add manually: controllers: [{module}]"
    if file.suffix == ".py":
        _print(f"not added to {file.name}", by_hand)
        return
    try:
        text = file.read_text(encoding="utf-8")
        secret_files.write(file, add_controller(text, module).encode(), file.stat().st_mode & 0o777)
    except (AddingError, OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file.name} was not changed: {error}; {by_hand}") from None
    _print(f"added to {file.name}", f"controllers: - {module}")


def _running(file: Path) -> "Session | None":
    """Returns the session that runs this app file, or None."""
    from setpoint.session.registry import Sessions

    found = Sessions.of(os.environ).here(file.parent)
    return next((each for each in found if Path(each.directory) == file.parent), None)


async def _load(session: "Session", module: str) -> None:
    """Loads the controller in the session and reports the result. Other changes of the file are left to
    `setpoint up`.
    """
    from setpoint.cli.output.progress import progress
    from setpoint.client.patches import merge
    from setpoint.session.controllers.status_query import loaded

    async with connect(Server(session=session.id)) as client, progress(f"loading {module}", client.clock):
        kind = "setpoint.dev/v1/App"
        app = await client.get(kind, session.app)
        listed = app["spec"].get("controllers") or []
        if not any(each["module"] == module for each in listed):
            change = {"spec": {"controllers": [*listed, {"module": module}]}}
            await client.patch(kind, merge(change), session.app)
        known = await loaded(client, [module], _LOADED_SECONDS)
    if not known.are_decided([module]):
        raise Failure(f"session {session.id} has not loaded the controller yet: see `setpoint controllers`", TIMED_OUT)
    if failed := [row["note"] for row in known.hosted if row["module"] == module and row["state"] == "Failed"]:
        raise Failure(f"session {session.id} cannot load the controller: {failed[0]}")
    _print(f"runs in session {session.id}", "status: setpoint controllers")


def _seen(path: Path) -> str:
    return os.path.relpath(path)


def _print(text: str, more: str) -> None:
    echo(f"{text:<36}  {more}")
