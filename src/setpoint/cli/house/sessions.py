"""`setpoint sessions`: which apps run on this machine, and what is left of those that ended badly."""

import os

import click

from setpoint.cli.printing.output import Form, output_option, write_tree
from setpoint.cli.printing.table import Cell, render
from setpoint.cli.printing.terminal import terminal


@click.command()
@output_option("json", "yaml", "name")
def sessions(form: Form) -> None:
    """Show which apps run on this machine."""
    from setpoint.cli.objects.tables import age
    from setpoint.objects.clock import SystemClock
    from setpoint.session.registry import Sessions

    known = Sessions.of(os.environ).all()
    if form.name == "name":
        for each in known:
            click.echo(each.id)
        return
    if form.name:
        shown = [
            {"id": each.id, "app": each.app, "directory": each.directory, "pid": each.pid, "url": each.url,
             "kubeconfig": each.kubeconfig, "dashboard": each.dashboard, "alive": each.is_alive}
            for each in known
        ]  # fmt: skip
        write_tree(shown, form)
        return
    if not known:
        click.echo("Nothing runs. `setpoint up` starts an app.", err=True)
        return
    place, now = terminal(), SystemClock().now()
    rows: list[list[str | Cell]] = [
        [
            each.id,
            each.app,
            Cell("Running", "good") if each.is_alive else Cell("Dead", "bad"),
            age(each.started, now),
            each.directory,
            each.dashboard or each.url,
        ]
        for each in known
    ]
    place.echo("\n".join(render(("SESSION", "APP", "STATE", "AGE", "DIRECTORY", "URL"), rows, place)))
