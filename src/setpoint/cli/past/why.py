"""`setpoint why`: explains the state of an object, its dependencies, and the events that led to the state."""

from typing import TYPE_CHECKING

import click

from setpoint.cli.output.formats import Form, output_option, write_tree
from setpoint.cli.past import target
from setpoint.cli.support.completion import kinds_and_names
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import NOT_FOUND

if TYPE_CHECKING:
    from setpoint.cli.past.target import Times
    from setpoint.client.client import Client
    from setpoint.objects.tree import Object
    from setpoint.past.object_ref import ObjectReference
    from setpoint.past.why.explanation import Explanation
    from setpoint.past.why.explanation_text import Meaning

# A controller is reported as lagging if objects have waited for longer than this.
_LONG_SECONDS = 2.0


@click.command()
@click.argument("what", metavar="KIND/NAME | NAME", nargs=-1, required=True, shell_complete=kinds_and_names)
@click.option(
    "--at",
    "when",
    metavar="WHEN",
    default="",
    help="Explain the state as of a revision or time, such as 14:03 or 5m (ago).",
)
@output_option("json", "yaml")
@server_options
def why(what: tuple[str, ...], when: str, form: Form, server: Server) -> None:
    """Explain the current state of an object.

    Shows the state and its duration, unmet dependencies, failing probes, the exit status and the next restart, the
    writes and reconciles that led to the state, the last output, and hints.

    \b
      setpoint why api
      setpoint why deployment/web -n shop
      setpoint why namespace/old -o json
    """
    code = run(_why(what, when, form, server))
    if code:
        raise SystemExit(code)


async def _why(what: tuple[str, ...], when: str, form: Form, server: Server) -> int:
    from msgspec.structs import replace

    from setpoint.past.queries import current_user, revision_at
    from setpoint.past.why.explain import explain
    from setpoint.past.why.fact_collector import collect

    async with connect(server) as client:
        with target.history_failures():
            times = target.Times.of(client)
            place = await target.find(client, what)
            moment = times.moment(when)
            at = await revision_at(client, moment) if moment is not None else None
            facts = await collect(client, place, me=await current_user(client), at=at)
            if at is not None and facts.history:
                facts = replace(facts, now=(moment.time if moment else None) or facts.history[-1].time)
        explanation = explain(facts)
        if at is None:
            explanation = replace(explanation, details=(*explanation.details, *await _hampered(client, place)))
    _print(explanation, form, times)
    return NOT_FOUND if explanation.verdict == "gone" else 0


async def _hampered(client: "Client", place: "ObjectReference") -> list[str]:
    """Returns the problems of the controllers of this kind, as far as the server reports them."""
    from setpoint.objects.errors import APIError
    from setpoint.past.trace import kind_name
    from setpoint.session.controllers.status_query import read_status

    try:
        return hampered((await read_status(client)).hosted, kind_name(place))
    except APIError:  # the server does not report controllers, or the user may not ask
        return []


def hampered(rows: "list[Object]", kind: str) -> list[str]:
    """Returns the reasons why controllers of a kind (`Kind.group`) do not process its objects."""
    from setpoint.objects.duration import measured

    found = []
    for row in rows:
        if row["kind"] != kind:
            continue
        if row["state"] == "Blocked":
            found.append(f"its controller {row['name']} {row['note']}")
        elif row["lagSeconds"] >= _LONG_SECONDS:
            waited = measured(row["lagSeconds"])
            found.append(
                f"its controller {row['name']} is behind: {row['queue']} objects are queued, the oldest for {waited}"
            )
    return found


def _print(explanation: "Explanation", form: Form, times: "Times") -> None:
    if not form.is_table:
        write_tree(explanation.to_json(), form)
        return
    from setpoint.cli.output.terminal import harmless, terminal
    from setpoint.past.why.explanation_text import render

    place = terminal()

    def paint(text: str, meaning: "Meaning") -> str:
        return place.paint(harmless(text), meaning)

    text = render(explanation, width=place.width, zone=times.zone, now=times.now, paint=paint)
    place.echo(text.rstrip("\n"))
