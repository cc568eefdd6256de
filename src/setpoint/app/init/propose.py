"""Proposes an app file for a directory."""

from setpoint.app.init import compose, guesses, procfile
from setpoint.app.init.directory import Listing
from setpoint.app.init.draft import Draft, Proposal
from setpoint.app.reader import app_name
from setpoint.workload import dotenv

_SHOWN = 8


def propose(listing: Listing, directory_name: str) -> Proposal:
    """Returns an app file converted from the Compose file and the Procfile, if there are any; with guesses if those run
    no program of the directory; or a minimal example."""
    draft = Draft()
    compose.convert(listing, draft)
    builds = any("build" in fields for fields in draft.services.values())
    has_compose = bool(draft.found)
    procfile.convert(listing, draft)
    runs = builds or any("run" in fields for fields in draft.services.values())
    if not runs:
        guesses.propose_programs(listing, draft)
    if not draft.services and not draft.tasks:
        _begin(draft)
    _wait_for_containers(draft, has_compose and not builds)
    _mention_variables(listing, draft)
    return draft.proposal(app_name(directory_name))


def _begin(draft: Draft) -> None:
    draft.note("no known project file was found; this is an example")
    draft.service(
        "web",
        {"run": "python3 -m http.server ${port.http}", "ports": {"http": "auto"}, "ready": "/"},
        "Any command. ${port.http} is a free port, remembered from run to run.",
    )


def _wait_for_containers(draft: Draft, from_compose: bool) -> None:
    """Makes programs wait for the containers of a Compose file."""
    containers = [name for name, fields in draft.services.items() if "run" not in fields and not fields.get("profiles")]
    if not from_compose or not containers:
        return
    for name, fields in draft.services.items():
        if "run" in fields and "after" not in fields:
            fields["after"] = containers
            draft.comments[name].append(f"Guessed: depends on {', '.join(containers)}; see ${{services.NAME.url}}.")


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
