"""Proposes an app file for a directory."""

from pathlib import Path

from setpoint.app.compose.project import Reader
from setpoint.app.init import compose, guesses, process_compose, procfile, skaffold
from setpoint.app.init.directory import Listing
from setpoint.app.init.draft import Draft, Proposal
from setpoint.app.reader import app_name
from setpoint.app.sources import COMPOSE_FILES, PROCESS_COMPOSE_FILES, PROCFILES
from setpoint.workload import dotenv

_SHOWN = 8
SKAFFOLD_FILES = ("skaffold.yaml", "skaffold.yml")
_TOOLS = (COMPOSE_FILES, PROCESS_COMPOSE_FILES, PROCFILES, SKAFFOLD_FILES)


def propose(
    listing: Listing, directory_name: str, directory: Path | None = None, read: Reader | None = None, chosen: str = ""
) -> Proposal:
    """Returns an app file converted from one file of another tool; with guesses if there is none; or a minimal example.
    `read` reads the other files that this file names, and `chosen` is the file to convert. Other files are left alone,
    with a note."""
    draft = Draft()
    place = directory or Path("/", directory_name)
    read = read or (lambda path: listing.get(path.removeprefix(f"{place}/")))
    sources = [name for names in _TOOLS for name in names if name in listing]
    converted = ""
    for name in [chosen] if chosen else sources:
        if _convert(name, listing, place, read, draft):
            converted = name
            break
    if not converted:
        guesses.propose_programs(listing, draft)
    if not draft.services and not draft.tasks:
        _begin(draft)
    left = [name for name in sources if converted and name not in draft.found and not chosen]
    if converted and not chosen and not any("build" in each or "run" in each for each in draft.services.values()):
        programs = Draft()
        guesses.propose_programs(listing, programs)
        left += programs.found
    if left:
        draft.note(f"{', '.join(left)} left alone; `setpoint init --from {left[0]}` converts that file instead")
    _mention_variables(listing, draft)
    return draft.proposal(app_name(directory_name))


def _convert(name: str, listing: Listing, place: Path, read: Reader, draft: Draft) -> bool:
    """Converts a file of another tool. Returns False if the file is invalid."""
    if name in PROCESS_COMPOSE_FILES or name.startswith("process-compose"):
        return process_compose.convert(name, listing, draft)
    if name.startswith("Procfile"):
        procfile.convert(name, listing, draft)
        return bool(draft.services or draft.tasks)
    if name.startswith("skaffold"):
        return skaffold.convert(name, place, read, draft)
    return compose.convert(name, place, read, draft)


def _begin(draft: Draft) -> None:
    draft.note("no known project file was found; this is an example")
    draft.service(
        "web",
        {"run": "python3 -m http.server ${port.http}", "ports": {"http": "auto"}, "ready": "/"},
        "Any command. ${port.http} is a free port, remembered from run to run.",
    )


def _mention_variables(listing: Listing, draft: Draft) -> None:
    if ".env" not in listing:
        return
    try:
        names = list(dotenv.parse(listing[".env"], {}))
    except dotenv.DotenvError as error:
        draft.note(f"cannot read .env: {error}")
        return
    if names:
        more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
        shown = ", ".join(f"${{env.{name}}}" for name in names[:_SHOWN])
        draft.note(f"the variables of .env can be used as {shown}{more}")
