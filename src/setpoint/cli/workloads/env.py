"""`setpoint env`: shows the environment variables of a workload and their origin."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.output.terminal import echo, terminal
from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import Failure

if TYPE_CHECKING:
    from setpoint.objects.tree import Object


@click.command()
@click.argument("name", shell_complete=workload_names)
@click.option("-a", "--all", "everything", is_flag=True, help="Include inherited variables.")
@click.option("--show-secrets", is_flag=True, help="Do not mask values that look like secrets.")
@output_option("json", "yaml")
@server_options
def env(name: str, everything: bool, show_secrets: bool, form: Form, server: Server) -> None:
    """Show the environment variables of a workload and their origin.

    The server does not disclose values from Secrets. Values that look like secrets (passwords, tokens, keys) are
    masked.
    """
    run(_env(server, name, everything, show_secrets, form))


async def _env(server: Server, name: str, everything: bool, show_secrets: bool, form: Form) -> None:
    from setpoint.cli.output.table import Cell, render
    from setpoint.cli.workloads.inventory import find, outputs, read_workloads

    async with connect(server) as client:
        [chosen, *_] = find(await read_workloads(client), name)
    running = outputs(chosen)
    if not running:
        raise Failure(f"{name} has no process yet, and thus no environment")
    variables = variables_of(running[0].tree, show_secrets=show_secrets)
    shown = [each for each in variables if everything or each["source"] != "inherited"]
    if form.name:
        write_tree(shown, form)
        return
    if not shown:
        echo(f"{name} sets no environment variables itself; use --all to include inherited ones.", err=True)
        return
    place = terminal()
    rows = [[each["name"], each["value"], Cell(each["from"], "quiet")] for each in shown]
    place.echo("\n".join(render(("NAME", "VALUE", "FROM"), rows, place)))


def variables_of(tree: "Object", *, show_secrets: bool = False) -> "list[Object]":
    """Returns the variables of a workload with value, source (`spec`, `file` or `inherited`) and a description of the
    origin.
    """
    from setpoint.past.secret_mask import masked

    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    declared = {each["name"]: each.get("value", "") for each in spec.get("env") or ()}
    files = _names_in(spec.get("envFiles") or ())
    effective = {each["name"]: each.get("value", "") for each in status.get("effectiveEnv") or ()} or declared
    variables = [{"name": name, "value": value} for name, value in sorted(effective.items())]
    shown = variables if show_secrets else masked({"env": variables})["env"]
    found = []
    for name, value, text in ((each["name"], effective[each["name"]], each["value"]) for each in shown):
        source, words = "inherited", "inherited"
        if name in declared:
            source = "spec"
            words = (
                "spec.env" if declared[name] == value or "{{" not in declared[name] else f"spec.env: {declared[name]}"
            )
        elif name in files:
            source, words = "file", files[name]
        found.append({"name": name, "value": text, "source": source, "from": words})
    return found


def _names_in(files: Iterable[str]) -> dict[str, str]:
    """Returns the last file that defines each variable. Files that cannot be read are skipped."""
    from setpoint.workload.dotenv import DotenvError, parse

    found: dict[str, str] = {}
    for file in files:
        try:
            found |= dict.fromkeys(parse(Path(file).read_text("utf-8"), {}), file)
        except (OSError, UnicodeDecodeError, DotenvError):
            continue
    return found
