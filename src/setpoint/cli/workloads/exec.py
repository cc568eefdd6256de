"""`setpoint exec`: executes a command in a running container, or beside a running process of a service."""

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from setpoint.cli.support.completion import workload_names
from setpoint.cli.support.connection import FIELD_MANAGER, Server, connect, run, server_options
from setpoint.cli.support.errors import NOT_FOUND, USAGE, Failure

if TYPE_CHECKING:
    from setpoint.cli.workloads.inventory import Workload
    from setpoint.client.client import Client

_PODS = ("pod", "pods", "po")


class ExecOptions(NamedTuple):
    """The options of `setpoint exec`."""

    stdin: bool
    tty: bool
    env: tuple[str, ...]
    directory: str
    user: str
    replica: int | None
    container: str


@click.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-i", "--stdin", is_flag=True, help="Pass stdin to the command. [default: with a terminal]")
@click.option("-t", "--tty", is_flag=True, help="Use a terminal. [default: if stdin and stdout are one]")
@click.option("-T", "--no-tty", is_flag=True, help="Pass stdin, but do not use a terminal.")
@click.option("-e", "--env", multiple=True, metavar="NAME=VALUE", help="Set a variable (repeatable).")
@click.option("-w", "--workdir", "directory", default="", metavar="DIR", help="Working directory of the command.")
@click.option("-u", "--user", default="", metavar="NAME", help="User of the command, in a container.")
@click.option("--index", type=click.IntRange(min=1), metavar="NUMBER", help="Number of the replica. [default: 1]")
@click.option("-c", "--container", metavar="NAME", default="", help="Container name, if the pod has several.")
@server_options
@click.argument("name", shell_complete=workload_names)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def exec_(
    name: str,
    command: tuple[str, ...],
    stdin: bool,
    tty: bool,
    no_tty: bool,
    env: tuple[str, ...],
    directory: str,
    user: str,
    index: int | None,
    container: str,
    server: Server,
) -> None:
    """Execute a command in a running service: NAME, a replica api.2, or pod/NAME.

    In a container, the command runs in that container. For a process, a new process is started with the environment and
    the directory of the running one; the new process ends with the session at the latest. Exits with the exit code of
    the command.

    \b
      setpoint exec db psql -U postgres
      setpoint exec -T db psql shop < shop.sql
      setpoint exec api.2 -- env
    """
    words = command[1:] if command[:1] == ("--",) else command
    if not words:
        raise Failure("no command specified, e.g. setpoint exec db -- ls", USAGE)
    stdin, tty = terminal_options(stdin or no_tty, tty, no_tty)
    how = ExecOptions(stdin, tty, env, directory, user, index, container)
    sys.exit(run(_exec(server, name, words, how)))


def terminal_options(stdin: bool, tty: bool, no_tty: bool) -> tuple[bool, bool]:
    """Returns whether stdin is passed, and a terminal used: by default, if stdin and stdout are a terminal. Raises
    Failure."""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if tty and no_tty:
        raise Failure("-t and -T cannot be combined", USAGE)
    if tty and not is_terminal:
        raise Failure("-t requires a terminal: run without -t", USAGE)
    if no_tty or stdin or not is_terminal:
        return stdin or tty, tty
    return True, True


def variables(given: tuple[str, ...]) -> dict[str, str]:
    """Returns the variables of -e. A name without a value has the value in the environment. Raises Failure."""
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name:
            raise Failure(f"-e: invalid variable {each!r}: expected NAME=VALUE or NAME", USAGE)
        if equals:
            found[name] = value
        elif name in os.environ:
            found[name] = os.environ[name]
    return found


async def _exec(server: Server, name: str, words: tuple[str, ...], how: ExecOptions) -> int:
    from setpoint.cli.workloads.exec_attach import talk
    from setpoint.cli.workloads.inventory import ref

    env = variables(how.env)
    async with connect(server) as connected:
        client = connected.with_options(field_manager=f"{FIELD_MANAGER} exec")
        kind, _, bare = name.rpartition("/")
        if kind in _PODS:
            path = f"/api/v1/namespaces/{connected.namespace}/pods/{bare}/exec"
            return await talk(client, path, _query(words, {}, how), stdin=how.stdin, tty=how.tty)
        workload = await _replica(client, name, how.replica)
        if workload.kind == "Container":
            path = (await client.resource(ref("Container"))).path(name=workload.name, subresource="exec")
            return await talk(client, path, _query(words, env, how), stdin=how.stdin, tty=how.tty)
        return await _beside(client, workload, words, env, how)


def _query(words: tuple[str, ...], env: dict[str, str], how: ExecOptions) -> list[tuple[str, str]]:
    found = [("command", word) for word in words]
    found += [("env", f"{name}={value}") for name, value in env.items()]
    found += [("workingDirectory", how.directory)] if how.directory else []
    found += [("user", how.user)] if how.user else []
    return found + ([("container", how.container)] if how.container else [])


async def _replica(client: "Client", name: str, index: int | None) -> "Workload":
    """Returns the process or container of a name. Raises Failure if there is none."""
    from setpoint.cli.workloads.inventory import find, outputs, read_workloads

    running = [output for each in find(await read_workloads(client), name) for output in outputs(each)]
    if index is not None:
        wanted = f".{index}"
        chosen = [each for each in running if each.called.endswith(wanted)] or (running if index == 1 else [])[:1]
        if not chosen:
            raise Failure(f"{name} has no replica {index}: {_names(running)}", NOT_FOUND)
        return chosen[0]
    if not running:
        raise Failure(f"{name} has no process yet; start it with `setpoint start {name}`", NOT_FOUND)
    return sorted(running, key=lambda each: (each.status.get("state") != "Running", each.called))[0]


def _names(workloads: "list[Workload]") -> str:
    return f"available: {', '.join(each.called for each in workloads)}" if workloads else "no replicas are running"


async def _beside(
    client: "Client", workload: "Workload", words: tuple[str, ...], env: dict[str, str], how: ExecOptions
) -> int:
    """Runs a command beside a process, as a new process. Returns its exit code. Raises Failure."""
    from setpoint.cli.app.one_off import run_one_off
    from setpoint.session.one_off import OneOff

    if workload.status.get("state") != "Running":
        raise Failure(
            f"{workload.called} is not running: {workload.judgement.text}; use `setpoint run --service` instead", USAGE
        )
    if how.user:
        raise Failure("-u applies to containers: a process has the user of the session", USAGE)
    options = OneOff(
        words,
        env,
        how.directory,
        terminal=terminal_size() if how.tty else None,
        stdin=how.stdin,
        dependencies=False,
        known=_served(workload),
    )
    return await run_one_off(client, workload.tree, options, "exec")


def _served(workload: "Workload") -> dict[str, str]:
    """Returns the variables with the ports of the running process, which a new process cannot get by itself."""
    own = {each["name"] for each in workload.tree["spec"].get("env") or () if "ForServing" in each.get("value", "")}
    known = workload.status.get("effectiveEnv") or ()
    return {each["name"]: each.get("value", "") for each in known if each["name"] in own}


def terminal_size() -> tuple[int, int]:
    """Returns the columns and rows of the terminal."""
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    return columns, rows
