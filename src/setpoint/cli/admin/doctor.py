"""`setpoint doctor`: checks this machine for problems and prints a remedy for each."""

import os
import textwrap
from collections.abc import Mapping

import click

from setpoint.cli.admin.doctor_finding import Finding, Verdict
from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import Meaning, Terminal, echo, terminal
from setpoint.cli.support.connection import Server, run, server_options
from setpoint.cli.support.errors import FAILED, Failure

_MEANINGS: dict[Verdict, Meaning] = {"ok": "good", "warning": "pending", "problem": "bad"}
_WORD = max(map(len, _MEANINGS))


@click.command()
@click.option("--fix", is_flag=True, help="Clean up after crashed sessions and remove stale files.")
@output_option("json", "yaml")
@server_options
def doctor(fix: bool, form: Form, server: Server) -> None:
    """Check this machine for problems and print a remedy for each.

    Exits with code 1 if a problem was found. Warnings do not change the exit code.
    """
    if fix:
        _fix()
    findings = run(examine(os.environ, server))
    if form.name:
        write_tree([each._asdict() for each in findings], form)
    else:
        place = terminal()
        place.echo("\n".join(_lines(findings, place)))
    failed = [each.name for each in findings if each.verdict == "problem"]
    if failed:
        raise Failure(f"problems found: {', '.join(failed)}", FAILED)


async def examine(environ: Mapping[str, str], server: Server) -> list[Finding]:
    """Runs all checks and returns their findings."""
    from setpoint.cli.admin.doctor_environment import check_environment
    from setpoint.cli.admin.doctor_machine import check
    from setpoint.objects.clock import SystemClock

    now = SystemClock().now()
    return [*check(environ, now), *await check_environment(environ, server, now)]


def _fix() -> None:
    from setpoint.cli.admin.doctor_environment import is_stale
    from setpoint.cli.support.crash_cleanup import UNTIL_GONE, clean_crashed
    from setpoint.session.registry import state_directory

    clean_crashed(timeout=UNTIL_GONE)
    path = state_directory(os.environ) / "kubeconfig"
    if is_stale(path):
        path.unlink(missing_ok=True)
        echo(f"removed {path}: its server is no longer running", err=True)


def _lines(findings: list[Finding], place: Terminal) -> list[str]:
    width = max(len(each.name) for each in findings)
    indent = width + _WORD + 4
    found = []
    for each in findings:
        head = f"{place.paint(f'{each.verdict:<{_WORD}}', _MEANINGS[each.verdict])}  {each.name:<{width}}  "
        first, *rest = _wrapped(each.says, indent, place) or [""]
        found += [f"{head}{first}", *(f"{' ' * indent}{line}" for line in rest)]
        for number, line in enumerate(_wrapped(each.remedy, indent + 2, place)):
            found.append(f"{' ' * indent}{place.paint(('→ ' if number == 0 else '  ') + line, 'heading')}")
    return found


def _wrapped(text: str, indent: int, place: Terminal) -> list[str]:
    if place.width is None:
        return [text] if text else []
    return textwrap.wrap(text, max(20, place.width - indent), break_long_words=False, break_on_hyphens=False)
