"""Converts files of process-compose for an app file."""

from setpoint.app.from_process_compose import DISABLED, converted
from setpoint.app.init.directory import Listing
from setpoint.app.init.draft import Draft
from setpoint.objects import typedyaml
from setpoint.objects.typedyaml import Mistakes


def convert(file: str, listing: Listing, draft: Draft) -> bool:
    """Converts the processes of the file. Returns False if the file is invalid."""
    try:
        tree, notes = converted(typedyaml.read(listing[file], file), None, has_env_file=".env" in listing)
    except Mistakes as mistakes:
        draft.note(f"{mistakes.found[0]}; the file was ignored")
        return False
    draft.record_source(file)
    env = tree.get("env") or {}
    for section, add in (("services", draft.service), ("tasks", draft.task)):
        for name, fields in tree.get(section, {}).items():
            made = {**fields, "env": {**env, **fields.get("env", {})}}
            comments = [f"Starts with `--profile {DISABLED}`."] if fields.get("profiles") else []
            add(name, {key: value for key, value in made.items() if value}, *comments)
    for note in notes:
        draft.note(f"{note.where}: {note.path}: {note.message}")
    return True
