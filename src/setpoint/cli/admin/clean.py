"""`setpoint clean`: clears away what sessions that have ended left, and looks that nothing is left running."""

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
    "-a", "--all", "everything", is_flag=True, help="Of every app; otherwise of this directory and of crashes."
)
@click.option("--kept", is_flag=True, help="Also what was marked to be kept: processes, containers, networks, volumes.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before what is kept goes.")
@output_option("json", "yaml")
def clean(everything: bool, kept: bool, dry_run: bool, yes: bool, form: Form) -> None:
    """Clear away what sessions that have ended left: processes, containers, and their stores and logs.

    What an app left that ended unexpectedly is always cleared away. The past of an app that has ended, which `setpoint
    export` still could write, goes when this is called in its directory, or with --all. Sessions that run are not
    touched. What is marked `keep: true` stays, unless --kept is given.
    """
    plan = run(_plan(everything, kept))
    if kept and not dry_run and plan.kept and not yes:
        _ask(plan)
    cleaned = None if dry_run else run(_clean(plan))
    if form.name:
        write_tree(_told(plan, cleaned), form)
    else:
        echo("\n".join(_lines(plan, cleaned)))
    if cleaned is not None and cleaned.problems:
        raise Failure(f"not everything went: {'; '.join(cleaned.problems)}", FAILED)


async def _plan(everything: bool, kept: bool) -> "Plan":
    from setpoint.objects.clock import SystemClock
    from setpoint.session.cleanup import Cleaning

    return await Cleaning(os.environ, SystemClock()).plan(None if everything else here(), kept=kept)


async def _clean(plan: "Plan") -> "Cleaned":
    from setpoint.cli.output.progress import progress
    from setpoint.objects.clock import SystemClock
    from setpoint.session.cleanup import Cleaning

    clock = SystemClock()
    async with progress("clearing away", clock):
        return await Cleaning(os.environ, clock).clean(plan)


def _ask(plan: "Plan") -> None:
    """What was to be kept goes only when that is meant."""
    names = ", ".join(f"{each.kind} {each.name}" for each in plan.kept)
    echo(f"kept on purpose: {names}", err=True)
    if not click.confirm("Remove these as well, with all that is in them?", err=True):
        raise Failure("nothing was cleared away")


def _lines(plan: "Plan", cleaned: "Cleaned | None") -> list[str]:
    done = cleaned is not None
    end = "" if done else "; it would be cleared up after"
    lines = [f"session {session.id} ended unexpectedly{end}" for session in plan.crashed]
    left = cleaned.left if cleaned is not None else plan.left
    if any(left):
        lines.append(f"{'stopped and removed' if done else 'would stop and remove'} {enumerated(left.counts)}")
    for place in plan.directories:
        freed = in_bytes(place.size)
        lines.append(f"{'removed' if done else 'would remove'} what is kept of {place.name}: {freed} in {place.path}")
    if plan.kept:
        what = enumerated(plan.kept_counts)
        if done:
            removed = enumerated(cleaned.removed) if cleaned is not None else ""
            lines.append(f"removed what was kept on purpose: {removed or 'nothing'}")
        else:
            lines.append(f"would remove what is kept on purpose: {what}")
    total = sum(place.size for place in plan.directories)
    if len(plan.directories) > 1:
        lines.append(f"{'freed' if done else 'would free'} {in_bytes(total)}")
    if not done:
        return lines or ["nothing to clear away"]
    assert cleaned is not None
    checked = enumerated(cleaned.checked) or "no process"
    others = f"; {counted(plan.running, 'session')} of yours run and were not touched" if plan.running else ""
    lines.append(f"nothing left running ({checked} checked){others}" if not any(cleaned.still) else _still(cleaned))
    return lines


def _still(cleaned: "Cleaned") -> str:
    return f"left running: {', '.join(name for names in cleaned.still for name in names)}"


def _told(plan: "Plan", cleaned: "Cleaned | None") -> dict[str, Any]:
    left = cleaned.left if cleaned is not None else plan.left
    told: dict[str, Any] = {
        "dryRun": cleaned is None,
        "crashed": [session.id for session in plan.crashed],
        "left": left._asdict(),
        "directories": [{"name": each.name, "path": each.path, "bytes": each.size} for each in plan.directories],
        "kept": [{"kind": each.kind, "name": each.name} for each in plan.kept],
        "freedBytes": sum(place.size for place in plan.directories),
    }
    if cleaned is not None:
        told |= {
            "removed": cleaned.removed,
            "checked": cleaned.checked,
            "stillRunning": [name for names in cleaned.still for name in names],
            "problems": list(cleaned.problems),
        }
    return told
