"""`setpoint init`: creates an app file from other files in a directory that describe how its programs run."""

import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.terminal import Terminal, echo, shortened, terminal, width_of
from setpoint.cli.output.words import counted
from setpoint.cli.support.errors import CONFLICT, NOT_FOUND, Failure

if TYPE_CHECKING:
    from setpoint.app.init.draft import Proposal

_SCHEMA = ".setpoint/setpoint.schema.json"
_COMMENT = f"# yaml-language-server: $schema={_SCHEMA}\n"
_INDENT = "  "
_WIDEST = 100


@click.command()
@click.option("--from", "source", metavar="FILE", default="", help="Read only this file: a Procfile, a Compose file, …")
@click.option("--force", is_flag=True, help="Overwrite an existing app file.")
@click.option("--dry-run", is_flag=True, help="Print the app file without writing any file.")
def init(source: str, force: bool, dry_run: bool) -> None:
    """Write setpoint.yaml from the files in the directory.

    Converts one file: a Compose file, process-compose.yaml, Procfile or skaffold.yaml; others are left alone. Without
    one, reads package.json, pyproject.toml, manage.py, go.mod, Cargo.toml and Dockerfiles in this directory and one
    level below. Guesses are reported and marked with comments in the file.
    """
    from setpoint.app.from_compose.reading import read_text
    from setpoint.app.init.propose import propose
    from setpoint.app.reader import FILES, in_directory

    directory, listing, chosen = _listing(source)
    there = in_directory(directory)
    if there is not None and not force and not dry_run:
        raise Failure(f"{_shown(there)} already exists: overwrite with --force, or preview with --dry-run", CONFLICT)
    proposal = propose(listing, directory.name, directory, read_text, chosen)
    text = _COMMENT + proposal.text
    if dry_run:
        echo(text, nl=False)
        _print_findings(proposal, terminal(sys.stderr), err=True)
        return
    file = there or directory / FILES[0]
    _write(file, text)
    _print_findings(proposal, terminal())
    _conclude(file, proposal)


def _listing(source: str) -> tuple[Path, Mapping[str, str], str]:
    """Returns the directory of the app, the contents of the files that describe how to run it, and the file that the
    user chose, if any. Raises Failure."""
    from setpoint.app.init.directory import list_directory
    from setpoint.app.sources import kind_of

    place = Path(source or ".").resolve()
    if not place.exists():
        raise Failure(f"file {source} not found", NOT_FOUND)
    if place.is_dir():
        return place, list_directory(place), ""
    try:
        text = place.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"cannot read {source}: {getattr(error, 'strerror', None) or error}", NOT_FOUND) from None
    # The Python programs are read, too: they determine which files to watch.
    others = list_directory(place.parent)
    is_tool = place.name.startswith(("Procfile", "skaffold")) or place.suffix in (".yaml", ".yml")
    beside = {name: found for name, found in others.items() if name.endswith(".py") or (is_tool and name == ".env")}
    if not is_tool:
        return place.parent, {**beside, place.name: text}, ""
    name = place.name
    if kind_of(place) == "process-compose" and not name.startswith("process-compose"):
        name = f"process-compose-{name}"
    return place.parent, {**beside, name: text}, name


def _write(file: Path, text: str) -> None:
    from setpoint.app.schema import schema_text

    try:
        schema = file.parent / _SCHEMA
        schema.parent.mkdir(exist_ok=True)
        schema.write_text(schema_text())
        file.write_text(text)
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from None


def _print_findings(proposal: "Proposal", place: Terminal, *, err: bool = False) -> None:
    """Prints the findings and guesses, one per line."""
    if proposal.found:
        place.echo(f"found {', '.join(proposal.found)}", err=err)
    width = max((width_of(part.name) for part in proposal.parts), default=0)
    most = min(place.width or _WIDEST, _WIDEST)
    for part in proposal.parts:
        kind = "task   " if part.is_task else "service"
        line = f"{_INDENT}{part.name:<{width}}  {kind}  {part.runs}"
        place.echo(shortened(line, most), err=err)
        margin = _INDENT + " " * (width + 11)
        for comment in part.comments:
            for told in textwrap.wrap(comment, most - len(margin)):
                place.echo(place.paint(margin + told, "quiet"), err=err)
    for note in proposal.notes:
        place.echo(f"note: {note}", err=err)


def _conclude(file: Path, proposal: "Proposal") -> None:
    """Prints the missing prerequisites and the next command."""
    tasks = sum(part.is_task for part in proposal.parts)
    numbers = [counted(len(proposal.parts) - tasks, "service"), *([counted(tasks, "task")] if tasks else [])]
    echo(f"wrote {_shown(file)}: {' and '.join(numbers)}")
    if missing := _missing(file):
        echo("before the app can run:")
        for line in missing:
            echo(f"{_INDENT}{line}")
    echo("next: setpoint up" + ("" if file.parent == Path.cwd() else f" {_shown(file)}"))


def _missing(file: Path) -> list[str]:
    """Returns the prerequisites of the file that this machine lacks."""
    from setpoint.app.loader import load_app
    from setpoint.objects.typedyaml import Mistakes

    try:
        load_app(file, os.environ)
    except Mistakes as mistakes:
        return [str(each).replace(f"{file.parent}{os.sep}", "") for each in mistakes.found]
    return []


def _shown(file: Path) -> str:
    """Returns the path relative to the working directory if possible."""
    here = Path.cwd()
    return str(file.relative_to(here)) if file.is_relative_to(here) else str(file)
