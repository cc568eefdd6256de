"""Converts Procfiles, as read by foreman, honcho and overmind: a name and a command per line."""

import re

from setpoint.app.init.directory import Listing
from setpoint.app.init.draft import Draft, python_files
from setpoint.app.procfile_lines import lines, reads_port
from setpoint.app.reader import app_name
from setpoint.app.references import written
from setpoint.objects.tree import Object

# Commands that reload by themselves after changes.
_RELOADS = re.compile(
    r"--reload\b|--watch\b|--debug\b|\bnodemon\b|\bwatchexec\b|\bentr\b|\bair\b|runserver(?!.*--noreload)"
)
_SOURCE = re.compile(r"(?:^|\s)([\w./-]+\.py)(?=\s|$)")


def convert(file: str, listing: Listing, draft: Draft) -> None:
    """Converts the processes of the Procfile."""
    draft.record_source(file)
    release = ""
    for line in lines(listing[file]):
        name, run = app_name(line.name), written(line.command)
        fields: Object = {"run": run}
        if ".env" in listing:
            # The tools that run Procfiles load the variables of .env.
            fields["env_file"] = ".env"
        if name == "release":
            release = name
            draft.task(name, {**fields, "auto": True}, "The release phase: runs before the services.")
            continue
        comments = []
        if reads_port(line):
            fields |= {"env": {"PORT": "${port.http}"}, "ports": {"http": "auto"}}
            comments.append("Gets a free port as $PORT; `setpoint url` shows the address.")
        if (watched := _sources(line.command, listing)) is not None:
            fields["watch"] = python_files(watched)
            comments.append("Restarted when a file changes.")
        draft.service(name, fields, *comments)
    if release:
        for fields in draft.services.values():
            fields.setdefault("after", release)


def _sources(command: str, listing: Listing) -> str | None:
    """Returns the directory of the source files to watch, or None if the command reloads by itself."""
    found = _SOURCE.search(command)
    if found is None or found[1].removeprefix("./") not in listing or _RELOADS.search(command):
        return None
    directory, slash, _ = found[1].removeprefix("./").rpartition("/")
    return f"{directory}{slash}"
