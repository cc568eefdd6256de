"""`setpoint clean`: removes leftovers of ended sessions and checks that no process is left running."""

import os
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo
from setpoint.cli.output.words import counted, enumerated, in_bytes
from setpoint.cli.support.connection import run
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import FAILED, Failure

if TYPE_CHECKING:
    from setpoint.session.cleanup import Cleaned, Plan


@click.command()
@click.option(
    "-a",
    "--all",
    "everything",
    is_flag=True,
    help="Clean up after all apps. By default, only the app of this directory and crashed sessions.",
)
@click.option(
    "--kept", is_flag=True, help="Also remove objects marked `keep: true`: processes, containers, networks, volumes."
)
@click.option("--dry-run", is_flag=True, help="Only print the changes that would be made.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation before removing kept objects.")
@output_option("json", "yaml")
def clean(everything: bool, kept: bool, dry_run: bool, yes: bool, form: Form) -> None:
    """Remove leftovers of ended sessions: processes, containers, stores and logs.

    Leftovers of crashed sessions are always removed. The history of an ended app, which `setpoint export` can still
    read, is removed only in the app's directory or with --all. Running sessions are not touched. Objects marked `keep:
    true` are removed only with --kept.
    """
    plan = run(_plan(everything, kept))
    if kept and not dry_run and plan.kept and not yes:
        _confirm(plan)
    cleaned = None if dry_run else run(_clean(plan))
    if form.name:
        write_tree(_to_json(plan, cleaned), form)
    else:
        echo("\n".join(_lines(plan, cleaned)))
    if cleaned is not None and cleaned.problems:
        raise Failure(f"could not remove everything: {'; '.join(cleaned.problems)}", FAILED)


async def _plan(everything: bool, kept: bool) -> "Plan":
    from setpoint.objects.clock import SystemClock
    from setpoint.session.cleanup import Cleaning

    return await Cleaning(os.environ, SystemClock()).plan(None if everything else here(), kept=kept)


async def _clean(plan: "Plan") -> "Cleaned":
    from setpoint.cli.output.progress import progress
    from setpoint.objects.clock import SystemClock
    from setpoint.session.cleanup import Cleaning

    clock = SystemClock()
    async with progress("cleaning up", clock):
        return await Cleaning(os.environ, clock).clean(plan)


def _confirm(plan: "Plan") -> None:
    """Asks for confirmation before removing kept objects. Raises Failure if the user declines."""
    names = ", ".join(f"{each.kind} {each.name}" for each in plan.kept)
    echo(f"marked to be kept: {names}", err=True)
    if not click.confirm("Remove these and all their data?", err=True):
        raise Failure("aborted; no object was removed")


def _lines(plan: "Plan", cleaned: "Cleaned | None") -> list[str]:
    done = cleaned is not None
    end = "" if done else "; its leftovers would be removed"
    lines = [f"session {session.id} ended unexpectedly{end}" for session in plan.crashed]
    left = cleaned.left if cleaned is not None else plan.left
    if any(left):
        lines.append(f"{'stopped and removed' if done else 'would stop and remove'} {enumerated(left.counts)}")
    for place in plan.directories:
        freed = in_bytes(place.size)
        lines.append(f"{'removed' if done else 'would remove'} the data of {place.name}: {freed} in {place.path}")
    if plan.kept:
        what = enumerated(plan.kept_counts)
        if done:
            removed = enumerated(cleaned.removed) if cleaned is not None else ""
            lines.append(f"removed kept objects: {removed or 'none'}")
        else:
            lines.append(f"would remove kept objects: {what}")
    total = sum(place.size for place in plan.directories)
    if len(plan.directories) > 1:
        lines.append(f"{'freed' if done else 'would free'} {in_bytes(total)}")
    if not done:
        return lines or ["no leftovers found"]
    assert cleaned is not None
    checked = enumerated(cleaned.checked) or "no process"
    others = f"; {counted(plan.running, 'session')} still running, not touched" if plan.running else ""
    lines.append(f"nothing left running ({checked} checked){others}" if not any(cleaned.still) else _still(cleaned))
    return lines


def _still(cleaned: "Cleaned") -> str:
    return f"left running: {', '.join(name for names in cleaned.still for name in names)}"


def _to_json(plan: "Plan", cleaned: "Cleaned | None") -> dict[str, Any]:
    left = cleaned.left if cleaned is not None else plan.left
    tree: dict[str, Any] = {
        "dryRun": cleaned is None,
        "crashed": [session.id for session in plan.crashed],
        "left": left._asdict(),
        "directories": [{"name": each.name, "path": each.path, "bytes": each.size} for each in plan.directories],
        "kept": [{"kind": each.kind, "name": each.name} for each in plan.kept],
        "freedBytes": sum(place.size for place in plan.directories),
    }
    if cleaned is not None:
        tree |= {
            "removed": cleaned.removed,
            "checked": cleaned.checked,
            "stillRunning": [name for names in cleaned.still for name in names],
            "problems": list(cleaned.problems),
        }
    return tree
