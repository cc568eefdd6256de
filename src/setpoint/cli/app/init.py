"""`setpoint init`: an app file for a directory, from what says already how its app is run."""

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
@click.option("--from", "source", metavar="FILE", default="", help="Only from this: a Procfile, a Compose file, …")
@click.option("--force", is_flag=True, help="Write over the app file that is there.")
@click.option("--dry-run", is_flag=True, help="Print the file, and write nothing.")
def init(source: str, force: bool, dry_run: bool) -> None:
    """Write setpoint.yaml, from what the directory has.

    A Compose file, a Procfile, package.json, pyproject.toml, manage.py, go.mod, Cargo.toml and Dockerfiles say how an
    app is run, here and one directory below. What was guessed is named, and stands as a comment in the file.
    """
    from setpoint.app.init.propose import propose
    from setpoint.app.reader import FILES, in_directory

    directory, listing = _listing(source)
    there = in_directory(directory)
    if there is not None and not force and not dry_run:
        raise Failure(f"{_shown(there)} is there already: --force writes over it, --dry-run shows a new one", CONFLICT)
    proposal = propose(listing, directory.name)
    text = _COMMENT + proposal.text
    if dry_run:
        echo(text, nl=False)
        _tell(proposal, terminal(sys.stderr), err=True)
        return
    file = there or directory / FILES[0]
    _write(file, text)
    _tell(proposal, terminal())
    _conclude(file, proposal)


def _listing(source: str) -> tuple[Path, Mapping[str, str]]:
    """Where the app is, and what says how it is run. Raises Failure."""
    from setpoint.app.init.directory import COMPOSE_FILES, look

    place = Path(source or ".").resolve()
    if not place.exists():
        raise Failure(f"there is no file {source}", NOT_FOUND)
    if place.is_dir():
        return place, look(place)
    try:
        text = place.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{source} cannot be read: {getattr(error, 'strerror', None) or error}", NOT_FOUND) from None
    known = place.name
    if place.suffix in (".yaml", ".yml"):
        known = COMPOSE_FILES[0]
    elif place.name.startswith("Procfile"):
        known = "Procfile"
    # Its programs are looked at, too: they say what to watch.
    programs = {name: found for name, found in look(place.parent).items() if name.endswith(".py")}
    aside = programs if known == "Procfile" or known in ("pyproject.toml", "requirements.txt") else {}
    return place.parent, {**aside, known: text}


def _write(file: Path, text: str) -> None:
    from setpoint.app.schema import schema_text

    try:
        schema = file.parent / _SCHEMA
        schema.parent.mkdir(exist_ok=True)
        schema.write_text(schema_text())
        file.write_text(text)
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from None


def _tell(proposal: "Proposal", place: Terminal, *, err: bool = False) -> None:
    """What was found and guessed, line by line."""
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
    """What to see to before it can run, and the next command."""
    tasks = sum(part.is_task for part in proposal.parts)
    numbers = [counted(len(proposal.parts) - tasks, "service"), *([counted(tasks, "task")] if tasks else [])]
    echo(f"wrote {_shown(file)}: {' and '.join(numbers)}")
    if missing := _missing(file):
        echo("before it can run:")
        for line in missing:
            echo(f"{_INDENT}{line}")
    echo("next: setpoint up" + ("" if file.parent == Path.cwd() else f" {_shown(file)}"))


def _missing(file: Path) -> list[str]:
    """What the file needs and this machine does not have."""
    from setpoint.app.loader import load_app
    from setpoint.objects.typedyaml import Mistakes

    try:
        load_app(file, os.environ)
    except Mistakes as mistakes:
        return [str(each).replace(f"{file.parent}{os.sep}", "") for each in mistakes.found]
    return []


def _shown(file: Path) -> str:
    """A path as people would write it from here."""
    here = Path.cwd()
    return str(file.relative_to(here)) if file.is_relative_to(here) else str(file)
