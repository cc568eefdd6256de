"""`setpoint at`: runs a read-only command as of a moment in the past."""

import click

from setpoint.cli.past import target
from setpoint.cli.support.connection import Server, connect, run, server_options
from setpoint.cli.support.errors import USAGE, Failure

# The commands that can read the past. The others write, follow, or concern only the present.
_COMMANDS = ("get", "describe", "ps", "url", "env", "why", "blame")
_WITH_MOMENT = ("why", "blame")


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("when", metavar="WHEN")
@click.argument("command", metavar="COMMAND [ARGUMENTS]...", nargs=-1, required=True, type=click.UNPROCESSED)
@server_options
@click.pass_context
def at(ctx: click.Context, when: str, command: tuple[str, ...], server: Server) -> None:
    """Run a read-only command as of a revision or time, such as 14:03 or 5m (ago). Secret values are masked.

    \b
      setpoint at 14:03 ps
      setpoint at 5m get executables
      setpoint at 218 get exe/api -o yaml
      setpoint at 218 configmap/settings
    """
    name, arguments = (command[0], list(command[1:])) if command[0] in _COMMANDS else ("get", list(command))
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    if name == "get" and command[0] != "get" and group.get_command(ctx, command[0]) is not None:
        raise Failure(f"`{command[0]}` cannot read the past; available commands: {', '.join(_COMMANDS)}", USAGE)
    chosen = group.get_command(ctx, name)
    assert chosen is not None
    # The server options may follow the inner command, as without `at`.
    with chosen.make_context(name, list(arguments), parent=ctx) as inner:
        given = {field: inner.params.get(field) or "" for field in ("kubeconfig", "context", "namespace", "session")}
    server = Server(**given).over(server)
    revision, then = run(_moment(when, server))
    if name in _WITH_MOMENT:
        arguments += ["--at", str(revision)]
    else:
        ctx.obj = server._replace(at=str(revision), then=then)
    with chosen.make_context(name, arguments, parent=ctx) as inner:
        chosen.invoke(inner)


async def _moment(when: str, server: Server) -> tuple[int, str]:
    """Returns the revision of a moment, and its time."""
    from setpoint.objects.times import format_micro_time
    from setpoint.past.queries import read_log, revision_at

    async with connect(server) as client:
        with target.history_failures():
            moment = target.Times.of(client).moment(when)
            found = await revision_at(client, moment) if moment is not None else None
            if moment is None or found is None:
                raise Failure("`now` needs no `at`: run the command without it", USAGE)
            if moment.time is not None:
                return found, format_micro_time(moment.time)
            # If this revision was compacted, the time of the next one is close enough for showing ages.
            written = await read_log(client, found - 1, 1)
            return found, written[0]["time"] if written else ""
