"""Finds the server for a command and connects to it.

The order is: `--kubeconfig`, `--session`, the session of this directory or a parent, `$KUBECONFIG`, the server that
`setpoint serve` started for this user. In the directory of an app, commands therefore use the app, whatever cluster the
shell is configured for. `~/.kube/config` is never used by default: that may be a production cluster.
"""

import functools
import gc
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from setpoint.cli.output.terminal import echo
from setpoint.cli.support.crash_cleanup import clean_crashed
from setpoint.cli.support.cwd import here
from setpoint.cli.support.errors import NO_SERVER, NOT_FOUND, Failure, explained, in_one_line

if TYPE_CHECKING:
    from setpoint.client.client import Client
    from setpoint.objects.clock import Clock
    from setpoint.session.registry import Session, Sessions

T = TypeVar("T")
FIELD_MANAGER = "setpoint"
DEFAULT_NAMESPACE = "default"
# Commands that run longer than this enable garbage collection.
_QUICK_SECONDS = 1.0


class Server(NamedTuple):
    """The server options of the command line."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    session: str = ""
    # The revision to read; empty for the current one.
    at: str = ""
    # The time of that revision (RFC 3339).
    then: str = ""

    def over(self, other: "Server") -> "Server":
        """Returns these options, with empty ones taken from `other`."""
        return Server(*(mine or theirs for mine, theirs in zip(self, other, strict=True)))


class ServerLocation(NamedTuple):
    """The location of a server. `by` describes how the server was found."""

    paths: tuple[Path, ...]
    by: str
    session: "Session | None" = None
    # True if the user named a kubeconfig, which may be of any cluster.
    is_explicit: bool = False


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that select the server, as the argument `server`. They may also precede the command."""

    @click.option("--kubeconfig", metavar="FILE", default="", help="Path to the kubeconfig file to use.")
    @click.option("--context", metavar="NAME", default="", help="Name of the kubeconfig context to use.")
    @click.option("-n", "--namespace", metavar="NAME", default="", help="Namespace to use.")
    @click.option("--session", metavar="APP", default="", help="App or id of a session, in any directory.")
    @functools.wraps(command)
    def inner(*args: Any, kubeconfig: str, context: str, namespace: str, session: str, **rest: Any) -> Any:
        given = Server(kubeconfig, context, namespace, session)
        outer = click.get_current_context().find_object(Server)
        return command(*args, server=given.over(outer) if outer is not None else given, **rest)

    return inner


def find(
    server: Server, environ: Mapping[str, str] = os.environ, directory: Path | None = None, *, clearing: bool = True
) -> ServerLocation:
    """Returns the location of the selected server. Cleans up after crashed sessions first. Raises Failure."""
    from setpoint.session.registry import Sessions, state_directory

    if clearing:
        clean_crashed(environ)
    if server.kubeconfig:
        return ServerLocation((Path(server.kubeconfig),), "--kubeconfig", is_explicit=True)
    sessions = Sessions.of(environ)
    if server.session:
        return _of_session(_one(sessions.named(server.session), f"session {server.session}", sessions))
    if found := sessions.here(directory or here()):
        return _of_session(_one(found, "session of this directory", sessions))
    if listed := [Path(each) for each in environ.get("KUBECONFIG", "").split(os.pathsep) if each]:
        if not any(path.exists() for path in listed):
            raise Failure(f"KUBECONFIG names {' and '.join(map(str, listed))}, but no such file exists", NO_SERVER)
        return ServerLocation(tuple(path for path in listed if path.exists()), "$KUBECONFIG", is_explicit=True)
    served = state_directory(environ) / "kubeconfig"
    if served.exists():
        return ServerLocation((served,), str(served))
    raise Failure(_no_server_message(sessions), NO_SERVER)


def ended_sessions(server: Server, environ: Mapping[str, str] = os.environ) -> "list[Session]":
    """Returns the ended sessions that `--session` names, or else those of this directory, oldest first."""
    from setpoint.session.registry import Sessions

    past = Sessions.of(environ).past()
    return [each for each in past if (each.is_called(server.session) if server.session else each.is_at(here()))]


def _of_session(session: "Session") -> ServerLocation:
    return ServerLocation((Path(session.kubeconfig),), f"session {session.id}", session)


def _one(found: "list[Session]", what: str, sessions: Any) -> "Session":
    if len(found) == 1:
        return found[0]
    names = ", ".join(session.id for session in found or sessions.alive())
    if found:
        raise Failure(f"more than one {what}: select one with --session: {names}", NOT_FOUND)
    raise Failure(f"no {what}; " + (f"available sessions: {names}" if names else "no app is running"), NOT_FOUND)


def other_sessions(sessions: "Sessions") -> str:
    """Returns a sentence about the sessions of other directories, or an empty string."""
    found = [f"{session.app} in {session.directory}" for session in sessions.alive()]
    return f" Running elsewhere: {', '.join(found)}; select with --session." if found else ""


def _no_server_message(sessions: "Sessions") -> str:
    return (
        f"no app is running here.{other_sessions(sessions)} Start an app with `setpoint up` or a server with `setpoint "
        "serve`, or select a server with --kubeconfig FILE (e.g. ~/.kube/config)"
    )


@asynccontextmanager
async def connect(server: Server, *, quiet: bool = False) -> "AsyncIterator[Client]":
    """Connects to the selected server. Writes use the field manager of the command line. Client errors become Failures.
    The namespace is that of the context, or `default`.
    """
    from setpoint.client.client import Client
    from setpoint.client.kubeconfig import load
    from setpoint.client.options import Options
    from setpoint.objects.clock import SystemClock

    found = find(server)
    clock = SystemClock()
    with explained(found.by):
        connection = load(found.paths).connection(server.context, os.environ, clock)
        options = Options(
            namespace=server.namespace or connection.namespace or DEFAULT_NAMESPACE,
            field_manager=FIELD_MANAGER,
            impersonate=connection.impersonate,
        )
        warn = _silent if quiet else _warn
        told = _standing(server.then or (found.session.exported if found.session is not None else "")) or clock
        client = Client(connection.transport(), clock=told, options=options, on_warning=warn)
        client.namespace = options.namespace
        async with client:
            yield _at(client, int(server.at)) if server.at else client


def _standing(then: str) -> "Clock | None":
    """Returns a clock that stands at a moment of the past or of an imported archive, or None."""
    if not then:
        return None
    from setpoint.objects.clock import StandingClock
    from setpoint.objects.times import parse_micro_time

    return StandingClock(parse_micro_time(then))


def _at(client: "Client", revision: int) -> "Client":
    from setpoint.past.as_of import as_of

    return as_of(client, revision)


def _warn(text: str) -> None:
    echo(f"Warning: {text}", err=True)


def _silent(text: str) -> None:
    return


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a command to its end, with errors handled by `in_one_line`."""
    import asyncio  # slow to import, and not needed for --help

    async def lasting() -> T:
        if not gc.isenabled():  # as disabled by `start`
            asyncio.get_running_loop().call_later(_QUICK_SECONDS, gc.enable)
        return await main

    with in_one_line():
        return asyncio.run(lasting())
